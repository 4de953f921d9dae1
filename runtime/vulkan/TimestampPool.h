// SPDX-License-Identifier: Apache-2.0
//
// VkQueryPool of timestamps.

#ifndef LLMC_RUNTIME_VULKAN_TIMESTAMPPOOL_H
#define LLMC_RUNTIME_VULKAN_TIMESTAMPPOOL_H

#include "runtime/format/Status.h"
#include "runtime/vulkan/Device.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace llmc::vulkan {

/// Numbered places for times of the device. Written by a command buffer, read
/// by the host when the submission is done. One thread at a time.
class TimestampPool {
public:
  /// Unsupported when the device's queue has no timestamps.
  static StatusOr<std::unique_ptr<TimestampPool>> create(Device &device,
                                                         uint32_t count);
  ~TimestampPool();
  TimestampPool(const TimestampPool &) = delete;
  TimestampPool &operator=(const TimestampPool &) = delete;

  VkQueryPool handle() const { return pool; }
  uint32_t size() const { return count; }
  /// Nanoseconds between each two timestamps that follow one another: size() -
  /// 1 numbers. Waits for timestamps that are not written yet.
  StatusOr<std::vector<double>> intervals() const;

private:
  TimestampPool(Device &device, uint32_t count)
      : device(device), count(count) {}

  Device &device;
  VkQueryPool pool = VK_NULL_HANDLE;
  uint32_t count;
};

} // namespace llmc::vulkan

#endif // LLMC_RUNTIME_VULKAN_TIMESTAMPPOOL_H
