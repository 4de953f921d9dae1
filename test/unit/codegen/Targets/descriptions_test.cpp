// SPDX-License-Identifier: Apache-2.0
//
// Every shipped description parses, converts, and agrees with what the device's
// open driver reports (test/data/targets).

#include "codegen/Targets/Targets.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <map>

namespace llmc::targets {
namespace {

using description::Target;
using ReportField = std::pair<std::string, std::string>;

// Where a description deliberately promises less than the open driver reports,
// since the vendor's may offer less.
const std::map<ReportField, const char *> kSafer = {
    {{"adreno-840", "minStorageBufferOffsetAlignment"}, "vendor: 64 or more"},
    {{"adreno-840", "maxMemoryAllocationSize"}, "vendor unknown"},
    {{"adreno-840", "maxPushConstantsSize"}, "vendor unknown"},
    {{"mali-g76", "minStorageBufferOffsetAlignment"}, "vendor unknown"},
    {{"mali-g76", "maxMemoryAllocationSize"}, "vendor unknown"},
    {{"mali-g76", "maxPushConstantsSize"}, "vendor unknown"},
    {{"mali-g610", "minStorageBufferOffsetAlignment"}, "vendor unknown"},
    {{"mali-g610", "maxMemoryAllocationSize"}, "vendor unknown"},
    {{"mali-g610", "maxPushConstantsSize"}, "vendor unknown"},
    {{"mali-g610", "maxComputeWorkGroupInvocations"}, "vendor: 512"},
    {{"mali-g610", "maxComputeWorkGroupSize"}, "vendor: 512"},
};

// Features that the vendor's driver is known to have where the open one lacks
// them.
const std::map<ReportField, const char *> kVendorOnly = {
    {{"mali-g76", "shaderFloat16"}, "Arm's driver has it, panvk does not"},
};

Target loadShipped(llvm::StringRef name) {
  llvm::Expected<Target> description = loadTarget(name);
  if (description)
    return *description;
  ADD_FAILURE() << llvm::toString(description.takeError());
  return {};
}

class Report : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string path =
        std::string(LLMC_TEST_DATA_DIR "/targets/") + GetParam() + ".json";
    auto buffer = llvm::MemoryBuffer::getFile(path);
    ASSERT_TRUE(buffer) << path;
    llvm::Expected<llvm::json::Value> parsed =
        llvm::json::parse((*buffer)->getBuffer());
    ASSERT_TRUE(bool(parsed));
    report = *parsed->getAsObject();
    description = loadShipped(GetParam());
  }

  /// A limit: equal to the report's, or safer where kSafer says so.
  void expectLimit(const std::string &key, uint64_t value, uint64_t reported,
                   bool isMinimum = false) {
    SCOPED_TRACE(key);
    if (!kSafer.count({GetParam(), key}))
      EXPECT_EQ(value, reported);
    else if (isMinimum)
      EXPECT_GT(value, reported);
    else
      EXPECT_LT(value, reported);
  }

  uint64_t reportedNumber(llvm::StringRef key) {
    return static_cast<uint64_t>(report.getInteger(key).value_or(-1));
  }

  template <typename Values>
  void expectTriple(const std::string &key, const Values &values) {
    const llvm::json::Array *reported = report.getArray(key);
    ASSERT_TRUE(reported && reported->size() == 3 && values.size() == 3);
    for (int i = 0; i < 3; ++i)
      expectLimit(key, values[i],
                  static_cast<uint64_t>(*(*reported)[i].getAsInteger()));
  }

  void expectFeature(const std::string &key, bool isDescribed) {
    SCOPED_TRACE(key);
    if (isDescribed)
      EXPECT_NE(report.getBoolean(key).value_or(false),
                kVendorOnly.count({GetParam(), key}) == 1);
  }

  bool reportsSubgroupOperation(llvm::StringRef name) {
    const llvm::json::Array &operations =
        *report.getArray("subgroupOperations");
    return llvm::is_contained(operations, llvm::json::Value(name));
  }

  llvm::json::Object report;
  Target description;
};

TEST_P(Report, LimitsAgree) {
  const auto &workgroup = description.workgroup();
  const auto &memory = description.memory();
  EXPECT_EQ(description.subgroup().size(), reportedNumber("subgroupSize"));
  expectLimit("maxComputeWorkGroupInvocations", workgroup.max_invocations(),
              reportedNumber("maxComputeWorkGroupInvocations"));
  expectTriple("maxComputeWorkGroupSize", workgroup.max_size());
  expectTriple("maxComputeWorkGroupCount", workgroup.max_count());
  expectLimit("maxComputeSharedMemorySize", workgroup.memory_bytes(),
              reportedNumber("maxComputeSharedMemorySize"));
  expectLimit("minStorageBufferOffsetAlignment", memory.buffer_alignment(),
              reportedNumber("minStorageBufferOffsetAlignment"),
              /*isMinimum=*/true);
  expectLimit("maxStorageBufferRange", memory.max_buffer_range(),
              reportedNumber("maxStorageBufferRange"));
  expectLimit("maxMemoryAllocationSize", memory.max_allocation_bytes(),
              reportedNumber("maxMemoryAllocationSize"));
  expectLimit("maxPushConstantsSize", memory.max_push_constant_bytes(),
              reportedNumber("maxPushConstantsSize"));
  if (memory.has_max_storage_buffers())
    expectLimit("maxPerStageDescriptorStorageBuffers",
                memory.max_storage_buffers(),
                reportedNumber("maxPerStageDescriptorStorageBuffers"));
}

TEST_P(Report, FeaturesAreReported) {
  const auto &features = description.features();
  expectFeature("storageBuffer16BitAccess", features.f16_storage());
  expectFeature("shaderFloat16", features.f16_arithmetic());
  expectFeature("storageBuffer8BitAccess", features.i8_storage());
  expectFeature("shaderInt8", features.i8_arithmetic());
  expectFeature("shaderInt16", features.i16_arithmetic());
  expectFeature("shaderIntegerDotProduct", features.int_dot());
  if (features.subgroup_arithmetic())
    EXPECT_TRUE(reportsSubgroupOperation("arithmetic"));
  if (features.subgroup_shuffle())
    EXPECT_TRUE(reportsSubgroupOperation("shuffle"));
}

TEST_P(Report, DeviceIsMatched) {
  const auto &match = description.match();
  if (match.has_vendor_id())
    EXPECT_EQ(match.vendor_id(), reportedNumber("vendorID"));
  std::string name = report.getString("deviceName")->lower();
  ASSERT_EQ(match.name_contains_size(), 1);
  EXPECT_NE(name.find(match.name_contains(0)), std::string::npos) << name;
}

INSTANTIATE_TEST_SUITE_P(Devices, Report,
                         testing::Values("lavapipe", "adreno-840", "mali-g76",
                                         "mali-g610", "nvidia-h200"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Descriptions, AllParseAndConvert) {
  std::vector<llvm::StringRef> names = getTargetNames();
  for (const char *name : {"adreno-840", "lavapipe", "mali-g610", "mali-g76",
                           "nvidia-h200", "vulkan-1.1"})
    EXPECT_TRUE(llvm::is_contained(names, name)) << name;
  mlir::MLIRContext context;
  for (llvm::StringRef name : names) {
    SCOPED_TRACE(name.str());
    Target description = loadShipped(name);
    EXPECT_EQ(description.name(), name);
    EXPECT_EQ(toDeviceAttr(description, &context).getName(), name);
    EXPECT_EQ(toTargetInfo(description).name(), name);
  }
}

// The numbers are the "Required Limits" of the Vulkan 1.1 specification.
TEST(Descriptions, Vulkan11IsWhatEveryDeviceOffers) {
  Target description = loadShipped("vulkan-1.1");
  const auto &workgroup = description.workgroup();
  EXPECT_EQ(workgroup.max_invocations(), 128u);
  EXPECT_EQ(std::vector<uint32_t>(workgroup.max_size().begin(),
                                  workgroup.max_size().end()),
            (std::vector<uint32_t>{128, 128, 64}));
  EXPECT_EQ(workgroup.memory_bytes(), 16384u);
  EXPECT_EQ(description.memory().max_buffer_range(), 134217728u);
  EXPECT_EQ(description.memory().max_allocation_bytes(), 1073741824u);
  EXPECT_EQ(description.memory().max_push_constant_bytes(), 128u);
  EXPECT_EQ(description.memory().buffer_alignment(), 256u);
  mlir::MLIRContext context;
  EXPECT_TRUE(toDeviceAttr(description, &context).getFeatures().empty());
  EXPECT_FALSE(description.has_match());
}

// Measured with the drivers' compilers: full occupancy up to 16 vec4 registers
// on Adreno, up to 32 on Mali; the most registers are 48 vec4 and 64.
TEST(Descriptions, RegistersAreThoseMeasured) {
  mlir::MLIRContext context;
  auto expectRegisters = [&](llvm::StringRef name, int64_t full, int64_t most) {
    target::DeviceAttr device = toDeviceAttr(loadShipped(name), &context);
    EXPECT_EQ(device.getRegistersFullOccupancy(), full) << name.str();
    EXPECT_EQ(device.getRegistersMax(), most) << name.str();
  };
  expectRegisters("adreno-840", 64, 192);
  expectRegisters("mali-g76", 32, 64);
  expectRegisters("mali-g610", 32, 64);
}

} // namespace
} // namespace llmc::targets
