// SPDX-License-Identifier: Apache-2.0
//
// Which device runs which variant of a file: pure functions over facts, tested
// without a device.

#ifndef LLMC_RUNTIME_VULKAN_DEVICECHOICE_H
#define LLMC_RUNTIME_VULKAN_DEVICECHOICE_H

#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"
#include "runtime/vulkan/DeviceFacts.h"

#include <map>
#include <string>
#include <vector>

namespace llmc::vulkan {

/// What one device says to one variant.
struct VariantVerdict {
  bool isForDevice = false; // vendor, device id, name and type match, or the
                            // variant names none
  bool isSpecific = false;  // the variant names a vendor, device, name or type
  std::vector<std::string> missing; // every requirement that the device does
                                    // not meet, one phrase each

  bool canRun() const { return isForDevice && missing.empty(); }
};

VariantVerdict judgeVariant(const DeviceFacts &device,
                            const format::TargetInfo &target);

/// The devices that a variant is made for: "any device", "software devices",
/// "devices of vendor 0x5143 whose name holds 'adreno (tm) 840'".
std::string describeDevices(const format::TargetInfo &target);

/// What a variant demands of a device: "Vulkan 1.1, features int_dot, …".
std::string describeNeeds(const format::TargetInfo &target);

/// Why a device runs a variant or not: "made for this device", "runs on any
/// such device", "made for another device (software devices)", "lacks feature
/// int_dot, …".
std::string explainVerdict(const format::TargetInfo &target,
                           const VariantVerdict &verdict);

struct VariantChoice {
  size_t variant = 0;
  std::string reason; // "adreno-840: made for this device" and why better ones
                      // were passed over
};

/// What the variants of a file ask for, in the file's order.
using TargetList = std::vector<const format::TargetInfo *>;

/// Reasons why variants, by their number, shall not run on a device although
/// they could: they failed there.
using VariantFailures = std::map<size_t, std::string>;

/// The first variant made for this device which it can run, else the first
/// conservative one (which names no device) that it can run. The error lists
/// every variant with all that is missing. `targetName`: only variants of this
/// name; empty: any.
StatusOr<VariantChoice> chooseVariant(const DeviceFacts &device,
                                      const TargetList &targets,
                                      const std::string &targetName = "",
                                      const VariantFailures &failures = {});

struct DevicePreference {
  int32_t index = -1;     // in the instance's order; -1: any
  std::string namePart;   // part of the device's name, in any case; empty: any
  std::string targetName; // empty: any
};

struct DeviceChoice {
  size_t device = 0;
  VariantChoice variant;
};

/// Of the devices that `preference` allows and that can run a variant: discrete
/// before integrated, virtual, other and software devices; in the instance's
/// order among equals. `failures`: by the device's number.
StatusOr<DeviceChoice>
chooseDevice(const std::vector<DeviceFacts> &devices, const TargetList &targets,
             const DevicePreference &preference,
             const std::map<size_t, VariantFailures> &failures = {});

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_DEVICECHOICE_H
