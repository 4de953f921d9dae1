// SPDX-License-Identifier: Apache-2.0
//
// Checksum.h over the header-only form of xxHash.

#include "runtime/format/Checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace llmc::format {

uint64_t checksum(const void *data, size_t size) {
  return XXH3_64bits(data, size);
}

struct StreamingChecksum::State {
  XXH3_state_t xxh;
};

StreamingChecksum::StreamingChecksum() : state(std::make_unique<State>()) {
  XXH3_64bits_reset(&state->xxh);
}
StreamingChecksum::~StreamingChecksum() = default;
StreamingChecksum::StreamingChecksum(StreamingChecksum &&) noexcept = default;
StreamingChecksum &
StreamingChecksum::operator=(StreamingChecksum &&) noexcept = default;

void StreamingChecksum::update(const void *data, size_t size) {
  XXH3_64bits_update(&state->xxh, data, size);
}
uint64_t StreamingChecksum::digest() const {
  return XXH3_64bits_digest(&state->xxh);
}

} // namespace llmc::format
