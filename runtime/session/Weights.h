// SPDX-License-Identifier: Apache-2.0
//
// The weights of a module on the device: the mapped file's own pages, where the
// device takes them, else copies in bounded pieces. Checked either way.

#ifndef LLMC_RUNTIME_SESSION_WEIGHTS_H
#define LLMC_RUNTIME_SESSION_WEIGHTS_H

#include "runtime/format/Reader.h"
#include "runtime/session/WeightImport.h"
#include "runtime/vulkan/Buffer.h"

#include <memory>
#include <optional>
#include <vector>

namespace llmc::runtime {

/// Buffers by their index in the variant; null where the buffer is not one of
/// weights.
using BufferList = std::vector<std::unique_ptr<vulkan::Buffer>>;

/// Immutable, any thread. The reader has to outlive it.
class Weights {
public:
  /// Weights of `variant`. On a device that imports host memory: the file's
  /// pages. Else, or where it refuses them, buffers that up to `numThreads`
  /// threads fill in pieces of 16 MiB together; the pages of the file behind
  /// them are given back, so that the host never holds more than these besides
  /// the buffers themselves. A section with a wrong checksum is InvalidFile.
  static StatusOr<Weights> load(vulkan::Device &device,
                                const format::Reader &reader,
                                const format::Variant &variant,
                                unsigned numThreads);

  /// What a dispatch binds for `slice` of a weight buffer.
  VkDescriptorBufferInfo binding(const format::Slice &slice) const;
  /// The copy of a weight buffer of the variant.
  const vulkan::Buffer &buffer(size_t index) const { return *buffers[index]; }
  /// Whether the device uses the file's pages.
  bool areImported() const { return plan.has_value(); }

private:
  Weights(BufferList buffers, std::optional<ImportPlan> plan)
      : buffers(std::move(buffers)), plan(std::move(plan)) {}

  BufferList buffers; // copies: by their index in the variant; imports: ranges
  std::optional<ImportPlan> plan; // of imports
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_WEIGHTS_H
