// SPDX-License-Identifier: Apache-2.0
//
// XXH3-64, the checksum of everything in a .llmc file.

#ifndef LLMC_RUNTIME_FORMAT_CHECKSUM_H
#define LLMC_RUNTIME_FORMAT_CHECKSUM_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace llmc::format {

/// XXH3-64 of `size` bytes at `data`, seed 0.
uint64_t checksum(const void *data, size_t size);

/// The same over bytes that come in pieces.
class StreamingChecksum {
public:
  StreamingChecksum();
  ~StreamingChecksum();
  StreamingChecksum(StreamingChecksum &&) noexcept;
  StreamingChecksum &operator=(StreamingChecksum &&) noexcept;

  void update(const void *data, size_t size);
  uint64_t digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_CHECKSUM_H
