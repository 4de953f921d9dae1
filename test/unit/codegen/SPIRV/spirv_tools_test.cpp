// SPDX-License-Identifier: Apache-2.0
//
// What is not valid is refused, before the optimizer's passes see it.

#include "codegen/SPIRV/SpirvTools.h"

#include "spirv-tools/libspirv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace llmc::codegen {
namespace {

std::vector<uint32_t> assemble(const std::string &body) {
  std::vector<uint32_t> words;
  EXPECT_TRUE(spvtools::SpirvTools(SPV_ENV_VULKAN_1_1)
                  .Assemble(R"(
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main"
               OpExecutionMode %main LocalSize 8 1 1
       %void = OpTypeVoid
   %function = OpTypeFunction %void
       %uint = OpTypeInt 32 0
      %three = OpConstant %uint 3
       %four = OpConstant %uint 4
       %main = OpFunction %void None %function
      %entry = OpLabel
)" + body + "OpReturn\nOpFunctionEnd\n",
                            &words));
  return words;
}

TEST(SpirvTools, WhatIsNotUsedGoes) {
  const std::vector<uint32_t> sum =
      assemble("%sum = OpIAdd %uint %three %four\n");
  std::string error;
  const auto optimized = optimizeAndValidate(sum, 1, error);
  ASSERT_TRUE(optimized) << error;
  EXPECT_THAT(disassemble(sum), testing::HasSubstr("OpIAdd"));
  EXPECT_THAT(disassemble(*optimized),
              testing::Not(testing::HasSubstr("OpIAdd")));
}

TEST(SpirvTools, AnInvalidModuleIsRefused) {
  std::string error;
  EXPECT_FALSE(optimizeAndValidate(
      assemble("%sum = OpFAdd %uint %three %four\n"), 1, error));
  EXPECT_THAT(error, testing::HasSubstr("floating"));
}

} // namespace
} // namespace llmc::codegen
