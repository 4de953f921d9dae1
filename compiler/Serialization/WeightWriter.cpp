// SPDX-License-Identifier: Apache-2.0
//
// A copy is trusted for three reasons: its recipe is the weight's, its bytes
// have the checksum that they had, and tiles that are packed anew are the same.

#include "compiler/Serialization/WeightWriter.h"

#include "compiler/Serialization/PackWeight.h"
#include "compiler/Serialization/WeightRecipe.h"
#include "runtime/format/Checksum.h"

#include <algorithm>
#include <cstring>

namespace llmc::serialization {

namespace {

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
  return earlier->hasTilesOf(*section, weight);
}

llvm::Error WeightWriter::pack(const StoredWeight &weight, uint64_t offset,
                               WrittenWeight &written) const {
  auto size = static_cast<size_t>(weight.layout.bytes);
  std::vector<uint8_t> packed(size);
  WeightPacker packer(weight.encoding, weight.layout, weight.sources);
  if (auto problem = packer.packTiles(0, packer.numTiles(), packed.data()))
    return llvm::createStringError("weight '" + weight.name + "', " + *problem);
  written.checksum = format::checksum(packed.data(), size);
  return file.write(offset, packed.data(), size);
}

} // namespace llmc::serialization
