// SPDX-License-Identifier: Apache-2.0
//
// Weights.h.

#include "runtime/session/Weights.h"

#include "runtime/format/Checksum.h"
#include "runtime/session/StagedCopy.h"

#include <algorithm>

namespace llmc::runtime {

namespace {

constexpr size_t kPieceBytes = StagedCopy::kPieceBytes;

class Uploader {
public:
  Uploader(vulkan::Device &device, const format::Reader &reader)
      : copier(device), reader(reader) {}

  Status upload(const format::WeightPlacement &placement,
                const vulkan::Buffer &target) {
    const format::ByteSpan section = reader.section(placement.section());
    format::StreamingChecksum checksum;
    for (size_t done = 0; done < section.size; done += kPieceBytes) {
      const format::ByteSpan piece{section.data + done,
                                   std::min(kPieceBytes, section.size - done)};
      checksum.update(piece.data, piece.size);
      LLMC_RETURN_IF_ERROR(
          copier.toDevice(piece, target, placement.offset() + done));
      reader.releasePages(piece);
    }
    const auto &info =
        reader.manifest().sections(static_cast<int>(placement.section()));
    return checksum.digest() == info.checksum()
               ? okStatus()
               : reader.checksumError(placement.section());
  }

private:
  StagedCopy copier;
  const format::Reader &reader;
};

StatusOr<BufferList> upload(vulkan::Device &device,
                            const format::Reader &reader,
                            const format::Variant &variant) {
  BufferList buffers(static_cast<size_t>(variant.buffers_size()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const format::Buffer &info = variant.buffers(static_cast<int>(i));
    if (info.kind() != format::Buffer::WEIGHTS)
      continue;
    LLMC_ASSIGN_OR_RETURN(
        buffers[i],
        vulkan::Buffer::create(device, info.size(),
                               vulkan::BufferAccess::DeviceFilled, "weight"));
  }
  Uploader uploader(device, reader);
  for (const format::WeightPlacement &placement : variant.weights())
    LLMC_RETURN_IF_ERROR(
        uploader.upload(placement, *buffers[placement.buffer()]));
  return buffers;
}

/// A buffer for each range.
StatusOr<BufferList> import(vulkan::Device &device,
                            const format::Reader &reader,
                            const ImportPlan &plan) {
  BufferList buffers;
  for (const FileRange &range : plan.ranges) {
    LLMC_ASSIGN_OR_RETURN(
        std::unique_ptr<vulkan::Buffer> buffer,
        vulkan::Buffer::import(device, reader.bytes() + range.begin,
                               range.end - range.begin, "imported weight"));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

} // namespace

StatusOr<Weights> Weights::load(vulkan::Device &device,
                                const format::Reader &reader,
                                const format::Variant &variant) {
  Weights weights;
  if (device.importsHostMemory())
    weights.plan =
        planImport(reader.manifest(), variant, device.facts().importAlignment,
                   device.facts().maxMemoryAllocation);
  if (weights.plan) {
    StatusOr<BufferList> imported = import(device, reader, *weights.plan);
    if (imported.ok()) {
      weights.buffers = std::move(*imported);
      for (const format::WeightPlacement &placement : variant.weights())
        LLMC_RETURN_IF_ERROR(reader.verifySection(placement.section()));
      return weights;
    }
    if (imported.status().code() == StatusCode::DeviceLost)
      return device.noteLoss(imported.status());
    weights.plan.reset();
  }
  LLMC_ASSIGN_OR_RETURN(weights.buffers, upload(device, reader, variant));
  return weights;
}

VkDescriptorBufferInfo Weights::binding(const format::Slice &slice) const {
  if (!plan)
    return {buffers[slice.buffer()]->handle(), slice.offset(), slice.range()};
  const ImportedPiece &piece =
      *plan->find(slice); // as the plan was made for it
  return {buffers[piece.range]->handle(),
          piece.offsetInRange + slice.offset() - piece.offset, slice.range()};
}

} // namespace llmc::runtime
