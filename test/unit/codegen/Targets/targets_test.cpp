// SPDX-License-Identifier: Apache-2.0
//
// Parsing, rules and conversion of device descriptions, on a description made
// for the test.

#include "codegen/Targets/DescriptionChecker.h"
#include "codegen/Targets/Targets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <fstream>

namespace llmc::targets {
namespace {

using description::Target;

// Line numbers matter to the tests below.
const char *const kText = R"(name: "imaginary-1"
summary: "a device of the tests"
family: VALHALL
match { vendor_id: 0x1234 device_ids: [7, 9] name_contains: "imaginary" }
versions { vulkan_minor: 2 spirv_minor: 5 }
subgroup { size: 16 }
workgroup {
  max_invocations: 256
  max_size: [256, 128, 64]
  max_count: [65535, 65536, 65537]
  memory_bytes: 20000
  memory_on_chip: true
}
registers {
  steps { registers: 24 occupancy_percent: 100 }
  steps { registers: 48 occupancy_percent: 50 }
  steps { registers: 96 occupancy_percent: 25 }
}
memory {
  buffer_alignment: 64
  max_buffer_range: 200000000
  max_allocation_bytes: 3000000000
  max_push_constant_bytes: 200
}
features { f16_storage: true i8_storage: false int_dot: true }
performance { compute_units: 3 }
plan {
  row_buckets: [1, 4]
  kv_type: F16
  max_unroll: 16
  max_submit_milliseconds: 70 decode_steps_per_submit: 3
}
quirks { name: "clamp_tanh" source: "the tests" }
)";

std::string errorsOf(llvm::StringRef text) {
  llvm::Expected<Target> description = parseTarget(text, "x.textproto");
  return description ? "" : llvm::toString(description.takeError());
}

/// The errors after one replacement in the good text.
std::string errorsWith(llvm::StringRef from, llvm::StringRef to) {
  std::string text = kText;
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return errorsOf(text.replace(at, from.size(), to.str()));
}

TEST(ParseTarget, GoodText) { EXPECT_EQ(errorsOf(kText), ""); }

TEST(ParseTarget, UnknownField) {
  EXPECT_EQ(errorsWith("memory_bytes: 20000", "memory_size: 20000"),
            "x.textproto:11:14: error: Message type "
            "\"llmc.description.Workgroup\" has no field named "
            "\"memory_size\".");
}

TEST(ParseTarget, UnknownEnumValue) {
  EXPECT_EQ(errorsWith("VALHALL", "VOLKSHALLE"),
            "x.textproto:3:9: error: Unknown enumeration value of "
            "\"VOLKSHALLE\" for field \"family\".");
}

TEST(ParseTarget, BadSyntax) {
  EXPECT_EQ(errorsWith("subgroup { size: 16 }", "subgroup { size 16 }"),
            "x.textproto:6:17: error: Expected \":\", found \"16\".");
}

TEST(ParseTarget, NumberOutOfItsType) {
  EXPECT_EQ(errorsWith("spirv_minor: 5", "spirv_minor: -5"),
            "x.textproto:5:41: error: Expected integer, got: -");
}

TEST(ParseTarget, EmptyTextLacksEveryRequiredField) {
  std::string errors = errorsOf("");
  for (const char *field : {"name",
                            "summary",
                            "family",
                            "versions.vulkan_minor",
                            "versions.spirv_minor",
                            "subgroup.size",
                            "workgroup.max_invocations",
                            "workgroup.max_size",
                            "workgroup.max_count",
                            "workgroup.memory_bytes",
                            "workgroup.memory_on_chip",
                            "registers.steps",
                            "memory.buffer_alignment",
                            "memory.max_buffer_range",
                            "memory.max_allocation_bytes",
                            "memory.max_push_constant_bytes",
                            "performance.compute_units",
                            "plan.row_buckets",
                            "plan.kv_type",
                            "plan.max_unroll"})
    EXPECT_NE(errors.find("x.textproto:1:1: error: " + std::string(field) +
                          " is required"),
              std::string::npos)
        << field;
  EXPECT_EQ(llvm::count(errors, '\n') + 1, 20);
}

TEST(ParseTarget, MissingFieldIsPlacedAtItsMessage) {
  EXPECT_EQ(errorsWith("max_unroll: 16", ""),
            "x.textproto:27:1: error: plan.max_unroll is required");
}

TEST(ParseTarget, WrongValuesArePlaced) {
  struct {
    const char *from, *to, *error;
  } cases[] = {
      {"\"imaginary-1\"", "\"Imaginary 1\"",
       "1:1: error: name is 'Imaginary 1'; allowed: lower case letters, "
       "digits, '-', '.'"},
      {"name_contains: \"imaginary\"",
       "name_contains: [\"imaginary\", \"Imag\"]",
       "4:46: error: match.name_contains is 'Imag'; it must be text in lower "
       "case"},
      {"vulkan_minor: 2", "vulkan_minor: 0",
       "5:12: error: versions.vulkan_minor is 0; allowed: from 1 to 4"},
      {"spirv_minor: 5", "spirv_minor: 9",
       "5:28: error: versions.spirv_minor is 9; allowed: from 3 to 6"},
      {"size: 16", "size: 12",
       "6:12: error: subgroup.size is 12; allowed: powers of two"},
      {"max_invocations: 256", "max_invocations: 64",
       "8:3: error: workgroup.max_invocations is 64; allowed: at least 128"},
      {"[256, 128, 64]", "[256, 128]",
       "9:3: error: workgroup.max_size has 2 value(s); 3 are needed: x, y, z"},
      {"[256, 128, 64]", "[256, 32, 64]",
       "9:3: error: workgroup.max_size is 32; allowed: at least 64"},
      {"memory_bytes: 20000", "memory_bytes: 8192",
       "11:3: error: workgroup.memory_bytes is 8192; allowed: at least 16384"},
      {"registers: 48", "registers: 20",
       "16:3: error: registers.steps must have more registers and less "
       "occupancy than the step before"},
      {"registers: 96 ", "", "17:3: error: registers.steps needs registers"},
      {"occupancy_percent: 100", "occupancy_percent: 101",
       "15:3: error: registers.steps needs occupancy_percent from 1 to 100"},
      {"buffer_alignment: 64", "buffer_alignment: 48",
       "20:3: error: memory.buffer_alignment is 48; allowed: powers of two"},
      {"max_buffer_range: 200000000", "max_buffer_range: 1000",
       "21:3: error: memory.max_buffer_range is 1000; allowed: from 134217728 "
       "to 4294967295"},
      {"f16_storage: true ", "",
       "29:3: error: plan.kv_type is F16, which needs features.f16_storage"},
      {"max_unroll: 16", "max_unroll: 16 activations: I8",
       "30:18: error: plan.activations is I8, allowed are F32 and F16"},
      {"max_unroll: 16", "max_unroll: 16 prefill_activations: F16",
       "30:18: error: plan.prefill_activations is F16, which needs "
       "features.f16_arithmetic and a features.cooperative_matrices of f16 "
       "with m, n and k 16"},
      {"int_dot: true",
       "cooperative_matrices { element_type: \"f64\" m: 1 n: 1 k: 1 }",
       "25:48: error: features.cooperative_matrices has element_type 'f64'; "
       "allowed: f16, i8"},
      {"per_submit: 3", "per_submit: 17",
       "31:31: error: plan.decode_steps_per_submit is 17; allowed: from 1 to "
       "16"},
      {"[1, 4]", "[4, 8]",
       "28:3: error: plan.row_buckets must begin with 1, for decode"},
      {"[1, 4]", "[1, 4, 4]", "28:3: error: plan.row_buckets must rise"},
      {"compute_units: 3", "compute_units: 0",
       "26:15: error: performance.compute_units is 0; allowed: at least 1"},
      {" source: \"the tests\"", "", "33:1: error: quirks needs a source"},
  };
  for (const auto &test : cases) {
    SCOPED_TRACE(std::string(test.from) + " -> " + test.to);
    std::string errors = errorsWith(test.from, test.to);
    EXPECT_NE(errors.find(std::string("x.textproto:") + test.error),
              std::string::npos)
        << errors;
  }
}

TEST(ParseTarget, UnknownQuirkListsTheKnown) {
  std::string errors = errorsWith("clamp_tanh", "is_blue");
  EXPECT_NE(
      errors.find(
          "33:1: error: quirks has name 'is_blue'; allowed: clamp_tanh, "),
      std::string::npos)
      << errors;
}

TEST(LoadTarget, UnknownNameListsTheNames) {
  llvm::Expected<Target> description = loadTarget("imaginary-1");
  ASSERT_FALSE(bool(description));
  std::string error = llvm::toString(description.takeError());
  EXPECT_NE(error.find("there is no target 'imaginary-1'; the targets are: "
                       "adreno-840, lavapipe, "),
            std::string::npos)
      << error;
}

TEST(LoadTarget, MissingFile) {
  llvm::Expected<Target> description = loadTarget("no/such/file.textproto");
  ASSERT_FALSE(bool(description));
  std::string error = llvm::toString(description.takeError());
  EXPECT_NE(
      error.find(
          "cannot read the device description 'no/such/file.textproto': "),
      std::string::npos)
      << error;
}

TEST(LoadTarget, FromAFile) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("imaginary", "textproto", path));
  std::ofstream(path.c_str()) << kText;
  llvm::Expected<Target> description = loadTarget(path);
  llvm::sys::fs::remove(path);
  ASSERT_TRUE(bool(description)) << llvm::toString(description.takeError());
  EXPECT_EQ(description->name(), "imaginary-1");
}

TEST(ToDeviceAttr, HoldsTheFacts) {
  llvm::Expected<Target> description = parseTarget(kText, "x.textproto");
  ASSERT_TRUE(bool(description));
  mlir::MLIRContext context;
  target::DeviceAttr device = toDeviceAttr(*description, &context);
  EXPECT_EQ(device.getName(), "imaginary-1");
  EXPECT_EQ(device.getFamily(), target::Family::Valhall);
  EXPECT_EQ(device.getSubgroupSize(), 16);
  EXPECT_EQ(device.getMaxInvocations(), 256);
  EXPECT_EQ(device.getMaxWorkgroupSize(), (ArrayRef<int64_t>{256, 128, 64}));
  EXPECT_EQ(device.getMaxWorkgroupCount(),
            (ArrayRef<int64_t>{65535, 65536, 65537}));
  EXPECT_EQ(device.getWorkgroupMemoryBytes(), 20000);
  EXPECT_TRUE(device.getWorkgroupMemoryOnChip());
  EXPECT_EQ(device.getRegistersFullOccupancy(), 24);
  EXPECT_EQ(device.getRegistersMax(), 96);
  EXPECT_EQ(device.getComputeUnits(), 3);
  EXPECT_EQ(device.getBufferAlignment(), 64);
  EXPECT_EQ(device.getMaxBufferRange(), 200000000);
  EXPECT_EQ(device.getMaxAllocation(), 3000000000);
  EXPECT_EQ(device.getMaxPushConstantBytes(), 200);
  EXPECT_EQ(device.getSpirvMinor(), 5);
  EXPECT_EQ(device.getVulkanMinor(), 2);
  EXPECT_EQ(device.getMaxUnroll(), 16);
  EXPECT_EQ(device.getRowBuckets(), (ArrayRef<int64_t>{1, 4}));
  EXPECT_EQ(device.getKvType(), "f16");
  EXPECT_TRUE(device.hasFeature("f16_storage"));
  EXPECT_TRUE(device.hasFeature("int_dot"));
  EXPECT_FALSE(device.hasFeature("i8_storage"));
  EXPECT_EQ(device.getFeatures().size(), 2u);
  EXPECT_TRUE(device.hasQuirk("clamp_tanh"));
  EXPECT_EQ(device.getPrefillActivations(), "f32");
  EXPECT_EQ(device.getActivations(), "f32");
  EXPECT_EQ(device.getMaxUniformRange(), 0);
  EXPECT_EQ(device.getQuirks().size(), 1u);
}

TEST(ToDeviceAttr, TypesOfThePlan) {
  std::string text = kText;
  text.replace(text.find("kv_type: F16"), 12,
               "kv_type: I8 prefill_activations: I8 activations: F16");
  llvm::Expected<Target> description = parseTarget(text, "x.textproto");
  ASSERT_TRUE(bool(description));
  mlir::MLIRContext context;
  target::DeviceAttr device = toDeviceAttr(*description, &context);
  EXPECT_EQ(device.getKvType(), "i8");
  EXPECT_EQ(device.getPrefillActivations(), "i8");
  EXPECT_EQ(device.getActivations(), "f16");
}

TEST(ToDeviceAttr, MatricesOfTheShapeThatKernelsUseAreAFeature) {
  auto featuresWith = [](const std::string &matrix) {
    std::string text = kText;
    text.replace(text.find("int_dot: true"), 13,
                 "f16_arithmetic: true cooperative_matrices { " + matrix +
                     " }");
    llvm::Expected<Target> description = parseTarget(text, "x.textproto");
    EXPECT_TRUE(bool(description));
    mlir::MLIRContext context;
    return toDeviceAttr(*description, &context).hasFeature("f16_matrix");
  };
  EXPECT_TRUE(featuresWith("element_type: \"f16\" m: 16 n: 16 k: 16"));
  EXPECT_FALSE(featuresWith("element_type: \"f16\" m: 16 n: 8 k: 16"));
  EXPECT_FALSE(featuresWith("element_type: \"i8\" m: 16 n: 16 k: 16"));
}

TEST(ToTargetInfo, HoldsWhatADeviceMustMatch) {
  llvm::Expected<Target> description = parseTarget(kText, "x.textproto");
  ASSERT_TRUE(bool(description));
  format::TargetInfo info = toTargetInfo(*description);
  EXPECT_EQ(info.name(), "imaginary-1");
  EXPECT_EQ(info.vendor_id(), 0x1234u);
  EXPECT_EQ(
      std::vector<uint32_t>(info.device_ids().begin(), info.device_ids().end()),
      (std::vector<uint32_t>{7, 9}));
  ASSERT_EQ(info.device_name_patterns_size(), 1);
  EXPECT_EQ(info.device_name_patterns(0), "imaginary");
  EXPECT_EQ(info.vulkan_minor(), 2u);
  EXPECT_EQ(info.subgroup_size(), 16u);
  EXPECT_EQ(
      std::vector<std::string>(info.features().begin(), info.features().end()),
      (std::vector<std::string>{"f16_storage", "int_dot"}));
  EXPECT_EQ(info.max_submit_milliseconds(), 70u);
  EXPECT_EQ(info.decode_steps_per_submit(), 3u);
  EXPECT_EQ(info.device_type_cpu(), 0u);
}

TEST(ToTargetInfo, SubgroupSizeOfOneMeansAny) {
  std::string text = kText;
  text.replace(text.find("size: 16"), 8, "size: 1");
  llvm::Expected<Target> description = parseTarget(text, "x.textproto");
  ASSERT_TRUE(bool(description));
  EXPECT_EQ(toTargetInfo(*description).subgroup_size(), 0u);
}

} // namespace
} // namespace llmc::targets
