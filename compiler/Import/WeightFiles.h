// SPDX-License-Identifier: Apache-2.0
//
// The bytes behind a module's weights, mapped from the model's files.

#ifndef LLMC_COMPILER_IMPORT_WEIGHTFILES_H
#define LLMC_COMPILER_IMPORT_WEIGHTFILES_H

#include "dialects/Graph/Graph.h"
#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace llmc::importer {

/// Maps the files that `graph.files` names; pages are read when touched.
/// Movable; spans that it gave stay valid as long as it lives.
class WeightFiles {
public:
  /// Opens every file and checks that all weights of the module lie inside.
  /// An error names the file, the weight, what was found and what is allowed.
  static llvm::Expected<WeightFiles> open(ModuleOp module);

  /// The encoded bytes of a checked weight, one span per source, first rows
  /// first.
  SmallVector<ArrayRef<uint8_t>> pieces(graph::WeightOp weight) const;

  /// Decodes row `row` of a weight [rows, size], or all of a weight [size] for
  /// row 0, into `result`, which has room for `size` numbers.
  void decodeRow(graph::WeightOp weight, int64_t row, float *result) const;

private:
  llvm::Error check(graph::WeightOp weight) const;

  std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
};

/// Bytes of `rows` rows of a weight of this type; of a weight [size], rows are
/// single numbers. The type and the rows must be whole numbers of blocks.
int64_t encodedRowsInBytes(RankedTensorType type, int64_t rows);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_WEIGHTFILES_H
