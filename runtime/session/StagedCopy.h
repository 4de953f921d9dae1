// SPDX-License-Identifier: Apache-2.0
//
// Bytes between the host and buffers that it can't reach, in pieces through a
// staging buffer.

#ifndef LLMC_RUNTIME_SESSION_STAGEDCOPY_H
#define LLMC_RUNTIME_SESSION_STAGEDCOPY_H

#include "runtime/format/MemoryPlan.h"
#include "runtime/format/Reader.h"
#include "runtime/session/OneTimeCommands.h"
#include "runtime/vulkan/Buffer.h"

#include <memory>

namespace llmc::runtime {

/// One thread. Staging memory is allocated when it is first needed.
class StagedCopy {
public:
  /// `pieceBytes`: the most bytes of one copy.
  explicit StagedCopy(vulkan::Device &device,
                      size_t pieceBytes = format::kStagingBytes)
      : device(device), mostBytes(pieceBytes) {}

  size_t pieceBytes() const { return mostBytes; }
  /// Copies at most pieceBytes() into `target` and waits for the end of it.
  Status toDevice(format::ByteSpan piece, const vulkan::Buffer &target,
                  uint64_t offset);
  /// The bytes at `offset`, as all submissions before left them; they stay
  /// until the next copy. `size` is at most pieceBytes().
  StatusOr<format::ByteSpan> fromDevice(const vulkan::Buffer &source,
                                        uint64_t offset, size_t size);

private:
  Status prepare(std::unique_ptr<vulkan::Buffer> &staging,
                 vulkan::BufferAccess access);

  vulkan::Device &device;
  size_t mostBytes;
  std::unique_ptr<vulkan::Buffer> up, down;
  std::unique_ptr<OneTimeCommands> commands; // goes first
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_STAGEDCOPY_H
