// SPDX-License-Identifier: Apache-2.0
//
// The weights of a module on the device: copied from the mapped file in bounded
// pieces, checked on the way.

#ifndef LLMC_RUNTIME_SESSION_WEIGHTS_H
#define LLMC_RUNTIME_SESSION_WEIGHTS_H

#include "runtime/format/Reader.h"
#include "runtime/vulkan/Buffer.h"

#include <memory>
#include <vector>

namespace llmc::runtime {

/// Buffers by their index in the variant; null where the buffer is not one of
/// weights.
using BufferList = std::vector<std::unique_ptr<vulkan::Buffer>>;

/// Creates and fills the weight buffers of `variant`. Pieces of 16 MiB: the
/// pages of the file behind them are given back, so that the host never holds
/// more than a piece besides the buffers themselves. A section with a wrong
/// checksum is InvalidFile.
StatusOr<BufferList> uploadWeights(vulkan::Device &device,
                                   const format::Reader &reader,
                                   const format::Variant &variant);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_WEIGHTS_H
