// SPDX-License-Identifier: Apache-2.0
//
// Whether a manifest keeps all promises that the runtime relies on. Everything
// that indexes, places or sizes something is checked here once, so that no
// later code needs to.

#ifndef LLMC_RUNTIME_FORMAT_MANIFESTVALIDATOR_H
#define LLMC_RUNTIME_FORMAT_MANIFESTVALIDATOR_H

#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"

#include <cstdint>

namespace llmc::format {

inline constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 40;
inline constexpr uint32_t kMaxRows = 1u << 20;
inline constexpr uint32_t kMaxBindings = 64;
inline constexpr uint32_t kMaxWorkgroupInvocations = 1024;
inline constexpr uint64_t kStepBytes = 64; // 16 int32 words
inline constexpr uint64_t kSliceAlignment = 4;

/// Checks `manifest` against a file of `fileSize` bytes. The error names the
/// field by path, for instance
/// `variants[0].entries[2].commands[5].dispatch.kernel is 99, allowed is 0 to
/// 41`.
Status validateManifest(const Manifest &manifest, uint64_t fileSize);

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_MANIFESTVALIDATOR_H
