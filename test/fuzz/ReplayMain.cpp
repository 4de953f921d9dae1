// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target on the files of the folders named, for builds without
// libFuzzer: seeds and inputs that once were findings.

#include "test/fuzz/Fuzz.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

static size_t replayFolder(const std::filesystem::path &folder) {
  size_t numFiles = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()),
                           bytes.size());
    ++numFiles;
  }
  return numFiles;
}

int main(int argc, char **argv) {
  size_t numFiles = 0;
  for (int i = 1; i < argc; ++i)
    if (std::filesystem::is_directory(argv[i]))
      numFiles += replayFolder(argv[i]);
  std::printf("%zu inputs\n", numFiles);
  return numFiles == 0;
}
