// SPDX-License-Identifier: Apache-2.0
//
// Which device runs which variant, on devices that exist on paper alone.

#include "runtime/vulkan/DeviceChoice.h"

#include <gtest/gtest.h>

namespace llmc::vulkan {
namespace {

using format::TargetInfo;

DeviceFacts adreno() {
  DeviceFacts device;
  device.name = "Adreno (TM) 840";
  device.vendorId = 0x5143;
  device.deviceId = 0x44050000;
  device.type = DeviceType::Integrated;
  device.vulkanMinor = 3;
  device.features = {"f16_storage", "f16_arithmetic", "i8_storage"};
  device.subgroupSize = 64;
  device.maxStorageBufferRange = 1u << 30;
  device.maxWorkgroupInvocations = 1024;
  device.workgroupMemoryBytes = 32768;
  device.computeQueueFamily = 0;
  return device;
}

DeviceFacts software() {
  DeviceFacts device = adreno();
  device.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
  device.vendorId = 0x10005;
  device.deviceId = 0;
  device.type = DeviceType::Cpu;
  device.subgroupSize = 8;
  return device;
}

TargetInfo adrenoTarget() {
  TargetInfo target;
  target.set_name("adreno-840");
  target.set_vendor_id(0x5143);
  target.add_device_name_patterns("adreno (tm) 840");
  target.set_vulkan_minor(3);
  target.add_features("f16_storage");
  target.set_max_workgroup_invocations(1024);
  return target;
}

TargetInfo conservativeTarget() {
  TargetInfo target;
  target.set_name("vulkan-1.1");
  target.set_vulkan_minor(1);
  target.set_max_workgroup_invocations(128);
  target.set_workgroup_memory_bytes(16384);
  return target;
}

TargetList listOf(const std::vector<TargetInfo> &targets) {
  TargetList list;
  for (const TargetInfo &target : targets)
    list.push_back(&target);
  return list;
}

std::string nameOfChoice(const DeviceFacts &device,
                         const std::vector<TargetInfo> &targets,
                         const std::string &name = "") {
  const auto choice = chooseVariant(device, listOf(targets), name);
  return choice.ok() ? targets[choice->variant].name()
                     : "error: " + choice.status().message();
}

TEST(ChooseVariant, takesTheOneMadeForTheDevice) {
  const std::vector<TargetInfo> targets = {conservativeTarget(),
                                           adrenoTarget()};
  EXPECT_EQ(nameOfChoice(adreno(), targets), "adreno-840");
  EXPECT_EQ(nameOfChoice(software(), targets), "vulkan-1.1");
}

TEST(ChooseVariant, keepsTheFilesOrderAmongEquals) {
  TargetInfo second = adrenoTarget();
  second.set_name("adreno");
  second.clear_device_name_patterns();
  EXPECT_EQ(nameOfChoice(adreno(), {second, adrenoTarget()}), "adreno");
  EXPECT_EQ(nameOfChoice(adreno(), {adrenoTarget(), second}), "adreno-840");
}

TEST(ChooseVariant, saysWhyABetterOneWasPassedOver) {
  DeviceFacts old = adreno();
  old.features = {};
  old.vulkanMinor = 1;
  const auto choice =
      chooseVariant(old, listOf({adrenoTarget(), conservativeTarget()}));
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->variant, 1u);
  EXPECT_EQ(choice->reason,
            "vulkan-1.1: runs on any such device; passed over adreno-840: "
            "lacks Vulkan 1.3 (the device has 1.1), feature f16_storage");
}

TEST(ChooseVariant, matchesDeviceIdsAndType) {
  TargetInfo target = conservativeTarget();
  target.add_device_ids(1);
  EXPECT_FALSE(judgeVariant(adreno(), target).isForDevice);
  target.add_device_ids(0x44050000);
  EXPECT_TRUE(judgeVariant(adreno(), target).isForDevice);
  target = conservativeTarget();
  target.set_device_type_cpu(1);
  EXPECT_FALSE(judgeVariant(adreno(), target).isForDevice);
  EXPECT_TRUE(judgeVariant(software(), target).isForDevice);
}

TEST(ChooseVariant, listsEverythingThatIsMissing) {
  DeviceFacts small = adreno();
  small.vulkanMinor = 0;
  small.features = {};
  small.maxStorageBufferRange = 1000;
  small.maxWorkgroupInvocations = 64;
  small.workgroupMemoryBytes = 8192;
  small.computeQueueFamily = -1;
  TargetInfo target = conservativeTarget();
  target.add_features("int_dot");
  target.set_subgroup_size(32);
  target.set_max_storage_buffer_range(1001);
  target.set_max_storage_buffers(9);
  small.maxStorageBuffersPerStage = 4;
  const std::vector<std::string> expected = {
      "Vulkan 1.1 (the device has 1.0)",
      "feature int_dot",
      "subgroup size 32 (the device has 64)",
      "a storage buffer range of 1001 (the device has 1000)",
      "a workgroup of 128 (the device has 64)",
      "workgroup memory of 16384 (the device has 8192)",
      "storage buffers a kernel: a number of 9 (the device has 4)",
      "a compute queue"};
  EXPECT_EQ(judgeVariant(small, target).missing, expected);
  const auto choice = chooseVariant(small, listOf({target}));
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), StatusCode::NoDevice);
}

// ggml-org/llama.cpp#9064, pytorch/executorch PR #10030: a driver without
// 16-bit storage, 8-bit storage or another feature. Each is named, and the file
// for any device runs instead.
TEST(ChooseVariant, namesEachMissingFeatureAndFallsBack_B38) {
  DeviceFacts whole = adreno();
  whole.features = {"f16_storage",        "f16_arithmetic", "i8_storage",
                    "i8_arithmetic",      "i16_arithmetic", "int_dot",
                    "subgroup_arithmetic"};
  TargetInfo target = adrenoTarget();
  target.mutable_features()->Assign(whole.features.begin(),
                                    whole.features.end());
  EXPECT_EQ(nameOfChoice(whole, {target, conservativeTarget()}), "adreno-840");
  for (size_t i = 0; i < whole.features.size(); ++i) {
    DeviceFacts device = whole;
    device.features.erase(device.features.begin() +
                          static_cast<std::ptrdiff_t>(i));
    const auto choice =
        chooseVariant(device, listOf({target, conservativeTarget()}));
    ASSERT_TRUE(choice.ok());
    EXPECT_EQ(choice->reason,
              "vulkan-1.1: runs on any such device; passed over adreno-840: "
              "lacks feature " +
                  whole.features[i]);
    EXPECT_EQ(nameOfChoice(device, {target}),
              "error: Adreno (TM) 840 can't run the file: adreno-840: lacks "
              "feature " +
                  whole.features[i]);
  }
}

TEST(ChooseVariant, saysWhomAVariantIsForAndWhatItNeeds) {
  TargetInfo target = adrenoTarget();
  EXPECT_EQ(describeDevices(target),
            "devices of vendor 0x5143 whose name holds 'adreno (tm) 840'");
  EXPECT_EQ(describeNeeds(target),
            "Vulkan 1.3, feature f16_storage, workgroups of 1024");
  target.set_device_type_cpu(1);
  target.add_device_ids(7);
  target.add_device_ids(9);
  EXPECT_EQ(describeDevices(target),
            "software devices of vendor 0x5143 with id 0x7 or 0x9 whose name "
            "holds 'adreno (tm) 840'");
  EXPECT_EQ(describeDevices(conservativeTarget()), "any device");
}

TEST(ChooseVariant, takesASubgroupSizeThatCanBeRequired) {
  TargetInfo target = conservativeTarget();
  target.set_subgroup_size(32);
  DeviceFacts device = adreno();
  EXPECT_FALSE(judgeVariant(device, target).canRun());
  device.minSubgroupSize = 32;
  device.maxSubgroupSize = 64;
  EXPECT_TRUE(judgeVariant(device, target).canRun());
}

TEST(ChooseVariant, canBeTold) {
  const std::vector<TargetInfo> targets = {adrenoTarget(),
                                           conservativeTarget()};
  EXPECT_EQ(nameOfChoice(adreno(), targets, "vulkan-1.1"), "vulkan-1.1");
  EXPECT_EQ(nameOfChoice(software(), targets, "adreno-840"),
            "error: llvmpipe (LLVM 15.0.6, 256 bits) can't run the file: "
            "adreno-840: made for another device (devices of vendor 0x5143 "
            "whose name holds 'adreno (tm) 840')");
  EXPECT_EQ(nameOfChoice(adreno(), targets, "mali"),
            "error: the file has no variant 'mali'");
}

TEST(ChooseDevice, prefersHardware) {
  const std::vector<TargetInfo> targets = {conservativeTarget()};
  DeviceFacts discrete = adreno();
  discrete.type = DeviceType::Discrete;
  const auto choice =
      chooseDevice({software(), adreno(), discrete}, listOf(targets), {});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->device, 2u);
  EXPECT_EQ(chooseDevice({software(), adreno(), adreno()}, listOf(targets), {})
                ->device,
            1u);
}

TEST(ChooseDevice, passesOverWhatFailedThere) {
  const std::vector<TargetInfo> targets = {adrenoTarget(),
                                           conservativeTarget()};
  const std::string reason = "its self-test failed";
  const auto choice = chooseDevice({adreno(), software()}, listOf(targets), {},
                                   {{0, {{0, reason}}}});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->device, 0u);
  EXPECT_EQ(choice->variant.variant, 1u);
  EXPECT_EQ(choice->variant.reason,
            "vulkan-1.1: runs on any such device; passed over adreno-840: " +
                reason);
  const auto none = chooseDevice({adreno()}, listOf(targets), {},
                                 {{0, {{0, reason}, {1, reason}}}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(),
            "Adreno (TM) 840 can't run the file: adreno-840: " + reason +
                ", vulkan-1.1: " + reason);
}

TEST(ChooseDevice, takesTheOneThatCanRunTheFile) {
  TargetInfo target = conservativeTarget();
  target.set_device_type_cpu(1);
  EXPECT_EQ(chooseDevice({adreno(), software()}, listOf({target}), {})->device,
            1u);
}

TEST(ChooseDevice, obeysThePreference) {
  const std::vector<TargetInfo> targets = {conservativeTarget()};
  DevicePreference preference;
  preference.namePart = "LLVMpipe";
  EXPECT_EQ(
      chooseDevice({adreno(), software()}, listOf(targets), preference)->device,
      1u);
  preference = {};
  preference.index = 1;
  EXPECT_EQ(
      chooseDevice({adreno(), software()}, listOf(targets), preference)->device,
      1u);
  preference.index = 2;
  const auto none =
      chooseDevice({adreno(), software()}, listOf(targets), preference);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().message().find("0: Adreno (TM) 840, 1: llvmpipe"),
            std::string::npos)
      << none.status().message();
}

TEST(ChooseDevice, refusesAMachineWithoutDevices) {
  const auto none = chooseDevice({}, listOf({conservativeTarget()}), {});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::NoDevice);
}

} // namespace
} // namespace llmc::vulkan
