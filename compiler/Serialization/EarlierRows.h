// SPDX-License-Identifier: Apache-2.0
//
// Rows of an earlier file's weights, for who would quantize them once more.

#ifndef LLMC_COMPILER_SERIALIZATION_EARLIERROWS_H
#define LLMC_COMPILER_SERIALIZATION_EARLIERROWS_H

#include "compiler/Import/ConvertedRows.h"
#include "compiler/Serialization/EarlierFile.h"
#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace llmc::serialization {

/// Lets |rows| find the rows that weights of |module| are quantized to where
/// |earlier|, which must outlive it, has such a weight and is sound. Reads the
/// sources of these weights, to know. An error says that they can't be read, or
/// what is damaged in a file that must not be.
llvm::Error offerEarlierRows(ModuleOp module, const EarlierFile &earlier,
                             importer::ConvertedRows &rows);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_EARLIERROWS_H
