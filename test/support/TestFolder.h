// SPDX-License-Identifier: Apache-2.0
//
// Folders of tests that run at the same time, maybe from several trees.

#ifndef LLMC_TEST_SUPPORT_TESTFOLDER_H
#define LLMC_TEST_SUPPORT_TESTFOLDER_H

#include <gtest/gtest.h>

#include <string>

#include <stdlib.h>

namespace llmc::test {

/// Makes a folder that nobody else has and gives its path; empty where that
/// fails. Whoever calls it removes it.
inline std::string makeTestFolder() {
  std::string pattern = testing::TempDir() + "llmc-test-XXXXXX";
  return ::mkdtemp(pattern.data()) ? pattern : std::string();
}

} // namespace llmc::test

#endif // LLMC_TEST_SUPPORT_TESTFOLDER_H
