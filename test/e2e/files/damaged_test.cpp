// SPDX-License-Identifier: Apache-2.0
//
// Damaged .llmc files on the command line: refused, never a crash, and a kernel
// that a driver could not run is refused when the file is loaded.

#include "test/e2e/compiled/EndToEnd.h"

#include "runtime/format/Reader.h"

#include <gmock/gmock.h>

#include <cstring>

namespace llmc::test {
namespace {

using testing::HasSubstr;

class DamagedFile : public testing::Test {
protected:
  void SetUp() override {
    const Golden golden = readGolden("tiny-llama-Q2_K", folder);
    path = folder.file("model.llmc");
    LLMC_E2E_OK(compile(golden.modelPath, path));
    bytes = readFile(path);
    damaged = folder.file("damaged.llmc");
  }

  format::Manifest readManifest() const {
    auto reader = format::Reader::open(path);
    EXPECT_TRUE(reader.ok());
    return (*reader)->manifest();
  }

  /// `llmc |arguments|` on |content| is refused with exit code 3.
  std::string refusal(const std::string &content,
                      const std::vector<std::string> &arguments) {
    writeFile(damaged, content);
    std::vector<std::string> command = {arguments.front(), damaged};
    command.insert(command.end(), arguments.begin() + 1, arguments.end());
    const ToolResult result = runTool(command);
    EXPECT_EQ(result.exitCode, 3) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr("damaged.llmc"));
    return result.errors;
  }

  std::string flipped(uint64_t at) const {
    std::string copy = bytes;
    copy[at] = static_cast<char>(copy[at] ^ 0x10);
    return copy;
  }
  uint64_t number(size_t at) const {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
  }

  TemporaryFolder folder;
  std::string path, damaged, bytes;
};

const std::vector<std::string> kInspect = {"inspect"};
const std::vector<std::string> kRun = {"run", "--no-cache", "--raw", "-p", "a"};

TEST_F(DamagedFile, TruncatedAnywhereIsRefused) {
  for (size_t length :
       {size_t{0}, size_t{1}, size_t{4}, size_t{63}, size_t{64}, size_t{4095},
        size_t{4096}, bytes.size() / 3, bytes.size() / 2, bytes.size() - 1})
    refusal(bytes.substr(0, length), kInspect);
  refusal(bytes.substr(0, bytes.size() - 1), kRun);
  refusal(bytes + "x", kInspect);
}

TEST_F(DamagedFile, HeaderAndManifestAreChecked) {
  for (uint64_t at = 0; at < 64; at += 5)
    refusal(flipped(at), kInspect);
  const uint64_t offset = number(8), size = number(16);
  ASSERT_LE(offset + size, bytes.size());
  for (int i = 0; i < 8; ++i)
    refusal(flipped(offset + size * static_cast<uint64_t>(i) / 8), kInspect);
  refusal(flipped(offset), kRun);
}

TEST_F(DamagedFile, WeightsAndCodeAreCheckedWhenLoaded_B40) {
  LLMC_E2E_NEED_DEVICE();
  const format::Manifest manifest = readManifest();
  bool sawCode = false, sawWeight = false;
  for (const format::Section &section : manifest.sections()) {
    bool &saw = section.kind() == format::Section::CODE ? sawCode : sawWeight;
    if (saw || section.size() == 0)
      continue;
    saw = true;
    const std::string copy = flipped(section.offset() + section.size() / 2);
    EXPECT_THAT(refusal(copy, {"inspect", "--verify"}), HasSubstr("checksum"));
    EXPECT_THAT(refusal(copy, {"logits", "--no-cache", "--tokens=1", "-o",
                               folder.file("logits.f32")}),
                HasSubstr("checksum"));
    EXPECT_FALSE(exists(folder.file("logits.f32")));
  }
  EXPECT_TRUE(sawCode);
  EXPECT_TRUE(sawWeight);
}

} // namespace
} // namespace llmc::test
