// SPDX-License-Identifier: Apache-2.0

#include "compiler/Import/ConvertedRows.h"

#include "dialects/Graph/Encoding.h"
#include "dialects/Graph/Packing.h"

namespace llmc::importer {

static graph::Encoding encodingOf(RankedTensorType type) {
  return cast<graph::EncodedType>(type.getElementType()).getEncoding();
}

bool ConvertedRows::isQuantized(graph::SourceAttr source,
                                RankedTensorType type) {
  graph::PackingAttr packing = source.getPacking();
  if (!packing || type.getRank() != 2)
    return false;
  graph::Encoding encoding = encodingOf(type);
  auto form = graph::packingFormOfName(packing.getForm().str());
  return form && !graph::hasCodes(*form) && packing.getEncoding() != encoding &&
         encoding != graph::Encoding::F32 && encoding != graph::Encoding::F16;
}

/// Of the type, encoding and columns matter: weights that share a source may
/// have others besides it.
ConvertedRows::Key ConvertedRows::keyOf(graph::SourceAttr source,
                                        RankedTensorType type) {
  return {source,
          RankedTensorType::get({type.getDimSize(1)}, type.getElementType())};
}

graph::RowStore *ConvertedRows::find(graph::SourceAttr source,
                                     RankedTensorType type) {
  if (!isQuantized(source, type))
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<graph::RowStore> &store = stores[keyOf(source, type)];
  if (!store)
    store = std::make_unique<graph::MemoryRows>(
        source.getRows(),
        *graph::encodedSizeInBytes(encodingOf(type), 1, type.getDimSize(1)));
  return store.get();
}

void ConvertedRows::set(graph::SourceAttr source, RankedTensorType type,
                        std::unique_ptr<graph::RowStore> rows) {
  assert(isQuantized(source, type) && "nothing asks for others");
  std::lock_guard<std::mutex> lock(mutex);
  stores[keyOf(source, type)] = std::move(rows);
}

} // namespace llmc::importer
