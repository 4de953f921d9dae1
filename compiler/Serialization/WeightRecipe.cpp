// SPDX-License-Identifier: Apache-2.0
//
// A text with all that matters, the hashes of the sources' bytes in it, is
// hashed once more.

#include "compiler/Serialization/WeightRecipe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace llmc::serialization {

namespace {

/// In a fixed order of bytes.
std::string hash(const void *data, size_t size) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(data, size));
  return std::string(reinterpret_cast<const char *>(bytes.digest),
                     sizeof(bytes.digest));
}

void describeLayout(const StoredWeight &weight, llvm::raw_ostream &text) {
  const codegen::WeightLayout &layout = weight.layout;
  text << graph::encodingFacts(weight.encoding).name << " as "
       << codegen::formatName(layout.format) << " in " << layout.name << " of "
       << layout.bytes << ", " << layout.rows << " x " << layout.columns
       << " padded to " << layout.paddedRows << " x " << layout.paddedColumns
       << "\n";
  for (const codegen::Plane &plane : layout.planes)
    text << codegen::planeName(plane.kind) << " " << plane.offset << " "
         << plane.bytes << " " << plane.bytesPerElement << " "
         << plane.columnsPerElement << "\n";
}

void describeSource(const StoredWeight &weight, const graph::RowSource &source,
                    llvm::raw_ostream &text) {
  const graph::PackedSizes sizes = sizesOf(weight, source);
  uint32_t addend;
  std::memcpy(&addend, &source.addend, sizeof(addend));
  text << source.rows << " rows, addend " << addend << " "
       << hash(source.bytes, static_cast<size_t>(sizes.codes)) << "\n";
  if (!source.packing)
    return;
  const graph::Packing &packing = *source.packing;
  text << graph::packingFormName(packing.form) << " of "
       << graph::encodingFacts(packing.encoding).name << ", group "
       << packing.group;
  if (packing.scales)
    text << " scales "
         << hash(packing.scales, static_cast<size_t>(sizes.scales));
  if (packing.zeros)
    text << " zeros " << hash(packing.zeros, static_cast<size_t>(sizes.zeros));
  text << "\n";
}

} // namespace

std::string hashRecipe(const StoredWeight &weight) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "packer " << kPackerVersion << "\n";
  describeLayout(weight, stream);
  for (const graph::RowSource &source : weight.sources)
    describeSource(weight, source, stream);
  return hash(text.data(), text.size());
}

} // namespace llmc::serialization
