// SPDX-License-Identifier: Apache-2.0
//
// Files of saved sessions: written whole or not at all, and refused for
// everything that does not fit.

#include "runtime/session/StateFile.h"

#include "test/support/ModuleFile.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

namespace llmc::test {
namespace {

using runtime::StateFileReader;
using runtime::StateFileWriter;
using runtime::StateIdentity;

constexpr size_t kHeaderBytes = 48;
const StateIdentity kIdentity{0x1234, "lavapipe", 6};
const std::vector<uint8_t> kStates = {1, 2, 3, 4, 5, 6};

std::vector<char> contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

class StateFile : public testing::Test {
protected:
  void TearDown() override { std::remove(path.c_str()); }

  /// In two pieces.
  Status writeFile() {
    auto writer = StateFileWriter::create(path, kIdentity, 17);
    if (!writer.ok())
      return writer.status();
    LLMC_RETURN_IF_ERROR((*writer)->write({kStates.data(), 2}));
    LLMC_RETURN_IF_ERROR((*writer)->write({kStates.data() + 2, 4}));
    return (*writer)->commit();
  }

  std::string refusal(const StateIdentity &expected = kIdentity) {
    auto reader = StateFileReader::open(path, expected);
    return reader.ok() ? "none" : reader.status().message();
  }

  const std::string path = temporaryPath("saved.session");
};

TEST_F(StateFile, givesBackWhatWasWritten) {
  ASSERT_TRUE(writeFile().ok());
  auto reader = StateFileReader::open(path, kIdentity);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ((*reader)->position(), 17u);
  std::vector<uint8_t> states(6);
  ASSERT_TRUE((*reader)->read(states.data(), 4).ok());
  ASSERT_TRUE((*reader)->read(states.data() + 4, 2).ok());
  EXPECT_EQ(states, kStates);
  EXPECT_EQ(contentOf(path).size(), kHeaderBytes + kStates.size());
}

TEST_F(StateFile, leavesTheOldFileUntilTheNewOneIsWhole) {
  ASSERT_TRUE(writeFile().ok());
  const std::vector<char> before = contentOf(path);
  {
    auto writer = StateFileWriter::create(path, kIdentity, 3);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->write({kStates.data(), 6}).ok());
    // Never committed.
  }
  EXPECT_EQ(contentOf(path), before);
}

TEST_F(StateFile, refusesSessionsOfOtherFilesAndVariants) {
  ASSERT_TRUE(writeFile().ok());
  EXPECT_EQ(refusal({0x1235, "lavapipe", 6}),
            path + ": is a session of another .llmc file");
  EXPECT_EQ(refusal({0x1234, "mali-g76", 6}),
            path + ": is a session of another variant than mali-g76");
  EXPECT_EQ(refusal({0x1234, "lavapipe", 7}),
            path + ": has 6 bytes of states and says 6, expected are 7");
}

TEST_F(StateFile, everyDamagedByteIsNoticed) {
  ASSERT_TRUE(writeFile().ok());
  const std::vector<char> whole = contentOf(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<char> damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    std::ofstream(path, std::ios::binary)
        .write(damaged.data(), static_cast<std::streamsize>(damaged.size()));
    EXPECT_NE(refusal(), "none") << "byte " << i;
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary)
        .write(whole.data(), static_cast<std::streamsize>(size));
    EXPECT_NE(refusal(), "none") << "first " << size << " bytes";
  }
}

TEST_F(StateFile, namesWhatCanNotBeOpened) {
  EXPECT_EQ(refusal(), path + ": could not open: No such file or directory");
  auto writer = StateFileWriter::create("/nonexistent/s", kIdentity, 0);
  EXPECT_EQ(writer.status().message(),
            "/nonexistent/s: could not create: No such file or directory");
}

} // namespace
} // namespace llmc::test
