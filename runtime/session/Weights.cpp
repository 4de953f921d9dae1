// SPDX-License-Identifier: Apache-2.0
//
// Weights.h.

#include "runtime/session/Weights.h"

#include "runtime/format/Checksum.h"
#include "runtime/session/OneTimeCommands.h"

#include <algorithm>
#include <cstring>

namespace llmc::runtime {

namespace {

constexpr size_t kPieceBytes = size_t{16} << 20;
constexpr std::chrono::milliseconds kCopyTimeout = std::chrono::minutes(2);

class Uploader {
public:
  Uploader(vulkan::Device &device, const format::Reader &reader)
      : device(device), reader(reader) {}

  Status upload(const format::WeightPlacement &placement,
                const vulkan::Buffer &target) {
    const format::ByteSpan section = reader.section(placement.section());
    format::StreamingChecksum checksum;
    for (size_t done = 0; done < section.size; done += kPieceBytes) {
      const format::ByteSpan piece{section.data + done,
                                   std::min(kPieceBytes, section.size - done)};
      checksum.update(piece.data, piece.size);
      LLMC_RETURN_IF_ERROR(copy(piece, target, placement.offset() + done));
      reader.releasePages(piece);
    }
    const auto &info =
        reader.manifest().sections(static_cast<int>(placement.section()));
    return checksum.digest() == info.checksum()
               ? okStatus()
               : reader.checksumError(placement.section());
  }

private:
  Status copy(format::ByteSpan piece, const vulkan::Buffer &target,
              uint64_t offset) {
    if (target.mapped()) {
      std::memcpy(target.mapped() + offset, piece.data, piece.size);
      return okStatus();
    }
    LLMC_RETURN_IF_ERROR(makeStaging());
    std::memcpy(staging->mapped(), piece.data, piece.size);
    LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, commands->begin());
    recording.copy(*staging, 0, target, offset, piece.size);
    return commands->finish(kCopyTimeout);
  }

  Status makeStaging() {
    if (staging)
      return okStatus();
    LLMC_ASSIGN_OR_RETURN(commands, OneTimeCommands::create(device));
    LLMC_ASSIGN_OR_RETURN(
        staging,
        vulkan::Buffer::create(device, kPieceBytes,
                               vulkan::BufferAccess::HostWrites, "staging"));
    return okStatus();
  }

  vulkan::Device &device;
  const format::Reader &reader;
  std::unique_ptr<vulkan::Buffer>
      staging; // only when the host can't reach the weights' memory
  std::unique_ptr<OneTimeCommands> commands;
};

} // namespace

StatusOr<BufferList> uploadWeights(vulkan::Device &device,
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

} // namespace llmc::runtime
