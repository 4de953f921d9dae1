// SPDX-License-Identifier: Apache-2.0
//
// DeviceChoice.h.

#include "runtime/vulkan/DeviceChoice.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace llmc::vulkan {

const char *deviceTypeName(DeviceType type) {
  switch (type) {
  case DeviceType::Integrated:
    return "integrated";
  case DeviceType::Discrete:
    return "discrete";
  case DeviceType::Virtual:
    return "virtual";
  case DeviceType::Cpu:
    return "software";
  case DeviceType::Other:
    break;
  }
  return "other";
}

namespace {

std::string lowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Vendor, device, name and type; each counts only when the target names it.
bool matchesIdentity(const DeviceFacts &device,
                     const format::TargetInfo &target) {
  if (target.vendor_id() && target.vendor_id() != device.vendorId)
    return false;
  if (target.device_type_cpu() && device.type != DeviceType::Cpu)
    return false;
  const auto &ids = target.device_ids();
  if (!ids.empty() &&
      std::find(ids.begin(), ids.end(), device.deviceId) == ids.end())
    return false;
  const auto &patterns = target.device_name_patterns();
  const std::string name = lowerCase(device.name);
  return patterns.empty() ||
         std::any_of(
             patterns.begin(), patterns.end(), [&](const std::string &pattern) {
               return name.find(lowerCase(pattern)) != std::string::npos;
             });
}

bool namesDevice(const format::TargetInfo &target) {
  return target.vendor_id() || target.device_type_cpu() ||
         !target.device_ids().empty() || !target.device_name_patterns().empty();
}

bool offersSubgroupSize(const DeviceFacts &device, uint32_t size) {
  return device.subgroupSize == size ||
         (device.minSubgroupSize && device.minSubgroupSize <= size &&
          size <= device.maxSubgroupSize);
}

void require(std::vector<std::string> &missing, const char *what,
             uint64_t needed, uint64_t offered) {
  if (needed > offered)
    missing.push_back(std::string(what) + " of " + std::to_string(needed) +
                      " (the device has " + std::to_string(offered) + ")");
}

std::string join(const std::vector<std::string> &phrases) {
  std::string text;
  for (const std::string &phrase : phrases)
    text += (text.empty() ? "" : ", ") + phrase;
  return text;
}

std::string hexadecimal(uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%x", number);
  return text;
}

/// "HEAD a or b", nothing without words.
std::string alternatives(const char *head,
                         const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? head : " or ") + word;
  return text;
}

int rankOf(DeviceType type) {
  switch (type) {
  case DeviceType::Discrete:
    return 0;
  case DeviceType::Integrated:
    return 1;
  case DeviceType::Virtual:
    return 2;
  case DeviceType::Other:
    return 3;
  case DeviceType::Cpu:
    break;
  }
  return 4;
}

bool isAllowed(const DeviceFacts &device, size_t index,
               const DevicePreference &preference) {
  if (preference.index >= 0 && static_cast<size_t>(preference.index) != index)
    return false;
  return lowerCase(device.name).find(lowerCase(preference.namePart)) !=
         std::string::npos;
}

std::string listOf(const std::vector<DeviceFacts> &devices) {
  std::string text;
  for (size_t i = 0; i < devices.size(); ++i)
    text += (i ? ", " : "") + std::to_string(i) + ": " + devices[i].name;
  return text;
}

} // namespace

VariantVerdict judgeVariant(const DeviceFacts &device,
                            const format::TargetInfo &target) {
  VariantVerdict verdict;
  verdict.isForDevice = matchesIdentity(device, target);
  verdict.isSpecific = namesDevice(target);
  std::vector<std::string> &missing = verdict.missing;
  if (device.vulkanMajor < 1 ||
      (device.vulkanMajor == 1 && device.vulkanMinor < target.vulkan_minor()))
    missing.push_back("Vulkan 1." + std::to_string(target.vulkan_minor()) +
                      " (the device has " + std::to_string(device.vulkanMajor) +
                      "." + std::to_string(device.vulkanMinor) + ")");
  for (const std::string &feature : target.features())
    if (!device.hasFeature(feature))
      missing.push_back("feature " + feature);
  if (target.subgroup_size() &&
      !offersSubgroupSize(device, target.subgroup_size()))
    missing.push_back(
        "subgroup size " + std::to_string(target.subgroup_size()) +
        " (the device has " + std::to_string(device.subgroupSize) + ")");
  require(missing, "a storage buffer range", target.max_storage_buffer_range(),
          device.maxStorageBufferRange);
  require(missing, "a workgroup", target.max_workgroup_invocations(),
          device.maxWorkgroupInvocations);
  require(missing, "workgroup memory", target.workgroup_memory_bytes(),
          device.workgroupMemoryBytes);
  require(missing, "storage buffers a kernel: a number",
          target.max_storage_buffers(), device.maxStorageBuffersPerStage);
  if (device.computeQueueFamily < 0)
    missing.push_back("a compute queue");
  return verdict;
}

std::string describeDevices(const format::TargetInfo &target) {
  if (!namesDevice(target))
    return "any device";
  std::string text = target.device_type_cpu() ? "software devices" : "devices";
  if (target.vendor_id())
    text += " of vendor " + hexadecimal(target.vendor_id());
  std::vector<std::string> ids, names;
  for (const uint32_t id : target.device_ids())
    ids.push_back(hexadecimal(id));
  for (const std::string &pattern : target.device_name_patterns())
    names.push_back("'" + pattern + "'");
  return text + alternatives(" with id ", ids) +
         alternatives(" whose name holds ", names);
}

std::string describeNeeds(const format::TargetInfo &target) {
  std::vector<std::string> needs = {"Vulkan 1." +
                                    std::to_string(target.vulkan_minor())};
  const auto need = [&needs](const char *what, uint64_t number) {
    if (number)
      needs.push_back(what + std::to_string(number));
  };
  for (const std::string &feature : target.features())
    needs.push_back("feature " + feature);
  need("subgroups of ", target.subgroup_size());
  need("workgroups of ", target.max_workgroup_invocations());
  need("workgroup memory of ", target.workgroup_memory_bytes());
  need("storage buffers a kernel: ", target.max_storage_buffers());
  need("a storage buffer range of ", target.max_storage_buffer_range());
  return join(needs);
}

std::string explainVerdict(const format::TargetInfo &target,
                           const VariantVerdict &verdict) {
  if (!verdict.isForDevice)
    return "made for another device (" + describeDevices(target) + ")";
  if (!verdict.missing.empty())
    return "lacks " + join(verdict.missing);
  return verdict.isSpecific ? "made for this device"
                            : "runs on any such device";
}

StatusOr<VariantChoice> chooseVariant(const DeviceFacts &device,
                                      const TargetList &targets,
                                      const std::string &targetName,
                                      const VariantFailures &failures) {
  std::vector<std::string> refusals;
  // Variants for this very device first, conservative ones second.
  for (const bool specific : {true, false}) {
    for (size_t i = 0; i < targets.size(); ++i) {
      const format::TargetInfo &target = *targets[i];
      if (!targetName.empty() && target.name() != targetName)
        continue;
      const VariantVerdict verdict = judgeVariant(device, target);
      if (verdict.isSpecific != specific)
        continue;
      std::string reason =
          target.name() + ": " + explainVerdict(target, verdict);
      const auto failure = failures.find(i);
      if (!verdict.canRun() || failure != failures.end()) {
        refusals.push_back(verdict.canRun()
                               ? target.name() + ": " + failure->second
                               : std::move(reason));
        continue;
      }
      if (!refusals.empty())
        reason += "; passed over " + join(refusals);
      return VariantChoice{i, reason};
    }
  }
  if (refusals.empty())
    return Status(StatusCode::NotFound,
                  "the file has no variant '" + targetName + "'");
  return Status(StatusCode::NoDevice,
                device.name + " can't run the file: " + join(refusals));
}

StatusOr<DeviceChoice>
chooseDevice(const std::vector<DeviceFacts> &devices, const TargetList &targets,
             const DevicePreference &preference,
             const std::map<size_t, VariantFailures> &failures) {
  if (devices.empty())
    return Status(StatusCode::NoDevice, "Vulkan has no device here");
  std::vector<size_t> order;
  for (size_t i = 0; i < devices.size(); ++i)
    if (isAllowed(devices[i], i, preference))
      order.push_back(i);
  if (order.empty())
    return Status(StatusCode::NoDevice,
                  "no device is number " + std::to_string(preference.index) +
                      " with '" + preference.namePart +
                      "' in its name; there are " + listOf(devices));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(rankOf(devices[a].type), a) <
           std::make_pair(rankOf(devices[b].type), b);
  });
  Status failure;
  for (const size_t index : order) {
    const auto failed = failures.find(index);
    StatusOr<VariantChoice> variant = chooseVariant(
        devices[index], targets, preference.targetName,
        failed == failures.end() ? VariantFailures() : failed->second);
    if (variant.ok())
      return DeviceChoice{index, *variant};
    failure =
        failure.ok()
            ? variant.status()
            : Status(variant.status().code(),
                     failure.message() + "; " + variant.status().message());
  }
  return failure;
}

} // namespace llmc::vulkan
