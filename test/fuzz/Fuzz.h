// SPDX-License-Identifier: Apache-2.0
//
// What the fuzz targets share. A target is a function that is given bytes; the
// sanitizers say when reading them went wrong, and CHECK when the result is.

#ifndef LLMC_TEST_FUZZ_FUZZ_H
#define LLMC_TEST_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Ends the process, which is a finding, unless `condition` holds.
#define FUZZ_CHECK(condition)                                                  \
  do {                                                                         \
    if (!(condition)) {                                                        \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__,    \
                   #condition);                                                \
      std::abort();                                                            \
    }                                                                          \
  } while (false)

namespace llmc::fuzz {

inline std::string_view toText(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

} // namespace llmc::fuzz

#endif // LLMC_TEST_FUZZ_FUZZ_H
