// SPDX-License-Identifier: Apache-2.0
//
// A copy is trusted for three reasons: its recipe is the weight's, its bytes
// have the checksum that they had, and tiles that are packed anew are the same.

#include "compiler/Serialization/WeightWriter.h"

#include "compiler/Serialization/PackWeight.h"
#include "compiler/Serialization/WeightRecipe.h"
#include "runtime/format/Checksum.h"

#include "llvm/Support/MemAlloc.h"

#include <cstdlib>
#include <cstring>

namespace llmc::serialization {

namespace {

struct Free {
  void operator()(uint8_t *bytes) const { std::free(bytes); }
};

/// Zeros, which take memory only where they are written.
std::unique_ptr<uint8_t, Free> makeZeros(int64_t count) {
  return std::unique_ptr<uint8_t, Free>(
      static_cast<uint8_t *>(llvm::safe_calloc(static_cast<size_t>(count), 1)));
}

/// Whether a tile of the weight has the same bytes in all planes.
bool haveEqualTile(const codegen::WeightLayout &layout, int64_t tile,
                   const uint8_t *x, const uint8_t *y) {
  return llvm::all_of(layout.planes, [&](const codegen::Plane &plane) {
    if (layout.name == "vector")
      return std::memcmp(x, y, static_cast<size_t>(layout.bytes)) == 0;
    int64_t size = layout.elementsPerTile(plane.kind) * plane.bytesPerElement;
    int64_t begin = plane.offset + tile * size;
    return std::memcmp(x + begin, y + begin, static_cast<size_t>(size)) == 0;
  });
}

/// Packs the first and the last tile and compares them with |packed|: a packer
/// that has changed is noticed although its version was not raised.
bool hasTilesOf(const StoredWeight &weight, const uint8_t *packed) {
  auto fresh = makeZeros(weight.layout.bytes);
  WeightPacker packer(weight.encoding, weight.layout, weight.sources);
  auto isEqual = [&](int64_t tile) {
    return !packer.packTiles(tile, tile + 1, fresh.get()) &&
           haveEqualTile(weight.layout, tile, fresh.get(), packed);
  };
  return isEqual(0) && isEqual(packer.numTiles() - 1);
}

/// Copies |bytes|, which may change meanwhile, and gives the checksum of what
/// was written.
llvm::Expected<uint64_t> copyBytes(const format::Reader &from,
                                   format::ByteSpan bytes, OutputFile &to,
                                   uint64_t offset) {
  constexpr size_t kChunk = size_t{1} << 20;
  std::vector<uint8_t> chunk(std::min(kChunk, bytes.size));
  format::StreamingChecksum checksum;
  for (size_t done = 0; done < bytes.size; done += chunk.size()) {
    chunk.resize(std::min(kChunk, bytes.size - done));
    std::memcpy(chunk.data(), bytes.data + done, chunk.size());
    from.releasePages({bytes.data + done, chunk.size()});
    checksum.update(chunk.data(), chunk.size());
    if (llvm::Error error = to.write(offset + done, chunk.data(), chunk.size()))
      return error;
  }
  return checksum.digest();
}

} // namespace

llvm::Expected<WrittenWeight> WeightWriter::write(const StoredWeight &weight,
                                                  uint64_t offset) const {
  WrittenWeight written;
  written.recipe = hashRecipe(weight);
  auto isCopied = copy(weight, offset, written);
  if (!isCopied)
    return isCopied.takeError();
  written.isCopied = *isCopied;
  if (!written.isCopied)
    if (llvm::Error error = pack(weight, offset, written))
      return error;
  return written;
}

/// Whether there was something to copy. A copy that is not to be trusted is
/// written over by packing.
llvm::Expected<bool> WeightWriter::copy(const StoredWeight &weight,
                                        uint64_t offset,
                                        WrittenWeight &written) const {
  if (!earlier)
    return false;
  auto size = static_cast<uint64_t>(weight.layout.bytes);
  std::optional<uint32_t> section = earlier->find(written.recipe, size);
  if (!section)
    return false;
  const format::Reader &reader = earlier->reader();
  format::ByteSpan bytes = reader.section(*section);
  auto checksum = copyBytes(reader, bytes, file, offset);
  if (!checksum)
    return checksum.takeError();
  written.checksum = *checksum;
  if (*checksum !=
      reader.manifest().sections(static_cast<int>(*section)).checksum()) {
    if (earlier->mustBeSound())
      return llvm::createStringError(reader.checksumError(*section).message());
    return false;
  }
  bool isTrusted = hasTilesOf(weight, bytes.data);
  reader.releasePages(bytes);
  return isTrusted;
}

llvm::Error WeightWriter::pack(const StoredWeight &weight, uint64_t offset,
                               WrittenWeight &written) const {
  auto size = static_cast<size_t>(weight.layout.bytes);
  auto packed = makeZeros(weight.layout.bytes);
  WeightPacker packer(weight.encoding, weight.layout, weight.sources);
  if (auto problem = packer.packTiles(0, packer.numTiles(), packed.get()))
    return llvm::createStringError("weight '" + weight.name + "', " + *problem);
  written.checksum = format::checksum(packed.get(), size);
  return file.write(offset, packed.get(), size);
}

} // namespace llmc::serialization
