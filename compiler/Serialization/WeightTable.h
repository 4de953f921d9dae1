// SPDX-License-Identifier: Apache-2.0
//
// The weights that the programs of all targets use: which there are, where
// their bytes lie in model files, and which of them are the same.

#ifndef LLMC_COMPILER_SERIALIZATION_WEIGHTTABLE_H
#define LLMC_COMPILER_SERIALIZATION_WEIGHTTABLE_H

#include "codegen/Lowering/WeightLayout.h"
#include "compiler/Import/WeightFiles.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace llmc::serialization {

/// One weight as it will be stored.
struct StoredWeight {
  std::string name;
  graph::Encoding encoding;
  codegen::WeightLayout layout;
  std::vector<graph::RowSource> sources;
};

/// How a weight of a module with these |files| is stored. Refuses one whose
/// shape has no layout, or whose sources do not fit it or lie beyond a file.
llvm::Expected<StoredWeight> storedWeight(graph::WeightOp weight,
                                          const importer::WeightFiles &files);

/// Tells the system that a weight's bytes in these |files| are not needed any
/// more.
void releaseSources(const StoredWeight &weight,
                    const importer::WeightFiles &files);

/// Bytes that a source's codes, scales and zero points take in its file; of a
/// source that is not packed, codes are all there is.
graph::PackedSizes sizesOf(const StoredWeight &weight,
                           const graph::RowSource &source);

class WeightTable {
public:
  /// Collects what slices of storage `weight` name in any of the modules, in
  /// the order of the first one's weights; maps the files of `graph.files`.
  /// Weights of one name must be equal in all modules. Refuses sources that do
  /// not lie in their file. Rows that are quantized are found in |converted|
  /// unless it is null.
  static llvm::Expected<WeightTable>
  build(ArrayRef<ModuleOp> modules,
        importer::ConvertedRows *converted = nullptr);

  const std::vector<StoredWeight> &weights() const { return stored; }

  /// Index into `weights` of the bytes of the weight of that name, which a
  /// module uses; weights with equal bytes have one index.
  size_t indexOf(StringRef name) const { return indices.lookup(name); }

  const importer::WeightFiles &modelFiles() const { return files; }

private:
  llvm::Error mapFiles(ModuleOp module, importer::ConvertedRows *converted);
  llvm::Error add(graph::WeightOp weight);
  size_t findOrStore(StoredWeight weight);

  importer::WeightFiles files;
  ArrayAttr fileNames; // null: none mapped
  std::vector<StoredWeight> stored;
  llvm::StringMap<size_t> indices;
  llvm::StringMap<graph::WeightOp> ops; // what a name stands for
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_WEIGHTTABLE_H
