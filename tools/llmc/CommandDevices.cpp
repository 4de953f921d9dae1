// SPDX-License-Identifier: Apache-2.0
//
// llmc devices: the Vulkan devices of this machine.

#include "runtime/session/SelfTestRecord.h"
#include "tools/llmc/Commands.h"
#include "tools/llmc/RuntimeCommand.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace llmc::tool {

namespace {

using vulkan::DeviceFacts;

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

void print(size_t index, const DeviceFacts &device) {
  std::printf("%zu: %s (%s, vendor 0x%x, device 0x%x)\n", index,
              device.name.c_str(), vulkan::deviceTypeName(device.type),
              device.vendorId, device.deviceId);
  std::printf("   Vulkan %u.%u, %s\n", device.vulkanMajor, device.vulkanMinor,
              device.driver.c_str());
  std::printf("   subgroup %u, workgroup %u invocations, %u bytes of "
              "workgroup memory\n",
              device.subgroupSize, device.maxWorkgroupInvocations,
              device.workgroupMemoryBytes);
  std::printf("   storage buffer range %llu, allocation %llu bytes\n",
              static_cast<unsigned long long>(device.maxStorageBufferRange),
              static_cast<unsigned long long>(device.maxMemoryAllocation));
  std::printf("   features %s\n", joined(device.features).c_str());
}

nlohmann::json toJson(size_t index, const DeviceFacts &device) {
  return {{"index", index},
          {"name", device.name},
          {"type", vulkan::deviceTypeName(device.type)},
          {"vendor_id", device.vendorId},
          {"device_id", device.deviceId},
          {"vulkan_minor", device.vulkanMinor},
          {"driver", device.driver},
          {"features", device.features},
          {"subgroup_size", device.subgroupSize},
          {"max_workgroup_invocations", device.maxWorkgroupInvocations},
          {"workgroup_memory_bytes", device.workgroupMemoryBytes},
          {"max_storage_buffer_range", device.maxStorageBufferRange},
          {"max_memory_allocation", device.maxMemoryAllocation}};
}

/// What the variants of a file say to one device: the one that would run first.
nlohmann::json judge(size_t index, const DeviceFacts &device,
                     const format::Reader &reader,
                     const std::string &cacheFolder) {
  vulkan::TargetList targets;
  for (const format::Variant &variant : reader.manifest().variants())
    targets.push_back(&variant.target());
  const runtime::SelfTestRecord record(device, cacheFolder,
                                       reader.contentHash());
  vulkan::VariantFailures failures;
  for (size_t i = 0; i < targets.size(); ++i)
    if (const auto problem = record.find(targets[i]->name());
        problem && !problem->empty())
      failures[i] = *problem;
  const auto choice = vulkan::chooseVariant(device, targets, "", failures);
  nlohmann::json variants = nlohmann::json::array();
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto verdict = vulkan::judgeVariant(device, *targets[i]);
    const bool hasFailed = failures.count(i) != 0;
    std::string why = vulkan::explainVerdict(*targets[i], verdict);
    if (hasFailed)
      why += ", but " + failures[i];
    else if (verdict.canRun() &&
             reader.manifest().variants(static_cast<int>(i)).has_self_test())
      why += record.find(targets[i]->name()) ? ", passed its self-test"
             : record.hasPassedFirst(targets[i]->name())
                 ? ", passed its self-test for short prompts"
                 : ", not tested yet";
    variants.push_back({{"target", targets[i]->name()},
                        {"runs", choice.ok() && choice->variant == i},
                        {"could_run", verdict.canRun() && !hasFailed},
                        {"why", why}});
  }
  return {{"index", index},
          {"name", device.name},
          {"runs", choice.ok()
                       ? nlohmann::json(targets[choice->variant]->name())
                       : nlohmann::json()},
          {"variants", variants}};
}

void printVerdicts(const nlohmann::json &device) {
  std::printf("%zu: %s runs %s\n", device["index"].get<size_t>(),
              device["name"].get<std::string>().c_str(),
              device["runs"].is_null()
                  ? "nothing"
                  : device["runs"].get<std::string>().c_str());
  for (const nlohmann::json &variant : device["variants"]) {
    const bool isPassedOver = variant["could_run"] && !variant["runs"];
    std::printf("   %s %s: %s%s\n", variant["runs"] ? "*" : "-",
                variant["target"].get<std::string>().c_str(),
                variant["why"].get<std::string>().c_str(),
                isPassedOver ? ", but another is preferred" : "");
  }
}

/// Which variant of a file each device would run, and why not the others.
int printChoices(const std::string &path,
                 const std::vector<DeviceFacts> &devices, bool asJson,
                 const std::string &cacheFolder) {
  auto reader = format::Reader::open(path);
  if (!reader.ok())
    return fail(reader.status());
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < devices.size(); ++i)
    list.push_back(judge(i, devices[i], **reader, cacheFolder));
  if (asJson)
    std::puts(list.dump(2).c_str());
  else
    std::for_each(list.begin(), list.end(), printVerdicts);
  return kExitOk;
}

} // namespace

int runDevices(const Arguments &arguments) {
  std::string path;
  bool asJson = false;
  Options options("devices [F]",
                  "Lists the Vulkan devices of this machine, or which variant "
                  "of a .llmc file each would run and why.");
  options.positional("F", path, "a .llmc file", false);
  options.flag("json", asJson, "print JSON");
  DeviceOptions cache;
  options.text("cache-dir", "DIR", cache.cacheFolder,
               "where verdicts of self-tests are kept (default "
               "~/.cache/llmc)");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  auto engine = runtime::Engine::create();
  if (!engine.ok())
    return fail(engine.status());
  const std::vector<DeviceFacts> devices = (*engine)->devices();
  if (!path.empty())
    return printChoices(path, devices, asJson, cacheFolderOf(cache));
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < devices.size(); ++i) {
    if (asJson)
      list.push_back(toJson(i, devices[i]));
    else
      print(i, devices[i]);
  }
  if (asJson)
    std::puts(list.dump(2).c_str());
  else if (devices.empty())
    std::puts("Vulkan has no device here.");
  return kExitOk;
}

} // namespace llmc::tool
