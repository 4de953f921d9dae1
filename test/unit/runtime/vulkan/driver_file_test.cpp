// SPDX-License-Identifier: Apache-2.0
//
// A cache file is used only when all of it is right.

#include "runtime/vulkan/DriverFile.h"

#include <gtest/gtest.h>

namespace llmc::vulkan {
namespace {

using Bytes = std::vector<uint8_t>;

DeviceFacts someDevice() {
  DeviceFacts device;
  device.vendorId = 1;
  device.deviceId = 2;
  device.driverVersion = 3;
  device.pipelineCacheUuid[0] = 4;
  device.deviceUuid[1] = 5;
  device.driverUuid[2] = 6;
  return device;
}

const Bytes kBlob = {9, 8, 7, 6, 5};
constexpr uint64_t kContent = 0x1234567890;

TEST(PipelineCacheFile, comesBack) {
  const Bytes file = encodeDriverFile(someDevice(), kContent, kBlob);
  EXPECT_EQ(decodeDriverFile(someDevice(), kContent, file), kBlob);
}

TEST(PipelineCacheFile, isDroppedWhenAnyByteIsWrong) {
  for (size_t i = 0; i < 80; ++i) {
    Bytes file = encodeDriverFile(someDevice(), kContent, kBlob);
    if (i >= file.size())
      break;
    file[i] ^= 1;
    EXPECT_TRUE(decodeDriverFile(someDevice(), kContent, file).empty()) << i;
  }
  Bytes file = encodeDriverFile(someDevice(), kContent, kBlob);
  file.back() ^= 1;
  EXPECT_TRUE(decodeDriverFile(someDevice(), kContent, file).empty());
}

TEST(PipelineCacheFile, isDroppedAtEveryOtherLength) {
  const Bytes whole = encodeDriverFile(someDevice(), kContent, kBlob);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(decodeDriverFile(someDevice(), kContent,
                                 Bytes(whole.begin(), whole.begin() + size))
                    .empty());
  Bytes longer = whole;
  longer.push_back(0);
  EXPECT_TRUE(decodeDriverFile(someDevice(), kContent, longer).empty());
  EXPECT_TRUE(
      decodeDriverFile(someDevice(), kContent, Bytes(1 << 20, 0x6b)).empty());
}

TEST(PipelineCacheFile, isDroppedForAnotherDriverDeviceOrContent) {
  const Bytes file = encodeDriverFile(someDevice(), kContent, kBlob);
  EXPECT_TRUE(decodeDriverFile(someDevice(), kContent + 1, file).empty());
  for (int i = 0; i < 6; ++i) {
    DeviceFacts other = someDevice();
    (i == 0   ? other.vendorId
     : i == 1 ? other.deviceId
              : other.driverVersion) += i < 3;
    other.pipelineCacheUuid[15] += i == 3;
    other.deviceUuid[15] += i == 4;
    other.driverUuid[15] += i == 5;
    EXPECT_TRUE(decodeDriverFile(other, kContent, file).empty()) << i;
  }
}

} // namespace
} // namespace llmc::vulkan
