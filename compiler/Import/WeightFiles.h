// SPDX-License-Identifier: Apache-2.0
//
// The bytes behind a module's weights, mapped from the model's files.

#ifndef LLMC_COMPILER_IMPORT_WEIGHTFILES_H
#define LLMC_COMPILER_IMPORT_WEIGHTFILES_H

#include "compiler/Import/ConvertedRows.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Packing.h"
#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace llmc::importer {

/// Maps the files that `graph.files` names; pages are read when touched. An
/// entry that is an array of f32 stands for a file of these numbers.
/// Movable; sources that it gave stay valid as long as it lives.
class WeightFiles {
public:
  /// Opens every file. An error names the file. Rows that are quantized are
  /// looked up in |converted| if it is not null.
  static llvm::Expected<WeightFiles> open(ArrayAttr names,
                                          ConvertedRows *converted = nullptr);

  /// Opens the files of a module, and checks all its weights.
  static llvm::Expected<WeightFiles> open(ModuleOp module,
                                          ConvertedRows *converted = nullptr);

  /// Checks that a weight's sources can be read and lie inside their files. An
  /// error names the file, the weight, what was found and what is allowed.
  llvm::Error check(graph::WeightOp weight) const;

  /// The sources of a checked weight, first rows first.
  std::vector<graph::RowSource> sources(graph::WeightOp weight) const;

  /// Decodes row `row` of a checked weight [rows, size], or all of a weight
  /// [size] for row 0, into `result`, which has room for `size` numbers. A row
  /// that can't be quantized to the weight's encoding gives NaN; one that is
  /// quantized is kept.
  void decodeRow(graph::WeightOp weight, int64_t row, float *result) const;

  /// Tells the system that these bytes of a file are not needed any more.
  void release(ArrayRef<uint8_t> bytes) const;

private:
  llvm::Error checkPacked(graph::WeightOp weight,
                          graph::SourceAttr source) const;
  llvm::Error checkInside(graph::WeightOp weight, int64_t file, int64_t offset,
                          int64_t size, StringRef part) const;
  const uint8_t *bytesAt(int64_t file, int64_t offset) const {
    return reinterpret_cast<const uint8_t *>(files[file]->getBufferStart()) +
           offset;
  }

  std::vector<std::unique_ptr<llvm::MemoryBuffer>> files;
  ConvertedRows *converted = nullptr;
};

/// Bytes of `rows` rows of a weight of this type; of a weight [size], rows are
/// single numbers. The type and the rows must be whole numbers of blocks.
int64_t encodedRowsInBytes(RankedTensorType type, int64_t rows);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_WEIGHTFILES_H
