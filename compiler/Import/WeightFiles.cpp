// SPDX-License-Identifier: Apache-2.0
//
// Mapping of weight files and the checks that make spans of them safe.

#include "compiler/Import/WeightFiles.h"

#include "dialects/Graph/Encoding.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <sys/mman.h>
#include <unistd.h>

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

/// The file's bytes; an array of numbers is a file in memory.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
openFile(Attribute name) {
  if (auto table = dyn_cast<mlir::DenseF32ArrayAttr>(name))
    return llvm::MemoryBuffer::getMemBufferCopy(
        llvm::toStringRef(table.getRawData()), "graph.files");
  auto path = dyn_cast<StringAttr>(name);
  if (!path)
    return llvm::createStringError(
        "graph.files holds something else than strings and arrays of f32");
  auto file = llvm::MemoryBuffer::getFile(path.getValue(), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError(
        path.getValue() + ": can't be read: " + file.getError().message());
  return std::move(*file);
}

llvm::Expected<WeightFiles> WeightFiles::open(ArrayAttr names,
                                              ConvertedRows *converted) {
  WeightFiles result;
  result.converted = converted;
  for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>()) {
    auto file = openFile(name);
    if (!file)
      return file.takeError();
    result.files.push_back(std::move(*file));
  }
  return result;
}

llvm::Expected<WeightFiles> WeightFiles::open(ModuleOp module,
                                              ConvertedRows *converted) {
  auto result =
      open(module->getAttrOfType<ArrayAttr>("graph.files"), converted);
  if (!result)
    return result.takeError();
  for (auto weight : module.getOps<graph::WeightOp>())
    if (llvm::Error error = result->check(weight))
      return error;
  return result;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static llvm::Error fail(graph::WeightOp weight, const Twine &message) {
  return llvm::createStringError("weight '" + weight.getSymName() + "' " +
                                 message);
}

llvm::Error WeightFiles::checkInside(graph::WeightOp weight, int64_t file,
                                     int64_t offset, int64_t size,
                                     StringRef part) const {
  if (file < 0 || file >= static_cast<int64_t>(files.size()))
    return fail(weight, "names file " + Twine(file) + ", but graph.files has " +
                            Twine(files.size()));
  auto fileSize = static_cast<int64_t>(files[file]->getBufferSize());
  if (offset >= 0 && size <= fileSize && offset <= fileSize - size)
    return llvm::Error::success();
  return llvm::createStringError(
      files[file]->getBufferIdentifier() + ": weight '" + weight.getSymName() +
      "' has " + Twine(size) + " bytes" + part + " at offset " + Twine(offset) +
      ", but the file has " + Twine(fileSize) +
      " bytes: it is truncated or not the file that was imported");
}

llvm::Error WeightFiles::checkPacked(graph::WeightOp weight,
                                     graph::SourceAttr source) const {
  auto type = cast<RankedTensorType>(weight.getType());
  graph::PackingAttr packing = source.getPacking();
  auto form = graph::packingFormOfName(packing.getForm().str());
  if (!form)
    return fail(weight, "has an unknown packing '" + packing.getForm() + "'");
  if (type.getRank() != 2)
    return fail(weight, "is a vector, which can't be packed");
  int64_t columns = type.getDimSize(1);
  int64_t group = packing.getGroup() != 0 ? packing.getGroup() : columns;
  auto sizes = graph::packedSizes(*form, packing.getEncoding(), group,
                                  source.getRows(), columns);
  if (!sizes || graph::hasCodes(*form) != bool(packing.getScales()) ||
      !graph::canUnpack(*form, packing.getEncoding(), group,
                        bool(packing.getZeros()), columns, encodingOf(type))) {
    std::string text;
    llvm::raw_string_ostream(text) << packing;
    return fail(weight, "of " + Twine(source.getRows()) + " rows and " +
                            Twine(columns) + " columns in encoding " +
                            graph::encodingFacts(encodingOf(type)).name +
                            " can't be read from " + text);
  }
  if (llvm::Error error = checkInside(weight, source.getFile(),
                                      source.getOffset(), sizes->codes, ""))
    return error;
  for (auto [place, size, part] :
       {std::tuple(packing.getScales(), sizes->scales, " of scales"),
        std::tuple(packing.getZeros(), sizes->zeros, " of zero points")})
    if (place)
      if (llvm::Error error = checkInside(weight, place.getFile(),
                                          place.getOffset(), size, part))
        return error;
  return llvm::Error::success();
}

llvm::Error WeightFiles::check(graph::WeightOp weight) const {
  auto type = cast<RankedTensorType>(weight.getType());
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    if (source.getAddend() && type.getRank() != 1)
      return fail(weight, "is a matrix, whose sources can't have an addend");
    llvm::Error error =
        source.getPacking()
            ? checkPacked(weight, source)
            : checkInside(weight, source.getFile(), source.getOffset(),
                          encodedRowsInBytes(type, source.getRows()), "");
    if (error)
      return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

std::vector<graph::RowSource>
WeightFiles::sources(graph::WeightOp weight) const {
  std::vector<graph::RowSource> result;
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    graph::RowSource &entry = result.emplace_back();
    entry.bytes = bytesAt(source.getFile(), source.getOffset());
    entry.rows = source.getRows();
    if (source.getAddend())
      entry.addend = static_cast<float>(source.getAddend().getValueAsDouble());
    graph::PackingAttr packing = source.getPacking();
    if (!packing)
      continue;
    auto type = cast<RankedTensorType>(weight.getType());
    auto bytesOf = [&](graph::PlaceAttr place) {
      return place ? bytesAt(place.getFile(), place.getOffset()) : nullptr;
    };
    entry.packing = graph::Packing{
        *graph::packingFormOfName(packing.getForm().str()),
        packing.getEncoding(),
        packing.getGroup() != 0 ? packing.getGroup() : type.getDimSize(1),
        bytesOf(packing.getScales()), bytesOf(packing.getZeros())};
    if (converted)
      entry.store = converted->find(source, type);
  }
  return result;
}

void WeightFiles::decodeRow(graph::WeightOp weight, int64_t row,
                            float *result) const {
  auto type = cast<RankedTensorType>(weight.getType());
  graph::Encoding encoding = encodingOf(type);
  for (graph::RowSource &source : sources(weight)) {
    source.keepsRows = true;
    if (type.getRank() == 1) { // the whole vector, source after source
      graph::decodeVector(source, encoding, result);
      result += source.rows;
      continue;
    }
    if (row < source.rows) {
      std::vector<uint8_t> scratch(source.packing ? encodedRowsInBytes(type, 1)
                                                  : 0);
      std::optional<std::string> problem;
      const uint8_t *bytes = graph::encodedRow(
          source, encoding, rowElements(type), row, scratch.data(), problem);
      if (problem)
        std::fill_n(result, rowElements(type), NAN);
      else
        graph::dequantizeRow(encoding, bytes, rowElements(type), result);
      return;
    }
    row -= source.rows;
  }
}

void WeightFiles::release(ArrayRef<uint8_t> bytes) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const auto &file : files) {
    const auto *start =
        reinterpret_cast<const uint8_t *>(file->getBufferStart());
    // Small files are read, not mapped: their memory must not be dropped.
    if (file->getBufferKind() != llvm::MemoryBuffer::MemoryBuffer_MMap ||
        bytes.data() < start || bytes.data() >= start + file->getBufferSize())
      continue;
    auto begin = llvm::alignTo(reinterpret_cast<uintptr_t>(bytes.data()), page);
    auto end = llvm::alignDown(
        reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()), page);
    if (begin < end)
      ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  }
}

} // namespace llmc::importer
