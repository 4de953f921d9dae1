// SPDX-License-Identifier: Apache-2.0
//
// A file of what one driver of one device made of one .llmc file: compiled
// pipelines, verdicts of self-tests. It has a header of its own, and counts
// only when all of it matches: drivers have crashed on blobs of another driver
// or on damaged ones.

#ifndef LLMC_RUNTIME_VULKAN_DRIVERFILE_H
#define LLMC_RUNTIME_VULKAN_DRIVERFILE_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/DeviceFacts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::vulkan {

/// The bytes of a file: header (device, driver, `contentHash`, checksum) and
/// `blob`.
std::vector<uint8_t> encodeDriverFile(const DeviceFacts &device,
                                      uint64_t contentHash,
                                      const std::vector<uint8_t> &blob);
/// The blob, when `file` is whole and was written for this device, driver and
/// content; else empty.
std::vector<uint8_t> decodeDriverFile(const DeviceFacts &device,
                                      uint64_t contentHash,
                                      const std::vector<uint8_t> &file);

/// One thread; several processes may read and write the same file.
class DriverFile {
public:
  /// In `folder`, named after device, content and `ending` (".pipelines"); an
  /// empty `folder`: nothing is kept. `contentHash`: of the .llmc file.
  DriverFile(const DeviceFacts &device, const std::string &folder,
             uint64_t contentHash, const std::string &ending);

  bool isKept() const { return !path.empty(); }
  /// The blob; empty when there is none that fits.
  std::vector<uint8_t> read() const;
  /// Writes to a temporary name, then renames, so that readers see the whole
  /// of one or the other. Io: the folder can't be written, which is no reason
  /// to stop.
  Status write(const std::vector<uint8_t> &blob) const;

private:
  DeviceFacts device;
  std::string path; // empty: not kept
  uint64_t contentHash;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_DRIVERFILE_H
