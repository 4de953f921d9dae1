// SPDX-License-Identifier: Apache-2.0
//
// Rows that were quantized once and need not be again: choosing scales takes
// longer than anything else that is done with a weight. Plain C++, no MLIR
// context.

#ifndef LLMC_DIALECTS_GRAPH_ROWSTORE_H
#define LLMC_DIALECTS_GRAPH_ROWSTORE_H

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace llmc::graph {

/// Some rows of a source, in the weight's encoding. Several threads may use it.
class RowStore {
public:
  virtual ~RowStore() = default;

  /// Whether the row is there; copies it to `result` then, which has room for a
  /// row.
  virtual bool find(int64_t row, uint8_t *result) const = 0;

  /// Is told of a row that was not there. May take it.
  virtual void keep(int64_t row, const uint8_t *bytes) = 0;
};

/// Takes all rows that it is told of. Rows that it has not take no memory.
class MemoryRows final : public RowStore {
public:
  MemoryRows(int64_t rows, int64_t rowBytes);

  bool find(int64_t row, uint8_t *result) const override;
  void keep(int64_t row, const uint8_t *bytes) override;

private:
  enum State : uint8_t { Absent, BeingWritten, Present };
  struct Free {
    void operator()(uint8_t *bytes) const { std::free(bytes); }
  };

  int64_t rowBytes;
  std::unique_ptr<std::atomic<State>[]> states;
  std::unique_ptr<uint8_t, Free> bytes; // null: no memory, keeps nothing
};

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_ROWSTORE_H
