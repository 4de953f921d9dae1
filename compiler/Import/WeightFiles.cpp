// SPDX-License-Identifier: Apache-2.0
//
// Mapping of weight files and the checks that make spans of them safe.

#include "compiler/Import/WeightFiles.h"

#include "dialects/Graph/Encoding.h"

namespace llmc::importer {

namespace {

graph::Encoding encodingOf(RankedTensorType type) {
  return cast<graph::EncodedType>(type.getElementType()).getEncoding();
}

/// Numbers per row: a weight [size] has `size` rows of one number.
int64_t rowElements(RankedTensorType type) {
  int64_t count = 1;
  for (int64_t size : type.getShape().drop_front())
    count *= size;
  return count;
}

} // namespace

int64_t encodedRowsInBytes(RankedTensorType type, int64_t rows) {
  if (type.getRank() == 1)
    return *graph::encodedSizeInBytes(encodingOf(type), rows);
  return *graph::encodedSizeInBytes(encodingOf(type), rows, rowElements(type));
}

llvm::Expected<WeightFiles> WeightFiles::open(ModuleOp module) {
  WeightFiles result;
  auto names = module->getAttrOfType<ArrayAttr>("graph.files");
  for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>()) {
    auto path = dyn_cast<StringAttr>(name);
    if (!path)
      return llvm::createStringError("graph.files holds something else than "
                                     "strings");
    auto file = llvm::MemoryBuffer::getFile(path.getValue(), /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!file)
      return llvm::createStringError(
          path.getValue() + ": can't be read: " + file.getError().message());
    result.files.push_back(std::move(*file));
  }
  for (auto weight : module.getOps<graph::WeightOp>())
    if (llvm::Error error = result.check(weight))
      return error;
  return result;
}

llvm::Error WeightFiles::check(graph::WeightOp weight) const {
  auto type = cast<RankedTensorType>(weight.getType());
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    auto file = static_cast<uint64_t>(source.getFile());
    if (file >= files.size())
      return llvm::createStringError(
          "weight '" + weight.getSymName() + "' names file " + Twine(file) +
          ", but graph.files has " + Twine(files.size()));
    auto size =
        static_cast<uint64_t>(encodedRowsInBytes(type, source.getRows()));
    auto offset = static_cast<uint64_t>(source.getOffset());
    uint64_t fileSize = files[file]->getBufferSize();
    if (offset > fileSize || size > fileSize - offset)
      return llvm::createStringError(
          files[file]->getBufferIdentifier() + ": weight '" +
          weight.getSymName() + "' has " + Twine(size) + " bytes at offset " +
          Twine(offset) + ", but the file has " + Twine(fileSize) +
          " bytes: it is truncated or not the file that was imported");
  }
  return llvm::Error::success();
}

SmallVector<ArrayRef<uint8_t>>
WeightFiles::pieces(graph::WeightOp weight) const {
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<ArrayRef<uint8_t>> result;
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    const llvm::MemoryBuffer &file = *files[source.getFile()];
    result.push_back(
        ArrayRef(reinterpret_cast<const uint8_t *>(file.getBufferStart()),
                 file.getBufferSize())
            .slice(source.getOffset(),
                   encodedRowsInBytes(type, source.getRows())));
  }
  return result;
}

void WeightFiles::decodeRow(graph::WeightOp weight, int64_t row,
                            float *result) const {
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<ArrayRef<uint8_t>> spans = pieces(weight);
  auto sources = weight.getSources().getAsRange<graph::SourceAttr>();
  for (auto [source, bytes] : llvm::zip_equal(sources, spans)) {
    if (type.getRank() == 1) { // the whole vector, source after source
      graph::dequantizeRow(encodingOf(type), bytes.data(), source.getRows(),
                           result);
      result += source.getRows();
      continue;
    }
    if (row < source.getRows()) {
      int64_t offset = encodedRowsInBytes(type, row);
      graph::dequantizeRow(encodingOf(type), bytes.data() + offset,
                           rowElements(type), result);
      return;
    }
    row -= source.getRows();
  }
}

} // namespace llmc::importer
