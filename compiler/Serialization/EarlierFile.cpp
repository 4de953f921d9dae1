// SPDX-License-Identifier: Apache-2.0

#include "compiler/Serialization/EarlierFile.h"

#include "compiler/Serialization/PackWeight.h"

#include "llvm/Support/FileSystem.h"
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

} // namespace

StatusOr<std::unique_ptr<EarlierFile>>
EarlierFile::open(const std::string &path, bool mustBeSound) {
  // Opening a pipe would wait for a writer.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return Status(StatusCode::InvalidFile, path + ": is not a regular file");
  LLMC_ASSIGN_OR_RETURN(auto reader, format::Reader::open(path));
  return std::unique_ptr<EarlierFile>(
      new EarlierFile(std::move(reader), mustBeSound));
}

EarlierFile::EarlierFile(std::unique_ptr<format::Reader> file, bool mustBeSound)
    : file(std::move(file)), isDamageAnError(mustBeSound) {
  uint32_t index = 0;
  for (const format::Section &section : this->file->manifest().sections()) {
    if (section.kind() == format::Section::WEIGHT && !section.recipe().empty())
      sections.try_emplace(section.recipe(), index);
    ++index;
  }
}

std::optional<uint32_t> EarlierFile::find(StringRef recipe,
                                          uint64_t size) const {
  auto found = sections.find(recipe);
  if (found == sections.end() || file->section(found->second).size != size)
    return std::nullopt;
  return found->second;
}

bool EarlierFile::hasTilesOf(uint32_t section,
                             const StoredWeight &weight) const {
  const format::ByteSpan packed = file->section(section);
  auto fresh = makeZeros(weight.layout.bytes);
  std::vector<graph::RowSource> sources = weight.sources;
  for (graph::RowSource &source : sources)
    source.store = nullptr; // its rows may be those of this file
  WeightPacker packer(weight.encoding, weight.layout, sources);
  auto isEqual = [&](int64_t tile) {
    return !packer.packTiles(tile, tile + 1, fresh.get()) &&
           haveEqualTile(weight.layout, tile, fresh.get(), packed.data);
  };
  bool areEqual = isEqual(0) && isEqual(packer.numTiles() - 1);
  file->releasePages(packed);
  return areEqual;
}

} // namespace llmc::serialization
