// SPDX-License-Identifier: Apache-2.0
//
// What tests of written files begin with: a folder, and small programs.

#ifndef LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H
#define LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H

#include "dialects/Graph/Graph.h"
#include "dialects/Program/Program.h"
#include "dialects/Target/Target.h"
#include "runtime/format/Checksum.h"
#include "runtime/format/Reader.h"
#include "test/support/ModuleFile.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace llmc::test {

/// A folder of its own, removed behind the test.
class WriterTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("module-writer", path));
    folder = path.str().str();
    context.loadDialect<graph::GraphDialect, program::ProgramDialect,
                        target::TargetDialect>();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string pathOf(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string modelPath() const { return pathOf("model.bin"); }

  /// A module whose text names its model file MODEL and its device DEVICE.
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string text,
                                          int64_t maxAllocation = 1 << 30) {
    replace(text, "MODEL", modelPath());
    replace(text, "DEVICE", R"(
      target.device = #target.device<name = "test", family = generic,
          subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64],
          max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false,
          registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64,
          max_buffer_range = 134217728, max_allocation = ALLOCATION, max_push_constant_bytes = 128, spirv_minor = 3,
          vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>)");
    replace(text, "ALLOCATION", std::to_string(maxAllocation));
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  static void replace(std::string &text, const std::string &what,
                      const std::string &with) {
    text.replace(text.find(what), what.size(), with);
  }

  static format::TargetInfo target(const std::string &name) {
    format::TargetInfo info;
    info.set_name(name);
    return info;
  }

  /// Changes the manifest and the bytes before it of NAME.llmc.
  void edit(const std::string &name,
            const std::function<void(format::Manifest &, Bytes &)> &change) {
    const std::string path = pathOf(name + ".llmc");
    auto reader = format::Reader::open(path);
    ASSERT_TRUE(reader.ok());
    format::Manifest manifest = (*reader)->manifest();
    Bytes head = readBytes(path);
    head.resize((*reader)->header().manifestOffset);
    change(manifest, head);
    const Bytes sealed = sealManifest(manifest, head);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(sealed.data()),
               static_cast<std::streamsize>(sealed.size()));
  }

  /// Changes a bit of the first weight of NAME.llmc, at byte |at|, and its
  /// checksum along.
  void editFirstWeight(const std::string &name, size_t at) {
    edit(name, [at](format::Manifest &manifest, Bytes &head) {
      format::Section &section = *manifest.mutable_sections(0);
      head[section.offset() + at] ^= 1;
      section.set_checksum(
          format::checksum(&head[section.offset()], section.size()));
    });
  }

  size_t numFiles() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto &entry :
         std::filesystem::directory_iterator(folder))
      ++count;
    return count;
  }

  mlir::MLIRContext context;

private:
  std::string folder;
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H
