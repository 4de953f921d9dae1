// SPDX-License-Identifier: Apache-2.0
//
// StagedCopy.h.

#include "runtime/session/StagedCopy.h"

#include <cstring>

namespace llmc::runtime {

static constexpr std::chrono::milliseconds kCopyTimeout =
    std::chrono::minutes(2);

Status StagedCopy::prepare(std::unique_ptr<vulkan::Buffer> &staging,
                           vulkan::BufferAccess access) {
  if (!commands) {
    LLMC_ASSIGN_OR_RETURN(commands, OneTimeCommands::create(device));
  }
  if (!staging) {
    LLMC_ASSIGN_OR_RETURN(
        staging, vulkan::Buffer::create(device, mostBytes, access, "staging"));
  }
  return okStatus();
}

Status StagedCopy::toDevice(format::ByteSpan piece,
                            const vulkan::Buffer &target, uint64_t offset) {
  if (target.mapped()) {
    std::memcpy(target.mapped() + offset, piece.data, piece.size);
    return okStatus();
  }
  LLMC_RETURN_IF_ERROR(prepare(up, vulkan::BufferAccess::HostWrites));
  std::memcpy(up->mapped(), piece.data, piece.size);
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, commands->begin());
  recording.acquireForCopies();
  recording.copy(*up, 0, target, offset, piece.size);
  return commands->finish(kCopyTimeout);
}

StatusOr<format::ByteSpan> StagedCopy::fromDevice(const vulkan::Buffer &source,
                                                  uint64_t offset,
                                                  size_t size) {
  if (source.mapped())
    return format::ByteSpan{source.mapped() + offset, size};
  LLMC_RETURN_IF_ERROR(prepare(down, vulkan::BufferAccess::HostReads));
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, commands->begin());
  recording.acquireForCopies();
  recording.copy(source, offset, *down, 0, size);
  recording.releaseToHost();
  LLMC_RETURN_IF_ERROR(commands->finish(kCopyTimeout));
  return format::ByteSpan{down->mapped(), size};
}

} // namespace llmc::runtime
