// SPDX-License-Identifier: Apache-2.0
//
// WeightImport.h.

#include "runtime/session/WeightImport.h"

#include "runtime/format/FileHeader.h"

#include <algorithm>
#include <tuple>

namespace llmc::runtime {

namespace {

auto placeOf(const ImportedPiece &piece) {
  return std::make_tuple(piece.buffer, piece.offset);
}

const format::Section &sectionOf(const format::Manifest &manifest,
                                 const format::WeightPlacement &placement) {
  return manifest.sections(static_cast<int>(placement.section()));
}

/// Fills `plan.pieces` and `plan.ranges`, in the order of the file.
void planRanges(const format::Manifest &manifest,
                const format::Variant &variant, uint64_t alignment,
                uint64_t mostBytes, ImportPlan &plan) {
  std::vector<const format::WeightPlacement *> placements;
  for (const format::WeightPlacement &placement : variant.weights())
    placements.push_back(&placement);
  std::sort(placements.begin(), placements.end(),
            [&](const auto *a, const auto *b) {
              return sectionOf(manifest, *a).offset() <
                     sectionOf(manifest, *b).offset();
            });
  for (const format::WeightPlacement *placement : placements) {
    const format::Section &section = sectionOf(manifest, *placement);
    const uint64_t end = (section.offset() + section.size() + alignment - 1) /
                         alignment * alignment;
    // Between two sections that follow each other is less than a page of the
    // file.
    const bool goesOn =
        !plan.ranges.empty() &&
        section.offset() < plan.ranges.back().end + format::kSectionAlignment &&
        (!mostBytes || end - plan.ranges.back().begin <= mostBytes);
    if (!goesOn)
      plan.ranges.push_back({section.offset(), section.offset()});
    FileRange &range = plan.ranges.back();
    range.end = std::max(range.end, end);
    plan.pieces.push_back({placement->buffer(), placement->offset(),
                           section.size(),
                           static_cast<uint32_t>(plan.ranges.size() - 1),
                           section.offset() - range.begin});
  }
}

bool overlap(const std::vector<ImportedPiece> &sorted) {
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].buffer == sorted[i - 1].buffer &&
        sorted[i].offset < sorted[i - 1].offset + sorted[i - 1].size)
      return true;
  return false;
}

/// Whether each weight that a dispatch of `program` binds lies in a piece.
bool coversBindings(const ImportPlan &plan, const format::Variant &program) {
  for (const format::Entry &entry : program.entries())
    for (const format::Command &command : entry.commands())
      for (const format::Slice &slice : command.dispatch().bindings())
        if (program.buffers(static_cast<int>(slice.buffer())).kind() ==
                format::Buffer::WEIGHTS &&
            !plan.find(slice))
          return false;
  return true;
}

} // namespace

const ImportedPiece *ImportPlan::find(const format::Slice &slice) const {
  const auto wanted = std::make_tuple(slice.buffer(), slice.offset());
  auto behind =
      std::upper_bound(pieces.begin(), pieces.end(), wanted,
                       [](const auto &place, const ImportedPiece &piece) {
                         return place < placeOf(piece);
                       });
  if (behind == pieces.begin())
    return nullptr;
  const ImportedPiece &piece = *std::prev(behind);
  const bool isInside =
      piece.buffer == slice.buffer() &&
      slice.offset() + slice.range() <= piece.offset + piece.size;
  return isInside ? &piece : nullptr;
}

std::optional<ImportPlan> planImport(const format::Manifest &manifest,
                                     const format::Variant &variant,
                                     uint64_t alignment, uint64_t mostBytes) {
  if (alignment == 0 || format::kSectionAlignment % alignment != 0)
    return std::nullopt;
  ImportPlan plan;
  planRanges(manifest, variant, alignment, mostBytes, plan);
  std::sort(plan.pieces.begin(), plan.pieces.end(),
            [](const ImportedPiece &a, const ImportedPiece &b) {
              return placeOf(a) < placeOf(b);
            });
  if (overlap(plan.pieces) || !coversBindings(plan, variant) ||
      !coversBindings(plan, variant.self_test().program()))
    return std::nullopt;
  return plan;
}

} // namespace llmc::runtime
