// SPDX-License-Identifier: Apache-2.0
//
// Weights.h.

#include "runtime/session/Weights.h"

#include "runtime/format/Checksum.h"
#include "runtime/session/Parallel.h"
#include "runtime/session/StagedCopy.h"

#include <algorithm>

namespace llmc::runtime {

namespace {

// Copies wait for faults of the file's pages and for the bus: a few threads at
// a time fill it (measured: one 2.8 GB/s, four 7.5, eight 13.9 straight into
// the memory of a device on PCIe; through staging no more than four are of
// use).
constexpr unsigned kMostStaging = 4, kMostDirect = 8;

/// Of one thread.
class Uploader {
public:
  Uploader(vulkan::Device &device, const format::Reader &reader,
           size_t pieceBytes)
      : copier(device, pieceBytes), reader(reader) {}

  Status upload(const format::WeightPlacement &placement,
                const vulkan::Buffer &target) {
    const format::ByteSpan section = reader.section(placement.section());
    format::StreamingChecksum checksum;
    for (size_t done = 0; done < section.size; done += copier.pieceBytes()) {
      const format::ByteSpan piece{
          section.data + done,
          std::min(copier.pieceBytes(), section.size - done)};
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

/// The largest first, so that threads end together.
std::vector<const format::WeightPlacement *>
bySize(const format::Reader &reader, const format::Variant &variant) {
  std::vector<const format::WeightPlacement *> placements;
  for (const format::WeightPlacement &placement : variant.weights())
    placements.push_back(&placement);
  std::sort(placements.begin(), placements.end(),
            [&](const auto *a, const auto *b) {
              const size_t sizes[] = {reader.section(a->section()).size,
                                      reader.section(b->section()).size};
              return sizes[0] != sizes[1] ? sizes[0] > sizes[1]
                                          : a->section() < b->section();
            });
  return placements;
}

StatusOr<BufferList> upload(vulkan::Device &device,
                            const format::Reader &reader,
                            const format::Variant &variant,
                            unsigned numThreads) {
  BufferList buffers(static_cast<size_t>(variant.buffers_size()));
  unsigned mostThreads = kMostDirect;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const format::Buffer &info = variant.buffers(static_cast<int>(i));
    if (info.kind() != format::Buffer::WEIGHTS)
      continue;
    LLMC_ASSIGN_OR_RETURN(
        buffers[i],
        vulkan::Buffer::create(device, info.size(),
                               vulkan::BufferAccess::DeviceFilled, "weight"));
    if (!buffers[i]->mapped())
      mostThreads = kMostStaging;
  }
  const auto placements = bySize(reader, variant);
  numThreads = std::min(numThreads, mostThreads);
  // Together they have the planned bytes of staging, however many they are.
  const size_t pieceBytes = format::kStagingBytes / numThreads;
  std::vector<std::unique_ptr<Uploader>> uploaders;
  while (uploaders.size() < numThreads)
    uploaders.push_back(std::make_unique<Uploader>(device, reader, pieceBytes));
  LLMC_RETURN_IF_ERROR(forEachInParallel(
      placements.size(), numThreads, [&](size_t thread, size_t i) {
        return uploaders[thread]->upload(*placements[i],
                                         *buffers[placements[i]->buffer()]);
      }));
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
                                const format::Variant &variant,
                                unsigned numThreads) {
  std::optional<ImportPlan> plan;
  if (device.importsHostMemory())
    plan =
        planImport(reader.manifest(), variant, device.facts().importAlignment,
                   device.facts().maxMemoryAllocation);
  if (plan) {
    StatusOr<BufferList> imported = import(device, reader, *plan);
    if (imported.ok()) {
      const auto placements = bySize(reader, variant);
      LLMC_RETURN_IF_ERROR(forEachInParallel(
          placements.size(), numThreads, [&](size_t, size_t i) {
            return reader.verifySection(placements[i]->section());
          }));
      return Weights(std::move(*imported), std::move(plan));
    }
    if (imported.status().code() == StatusCode::DeviceLost)
      return device.noteLoss(imported.status());
  }
  LLMC_ASSIGN_OR_RETURN(BufferList buffers,
                        upload(device, reader, variant, numThreads));
  return Weights(std::move(buffers), std::nullopt);
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
