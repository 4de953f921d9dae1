// SPDX-License-Identifier: Apache-2.0
//
// The rows of weights that one compilation quantizes: its self-tests, of every
// target, and its file read the same ones.

#ifndef LLMC_COMPILER_IMPORT_CONVERTEDROWS_H
#define LLMC_COMPILER_IMPORT_CONVERTEDROWS_H

#include "dialects/Graph/Graph.h"
#include "dialects/Graph/RowStore.h"
#include "dialects/Support/LLVM.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <mutex>

namespace llmc::importer {

/// For modules of one context, which it must not outlive. Several threads may
/// use it.
class ConvertedRows {
public:
  /// The rows of |source| in the encoding of a weight of |type| that it is of;
  /// null where rows are not quantized but read, unpacked or rounded to f16.
  graph::RowStore *find(graph::SourceAttr source, RankedTensorType type);

  /// Makes |rows| what `find` gives for a source that is quantized.
  void set(graph::SourceAttr source, RankedTensorType type,
           std::unique_ptr<graph::RowStore> rows);

  /// Whether `find` gives something.
  static bool isQuantized(graph::SourceAttr source, RankedTensorType type);

private:
  using Key = std::pair<graph::SourceAttr, Type>;
  static Key keyOf(graph::SourceAttr source, RankedTensorType type);

  std::mutex mutex; // guards what follows
  llvm::DenseMap<Key, std::unique_ptr<graph::RowStore>> stores;
};

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_CONVERTEDROWS_H
