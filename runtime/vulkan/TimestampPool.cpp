// SPDX-License-Identifier: Apache-2.0
//
// TimestampPool.h.

#include "runtime/vulkan/TimestampPool.h"

#include "runtime/vulkan/VulkanStatus.h"

namespace llmc::vulkan {

StatusOr<std::unique_ptr<TimestampPool>> TimestampPool::create(Device &device,
                                                               uint32_t count) {
  if (!device.facts().timestampBits)
    return Status(StatusCode::Unsupported,
                  device.facts().name + " has no timestamps");
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = count;
  std::unique_ptr<TimestampPool> pool(new TimestampPool(device, count));
  LLMC_RETURN_IF_ERROR(fromResult(
      device.functions().vkCreateQueryPool(device.handle(), &info,
                                           /*pAllocator=*/nullptr, &pool->pool),
      "creating a pool of " + std::to_string(count) + " timestamps"));
  return pool;
}

TimestampPool::~TimestampPool() {
  if (device.isAbandoned())
    return;
  device.functions().vkDestroyQueryPool(device.handle(), pool,
                                        /*pAllocator=*/nullptr);
}

StatusOr<std::vector<double>> TimestampPool::intervals() const {
  std::vector<uint64_t> ticks(count);
  LLMC_RETURN_IF_ERROR(fromResult(
      device.functions().vkGetQueryPoolResults(
          device.handle(), pool, /*firstQuery=*/0, count,
          ticks.size() * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
      "reading timestamps"));
  // Fewer valid bits than 64 wrap around.
  const uint32_t bits = device.facts().timestampBits;
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  std::vector<double> nanoseconds;
  for (uint32_t i = 1; i < count; ++i)
    nanoseconds.push_back(
        static_cast<double>((ticks[i] - ticks[i - 1]) & mask) *
        device.facts().timestampPeriod);
  return nanoseconds;
}

} // namespace llmc::vulkan
