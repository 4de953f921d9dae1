// SPDX-License-Identifier: Apache-2.0
//
// Maps model files, finds the bytes of weights in them, and compares those that
// could be equal.

#include "compiler/Serialization/WeightTable.h"

#include "codegen/Lowering/WeightType.h"
#include "dialects/Program/Program.h"

#include "llvm/ADT/StringSet.h"

namespace llmc::serialization {

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Names of all weights that the module's entries bind.
static llvm::StringSet<> usedWeights(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](program::SliceOp slice) {
    if (slice.getStorage() == program::Storage::Weight)
      names.insert(*slice.getSymbol());
  });
  return names;
}

llvm::Expected<StoredWeight> storedWeight(graph::WeightOp weight,
                                          const importer::WeightFiles &files) {
  std::string name = weight.getSymName().str();
  auto type = cast<RankedTensorType>(weight.getType());
  auto layout = codegen::layoutOf(type);
  if (!layout)
    return makeError("weight '" + name + "' has a shape without a layout");
  auto encoding = cast<graph::EncodedType>(type.getElementType()).getEncoding();
  int64_t rows = 0;
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>())
    rows += source.getRows();
  if (rows != type.getDimSize(0))
    return makeError("weight '" + name + "' has " + Twine(type.getDimSize(0)) +
                     " rows, its sources have " + Twine(rows));
  if (llvm::Error error = files.check(weight))
    return error;
  return StoredWeight{name, encoding, *layout, files.sources(weight)};
}

graph::PackedSizes sizesOf(const StoredWeight &weight,
                           const graph::RowSource &source) {
  if (weight.layout.name == "vector")
    return {*graph::encodedSizeInBytes(weight.encoding, source.rows), 0, 0};
  if (source.packing)
    return *graph::packedSizes(source.packing->form, source.packing->encoding,
                               source.packing->group, source.rows,
                               weight.layout.columns);
  return {*graph::encodedSizeInBytes(weight.encoding, source.rows,
                                     weight.layout.columns),
          0, 0};
}

/// Whether a source is rows one after another.
static bool isRows(const graph::RowSource &source) {
  return !source.packing || source.packing->form == graph::PackingForm::Rows;
}

/// Whether two sources give the same rows. Others than rows are not compared.
static bool haveEqualRows(const StoredWeight &weight, const graph::RowSource &x,
                          const graph::RowSource &y) {
  bool haveOneEncoding =
      x.packing.has_value() == y.packing.has_value() &&
      (!x.packing || x.packing->encoding == y.packing->encoding);
  return x.rows == y.rows && x.addend == y.addend && isRows(x) && isRows(y) &&
         haveOneEncoding &&
         (x.bytes == y.bytes ||
          std::memcmp(x.bytes, y.bytes, sizesOf(weight, x).codes) == 0);
}

/// Whether two weights of one type have the same bytes. Stops at the first
/// difference, so that unequal weights cost a page or two.
static bool haveEqualBytes(const StoredWeight &a, const StoredWeight &b) {
  if (a.encoding != b.encoding || a.layout.name != b.layout.name ||
      a.layout.rows != b.layout.rows || a.layout.columns != b.layout.columns ||
      a.sources.size() != b.sources.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.sources, b.sources))
    if (!haveEqualRows(a, x, y))
      return false;
  return true;
}

llvm::Expected<WeightTable>
WeightTable::build(ArrayRef<ModuleOp> modules,
                   importer::ConvertedRows *converted) {
  WeightTable table;
  for (ModuleOp module : modules) {
    if (llvm::Error error = table.mapFiles(module, converted))
      return std::move(error);
    llvm::StringSet<> used = usedWeights(module);
    for (auto weight : module.getOps<graph::WeightOp>())
      if (used.erase(weight.getSymName()))
        if (llvm::Error error = table.add(weight))
          return std::move(error);
    if (!used.empty())
      return makeError("a dispatch binds weight '" + used.begin()->getKey() +
                       "', which the module does not have");
  }
  return std::move(table);
}

llvm::Error WeightTable::mapFiles(ModuleOp module,
                                  importer::ConvertedRows *converted) {
  auto names = module->getAttrOfType<ArrayAttr>("graph.files");
  if (names == fileNames)
    return llvm::Error::success();
  if (fileNames)
    return makeError("the targets' programs come from different model files");
  auto opened = importer::WeightFiles::open(names, converted);
  if (!opened)
    return opened.takeError();
  files = std::move(*opened);
  fileNames = names;
  return llvm::Error::success();
}

llvm::Error WeightTable::add(graph::WeightOp weight) {
  std::string name = weight.getSymName().str();
  auto [known, isNew] = ops.try_emplace(name, weight);
  if (!isNew) {
    if (known->second.getType() != weight.getType() ||
        known->second.getSources() != weight.getSources())
      return makeError("weight '" + name + "' differs between targets");
    return llvm::Error::success();
  }

  auto described = storedWeight(weight, files);
  if (!described)
    return described.takeError();
  indices[name] = findOrStore(std::move(*described));
  return llvm::Error::success();
}

size_t WeightTable::findOrStore(StoredWeight weight) {
  for (auto [index, other] : llvm::enumerate(stored))
    if (haveEqualBytes(weight, other))
      return index;
  stored.push_back(std::move(weight));
  return stored.size() - 1;
}

void releaseSources(const StoredWeight &weight,
                    const importer::WeightFiles &files) {
  for (const graph::RowSource &source : weight.sources)
    files.release({source.bytes, size_t(sizesOf(weight, source).codes)});
}

} // namespace llmc::serialization
