// SPDX-License-Identifier: Apache-2.0
//
// Maps model files, finds the bytes of weights in them, and compares those that
// could be equal.

#include "compiler/Serialization/WeightTable.h"

#include "codegen/Lowering/WeightType.h"
#include "dialects/Program/Program.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <sys/mman.h>
#include <unistd.h>

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

/// Bytes of rows, or of single numbers of a vector; nothing when they are no
/// whole blocks.
static std::optional<int64_t> sizeOfRows(const StoredWeight &weight,
                                         int64_t rows) {
  if (weight.layout.name == "vector")
    return graph::encodedSizeInBytes(weight.encoding, rows);
  return graph::encodedSizeInBytes(weight.encoding, rows,
                                   weight.layout.columns);
}

static int64_t bytesOfRows(const StoredWeight &weight, int64_t rows) {
  return *sizeOfRows(weight, rows);
}

/// Whether two weights of one type have the same bytes. Stops at the first
/// difference, so that unequal weights cost a page or two.
static bool haveEqualBytes(const StoredWeight &a, const StoredWeight &b) {
  if (a.encoding != b.encoding || a.layout.name != b.layout.name ||
      a.layout.rows != b.layout.rows || a.layout.columns != b.layout.columns ||
      a.sources.size() != b.sources.size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.sources, b.sources))
    if (x.rows != y.rows ||
        (x.bytes != y.bytes &&
         std::memcmp(x.bytes, y.bytes, bytesOfRows(a, x.rows)) != 0))
      return false;
  return true;
}

llvm::Expected<WeightTable> WeightTable::build(ArrayRef<ModuleOp> modules) {
  WeightTable table;
  for (ModuleOp module : modules) {
    if (llvm::Error error = table.mapFiles(module))
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

llvm::Error WeightTable::mapFiles(ModuleOp module) {
  std::vector<std::string> paths;
  if (auto attribute = module->getAttrOfType<ArrayAttr>("graph.files"))
    for (auto path : attribute.getAsRange<StringAttr>())
      paths.push_back(path.str());
  if (paths == filePaths)
    return llvm::Error::success();
  if (!filePaths.empty())
    return makeError("the targets' programs come from different model files");
  for (const std::string &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return makeError("cannot read '" + path +
                       "': " + buffer.getError().message());
    files.push_back(std::move(*buffer));
  }
  filePaths = std::move(paths);
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

  auto type = cast<RankedTensorType>(weight.getType());
  auto layout = codegen::layoutOf(type);
  if (!layout)
    return makeError("weight '" + name + "' has a shape without a layout");
  auto encoding = cast<graph::EncodedType>(type.getElementType()).getEncoding();
  StoredWeight entry{name, encoding, *layout, {}};

  int64_t rows = 0;
  for (auto source : weight.getSources().getAsRange<graph::SourceAttr>()) {
    auto piece = locate(entry, source);
    if (!piece)
      return piece.takeError();
    entry.sources.push_back(*piece);
    rows += piece->rows;
  }
  if (rows != type.getDimSize(0))
    return makeError("weight '" + name + "' has " + Twine(type.getDimSize(0)) +
                     " rows, its sources have " + Twine(rows));
  indices[name] = findOrStore(std::move(entry));
  return llvm::Error::success();
}

llvm::Expected<WeightRows> WeightTable::locate(const StoredWeight &weight,
                                               graph::SourceAttr source) const {
  int64_t mostRows = weight.layout.name == "vector" ? weight.layout.columns
                                                    : weight.layout.rows;
  auto bytes = source.getRows() > 0 && source.getRows() <= mostRows
                   ? sizeOfRows(weight, source.getRows())
                   : std::nullopt;
  if (!bytes || source.getFile() < 0 ||
      source.getFile() >= static_cast<int64_t>(files.size()))
    return makeError("weight '" + weight.name + "' has a source of " +
                     Twine(source.getRows()) + " rows in file " +
                     Twine(source.getFile()) + "; the weight has " +
                     Twine(mostRows) + " rows and there are " +
                     Twine(files.size()) + " files");
  const llvm::MemoryBuffer &file = *files[source.getFile()];
  auto fileSize = static_cast<int64_t>(file.getBufferSize());
  if (source.getOffset() < 0 || *bytes > fileSize ||
      source.getOffset() > fileSize - *bytes)
    return makeError(filePaths[source.getFile()] + ": weight '" + weight.name +
                     "' has " + Twine(*bytes) + " bytes at " +
                     Twine(source.getOffset()) + ", but the file has " +
                     Twine(fileSize));
  return WeightRows{reinterpret_cast<const uint8_t *>(file.getBufferStart()) +
                        source.getOffset(),
                    source.getRows()};
}

size_t WeightTable::findOrStore(StoredWeight weight) {
  for (auto [index, other] : llvm::enumerate(stored))
    if (haveEqualBytes(weight, other))
      return index;
  stored.push_back(std::move(weight));
  return stored.size() - 1;
}

void WeightTable::releaseSources(const StoredWeight &weight) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const WeightRows &source : weight.sources)
    for (const auto &file : files) {
      const auto *start =
          reinterpret_cast<const uint8_t *>(file->getBufferStart());
      // Small files are read, not mapped: their memory must not be dropped.
      if (file->getBufferKind() != llvm::MemoryBuffer::MemoryBuffer_MMap ||
          source.bytes < start || source.bytes >= start + file->getBufferSize())
        continue;
      auto begin =
          llvm::alignTo(reinterpret_cast<uintptr_t>(source.bytes), page);
      auto end = llvm::alignDown(reinterpret_cast<uintptr_t>(source.bytes) +
                                     bytesOfRows(weight, source.rows),
                                 page);
      if (begin < end)
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
    }
}

} // namespace llmc::serialization
