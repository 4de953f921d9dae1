// SPDX-License-Identifier: Apache-2.0
//
// Loading: what is refused before anything runs, and the pipeline cache.

#include "test/e2e/runtime/CountingModel.h"

#include "runtime/session/LanguageModel.h"

#include <gtest/gtest.h>

#include <dirent.h>
#include <fstream>
#include <unistd.h>

namespace llmc::test {
namespace {

using runtime::ModuleOptions;

TEST(Module, saysWhichVariantRunsAndWhy) {
  LLMC_NEED_DEVICE();
  auto module = load(makeCountingModel());
  ASSERT_TRUE(module.ok());
  EXPECT_EQ((*module)->choiceReason(), "any: runs on any such device");
}

TEST(Module, refusesAFileForAnotherDevice) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  file.manifest.mutable_variants(0)->mutable_target()->set_vendor_id(0xffff);
  auto module = load(file);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), StatusCode::NoDevice);
  EXPECT_NE(module.status().message().find("any: made for another device"),
            std::string::npos)
      << module.status().message();
}

TEST(Module, refusesFeaturesThatTheDeviceLacks) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  file.manifest.mutable_variants(0)->mutable_target()->add_features(
      "time_travel");
  EXPECT_EQ(load(file).status().code(), StatusCode::NoDevice);
}

TEST(Module, switchesOnTheVariantsFeatures) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  const auto offered = sharedEngine()->devices().front().features;
  for (const std::string &feature : offered)
    file.manifest.mutable_variants(0)->mutable_target()->add_features(feature);
  auto module = load(file);
  EXPECT_TRUE(module.ok()) << module.status().message();
}

TEST(Module, namesAKernelThatIsNoSpirv) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  file.sections[2][0] ^= 1; // the magic of kernel `sum`
  auto module = load(file);
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), StatusCode::InvalidFile);
  EXPECT_NE(module.status().message().find(
                "variant any: the code of kernel sum is not SPIR-V"),
            std::string::npos)
      << module.status().message();
}

/// Loads a file in which one byte of a section is not what its checksum says.
Status loadWithDamage(size_t section, size_t byte) {
  ModuleFile file = makeCountingModel();
  Bytes bytes = file.makeBytes();
  bytes[file.manifest.sections(static_cast<int>(section)).offset() + byte] ^= 1;
  const std::string path = writeTemporary("damaged.llmc", bytes);
  auto module = runtime::Module::load(*sharedEngine(), path, {});
  std::remove(path.c_str());
  return module.ok() ? okStatus() : module.status();
}

TEST(Module, refusesDamagedWeightsAndCode) {
  LLMC_NEED_DEVICE();
  EXPECT_EQ(loadWithDamage(0, 7).code(), StatusCode::InvalidFile);
  EXPECT_NE(loadWithDamage(0, 7).message().find("sections[0] (weight)"),
            std::string::npos);
  EXPECT_EQ(loadWithDamage(3, 50).code(), StatusCode::InvalidFile);
}

TEST(Module, refusesABufferThatNoDeviceHas) {
  LLMC_NEED_DEVICE();
  ModuleFile file = makeCountingModel();
  file.manifest.mutable_variants(0)->mutable_buffers(1)->set_size(uint64_t{1}
                                                                  << 40);
  auto module = load(file);
  ASSERT_TRUE(module.ok()); // the arena belongs to the session
  auto session = runtime::Session::create(*module, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), StatusCode::OutOfDeviceMemory);
  EXPECT_NE(session.status().message().find("arena buffer of 1099511627776"),
            std::string::npos)
      << session.status().message();
}

/// Logits of a prompt, of a model with or without weights of the file's pages.
std::vector<float> logitsOf(bool imports) {
  ModuleOptions options;
  options.importsWeights = imports;
  auto module = load(makeCountingModel(), options);
  EXPECT_TRUE(module.ok()) << module.status().message();
  EXPECT_FALSE(!imports && (*module)->weights().areImported());
  auto model = runtime::LanguageModel::create(*module, {});
  EXPECT_TRUE(model.ok());
  std::vector<float> logits(5);
  EXPECT_TRUE((*model)->prefill({1, 2, 3}, logits.data()).ok());
  return logits;
}

TEST(Module, usesTheFilesPagesAsItsWeights) {
  LLMC_NEED_DEVICE();
  EXPECT_EQ(logitsOf(true), expectedLogits({}, 6));
  EXPECT_EQ(logitsOf(false), expectedLogits({}, 6));
  const vulkan::DeviceFacts device = sharedEngine()->devices().front();
  if (device.type != vulkan::DeviceType::Cpu || !device.importAlignment)
    GTEST_SKIP() << device.name << " is no CPU that takes the host's memory";
  EXPECT_TRUE((*load(makeCountingModel()))->weights().areImported());
}

/// A folder of its own, removed with its files.
class CacheFolder {
public:
  CacheFolder() {
    char name[] = "/tmp/llmc-cache-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~CacheFolder() {
    for (const std::string &file : files())
      ::unlink((path() + "/" + file).c_str());
    ::rmdir(path().c_str());
    ::rmdir(root.c_str());
  }
  std::string path() const { return root + "/pipelines"; } // does not exist yet
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    DIR *folder = ::opendir(path().c_str());
    while (const dirent *entry = folder ? ::readdir(folder) : nullptr)
      if (entry->d_name[0] != '.')
        names.emplace_back(entry->d_name);
    if (folder)
      ::closedir(folder);
    return names;
  }

private:
  std::string root;
};

TEST(Module, keepsPipelinesFromStartToStart_B39) {
  LLMC_NEED_DEVICE();
  const CacheFolder folder;
  ModuleOptions options;
  options.pipelineCacheFolder = folder.path();
  options.numThreads = 1; // all is written when it is loaded
  auto first = load(makeCountingModel(), options);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE((*first)->pipelineCacheWasUsed());
  if (folder.files().empty())
    GTEST_SKIP() << "the driver's pipeline cache is always empty";
  ASSERT_EQ(folder.files().size(), 1u);
  auto second = load(makeCountingModel(), options);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*second)->pipelineCacheWasUsed());
}

TEST(Module, replacesADamagedPipelineCache_B39) {
  LLMC_NEED_DEVICE();
  const CacheFolder folder;
  ModuleOptions options;
  options.pipelineCacheFolder = folder.path();
  options.numThreads = 1; // all is written when it is loaded
  ASSERT_TRUE(load(makeCountingModel(), options).ok());
  if (folder.files().empty())
    GTEST_SKIP() << "the driver's pipeline cache is always empty";
  const std::string file = folder.path() + "/" + folder.files().front();
  for (const size_t size : {0, 16, 31, 1 << 20}) {
    std::ofstream(file, std::ios::binary) << std::string(size, '\x6b');
    auto damaged = load(makeCountingModel(), options);
    ASSERT_TRUE(damaged.ok());
    EXPECT_FALSE((*damaged)->pipelineCacheWasUsed());
    auto repaired = load(makeCountingModel(), options);
    ASSERT_TRUE(repaired.ok());
    EXPECT_TRUE((*repaired)->pipelineCacheWasUsed());
  }
}

TEST(Module, doesWithoutAFolderForPipelines_B39) {
  LLMC_NEED_DEVICE();
  ModuleOptions options;
  options.pipelineCacheFolder = "/proc/llmc";
  auto module = load(makeCountingModel(), options);
  EXPECT_TRUE(module.ok()) << module.status().message();
}

} // namespace
} // namespace llmc::test
