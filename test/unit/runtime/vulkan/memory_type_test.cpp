// SPDX-License-Identifier: Apache-2.0
//
// The memory type of each kind of buffer on the memory of typical devices.

#include "runtime/vulkan/Buffer.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

namespace llmc::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kDevice = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kHost =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkDeviceSize kGiB = VkDeviceSize{1} << 30;

VkPhysicalDeviceMemoryProperties
memoryOf(std::initializer_list<VkMemoryHeap> heaps,
         std::initializer_list<VkMemoryType> types) {
  VkPhysicalDeviceMemoryProperties memory{};
  for (const VkMemoryHeap &heap : heaps)
    memory.memoryHeaps[memory.memoryHeapCount++] = heap;
  for (const VkMemoryType &type : types)
    memory.memoryTypes[memory.memoryTypeCount++] = type;
  return memory;
}

/// A card whose host window is 256 MiB of its 8 GiB.
VkPhysicalDeviceMemoryProperties cardWithSmallWindow() {
  return memoryOf(
      {{8 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT},
       {16 * kGiB, 0},
       {kGiB / 4, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
      {{kDevice, 0}, {kHost, 1}, {kHost | kCached, 1}, {kDevice | kHost, 2}});
}

/// A phone: one heap for all.
VkPhysicalDeviceMemoryProperties unifiedMemory() {
  return memoryOf(
      {{4 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
      {{kDevice, 0}, {kDevice | kHost, 0}, {kDevice | kHost | kCached, 0}});
}

TEST(ChooseMemoryType, stagesWeightsWhereTheWindowIsSmall) {
  const auto memory = cardWithSmallWindow();
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::DeviceFilled), 0);
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::Device), 0);
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::HostWrites), 3);
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::HostReads), 2);
}

TEST(ChooseMemoryType, fillsWeightsInPlaceOnUnifiedMemory) {
  const auto memory = unifiedMemory();
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::DeviceFilled), 1);
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::HostReads), 2);
}

TEST(ChooseMemoryType, obeysTheAllowedTypes) {
  const auto memory = unifiedMemory();
  EXPECT_EQ(chooseMemoryType(memory, 1u << 2, BufferAccess::Device), 2);
  EXPECT_EQ(chooseMemoryType(memory, 1u << 0, BufferAccess::HostWrites), -1);
  EXPECT_EQ(chooseMemoryType(memory, 0, BufferAccess::Device), -1);
}

TEST(ChooseMemoryType, leavesProtectedMemoryAlone) {
  const auto memory =
      memoryOf({{kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
               {{kDevice | VK_MEMORY_PROPERTY_PROTECTED_BIT, 0}, {kDevice, 0}});
  EXPECT_EQ(chooseMemoryType(memory, ~0u, BufferAccess::Device), 1);
}

} // namespace
} // namespace llmc::vulkan
