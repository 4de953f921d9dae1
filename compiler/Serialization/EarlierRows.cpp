// SPDX-License-Identifier: Apache-2.0

#include "compiler/Serialization/EarlierRows.h"

#include "compiler/Serialization/UnpackWeight.h"
#include "compiler/Serialization/WeightRecipe.h"

namespace llmc::serialization {

namespace {

/// Rows of a packed weight, from one of them on.
class PackedRows final : public graph::RowStore {
public:
  PackedRows(const StoredWeight &weight, const uint8_t *packed, int64_t first)
      : encoding(weight.encoding), layout(weight.layout), packed(packed),
        first(first) {}

  bool find(int64_t row, uint8_t *result) const override {
    unpackRow(encoding, layout, packed, first + row, result);
    return true;
  }
  void keep(int64_t, const uint8_t *) override {}

private:
  graph::Encoding encoding;
  codegen::WeightLayout layout;
  const uint8_t *packed;
  int64_t first;
};

bool isQuantizedWhole(graph::WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  return llvm::all_of(weight.getSources().getAsRange<graph::SourceAttr>(),
                      [&](graph::SourceAttr source) {
                        return importer::ConvertedRows::isQuantized(source,
                                                                    type);
                      });
}

/// The earlier file's section of a weight, if it is as packing would give it.
llvm::Expected<std::optional<uint32_t>> findSound(const StoredWeight &weight,
                                                  const EarlierFile &earlier) {
  auto section = earlier.find(hashRecipe(weight),
                              static_cast<uint64_t>(weight.layout.bytes));
  if (!section)
    return std::nullopt;
  Status status = earlier.reader().verifySection(*section);
  if (!status.ok() && earlier.mustBeSound())
    return llvm::createStringError(status.message());
  if (!status.ok() || !earlier.hasTilesOf(*section, weight))
    return std::nullopt;
  return section;
}

} // namespace

llvm::Error offerEarlierRows(ModuleOp module, const EarlierFile &earlier,
                             importer::ConvertedRows &rows) {
  auto files = importer::WeightFiles::open(module);
  if (!files)
    return files.takeError();
  for (auto weight : module.getOps<graph::WeightOp>()) {
    if (!isQuantizedWhole(weight))
      continue;
    auto stored = storedWeight(weight, *files);
    if (!stored)
      return stored.takeError();
    if (!canUnpackRows(stored->encoding))
      continue;
    auto section = findSound(*stored, earlier);
    releaseSources(*stored, *files);
    if (!section)
      return section.takeError();
    if (!*section)
      continue;
    int64_t first = 0;
    for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
      rows.set(source, cast<RankedTensorType>(weight.getType()),
               std::make_unique<PackedRows>(
                   *stored, earlier.reader().section(**section).data, first));
      first += source.getRows();
    }
  }
  return llvm::Error::success();
}

} // namespace llmc::serialization
