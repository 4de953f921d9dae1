// SPDX-License-Identifier: Apache-2.0

#include "dialects/Graph/RowStore.h"

#include <cstring>

namespace llmc::graph {

MemoryRows::MemoryRows(int64_t rows, int64_t rowBytes)
    : rowBytes(rowBytes),
      states(std::make_unique<std::atomic<State>[]>(static_cast<size_t>(rows))),
      bytes(static_cast<uint8_t *>(std::calloc(
          static_cast<size_t>(rows), static_cast<size_t>(rowBytes)))) {}

bool MemoryRows::find(int64_t row, uint8_t *result) const {
  if (states[row].load(std::memory_order_acquire) != Present)
    return false;
  std::memcpy(result, bytes.get() + row * rowBytes,
              static_cast<size_t>(rowBytes));
  return true;
}

void MemoryRows::keep(int64_t row, const uint8_t *from) {
  State expected = Absent;
  if (!bytes || !states[row].compare_exchange_strong(expected, BeingWritten))
    return;
  std::memcpy(bytes.get() + row * rowBytes, from,
              static_cast<size_t>(rowBytes));
  states[row].store(Present, std::memory_order_release);
}

} // namespace llmc::graph
