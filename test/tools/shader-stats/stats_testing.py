# SPDX-License-Identifier: Apache-2.0
"""What the tests of tools/shader-stats share: its modules, and SPIR-V made from text."""

import os
import subprocess
import sys

SOURCE_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
TOOL = os.path.join(SOURCE_ROOT, "tools", "shader-stats")
sys.path.insert(0, TOOL)


def assemble(text):
    """The words of a module that is written as spirv-as reads it."""
    done = subprocess.run(["spirv-as", "--target-env", "spv1.3", "-o", "-", "-"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout


# A linear with weights of 32 bits: an outer loop over groups, 8 of them a lane; an inner one that runs 4 times, with one load of weights (16
# bytes, binding 1), two of activations (binding 0) and 4 multiply-adds each; one load of a scale (4 bytes, binding 2) in the outer loop.
NESTED_LOOPS = """
OpCapability Shader
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %id BuiltIn LocalInvocationId
OpDecorate %result Binding 3
OpDecorate %result DescriptorSet 0
OpDecorate %float_vectors ArrayStride 16
OpDecorate %float_block Block
OpMemberDecorate %float_block 0 Offset 0
OpDecorate %inner_bound SpecId 0
OpDecorate %outer_bound SpecId 1
OpDecorate %codes Binding 1
OpDecorate %codes DescriptorSet 0
OpDecorate %x Binding 0
OpDecorate %x DescriptorSet 0
OpDecorate %scales Binding 2
OpDecorate %scales DescriptorSet 0
OpDecorate %vectors ArrayStride 16
OpDecorate %numbers ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %scalar_block Block
OpMemberDecorate %scalar_block 0 Offset 0
%void = OpTypeVoid
%function = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%uint3 = OpTypeVector %uint 3
%uint4 = OpTypeVector %uint 4
%float = OpTypeFloat 32
%float4 = OpTypeVector %float 4
%vectors = OpTypeRuntimeArray %uint4
%float_vectors = OpTypeRuntimeArray %float4
%float_block = OpTypeStruct %float_vectors
%float_block_pointer = OpTypePointer StorageBuffer %float_block
%float_pointer = OpTypePointer StorageBuffer %float4
%numbers = OpTypeRuntimeArray %uint
%block = OpTypeStruct %vectors
%scalar_block = OpTypeStruct %numbers
%block_pointer = OpTypePointer StorageBuffer %block
%scalar_pointer = OpTypePointer StorageBuffer %scalar_block
%vector_pointer = OpTypePointer StorageBuffer %uint4
%number_pointer = OpTypePointer StorageBuffer %uint
%input_pointer = OpTypePointer Input %uint3
%id = OpVariable %input_pointer Input
%codes = OpVariable %block_pointer StorageBuffer
%x = OpVariable %block_pointer StorageBuffer
%scales = OpVariable %scalar_pointer StorageBuffer
%result = OpVariable %float_block_pointer StorageBuffer
%float_zero = OpConstant %float 0
%no_sum = OpConstantComposite %float4 %float_zero %float_zero %float_zero %float_zero
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%inner_bound = OpSpecConstant %uint 8
%outer_bound = OpSpecConstant %uint 64
%lanes = OpConstant %uint 8
%main = OpFunction %void None %function
%entry = OpLabel
%ids = OpLoad %uint3 %id
%lane = OpCompositeExtract %uint %ids 0
OpBranch %outer
%outer = OpLabel
%group = OpPhi %uint %lane %entry %next_group %outer_end
%total = OpPhi %float4 %no_sum %entry %next_total %outer_end
%more_groups = OpULessThan %bool %group %outer_bound
OpLoopMerge %exit %outer_end DontUnroll
OpBranchConditional %more_groups %outer_body %exit
%outer_body = OpLabel
%scale_place = OpAccessChain %number_pointer %scales %zero %group
%scale = OpLoad %uint %scale_place
OpBranch %inner
%inner = OpLabel
%k = OpPhi %uint %zero %outer_body %next_k %inner_body
%sum = OpPhi %float4 %no_sum %outer_body %next_sum %inner_body
%more_k = OpULessThan %bool %k %inner_bound
OpLoopMerge %group_end %inner_body DontUnroll
OpBranchConditional %more_k %inner_body %group_end
%inner_body = OpLabel
%place = OpIAdd %uint %group %k
%code_place = OpAccessChain %vector_pointer %codes %zero %place
%code = OpLoad %uint4 %code_place
%x_place = OpAccessChain %vector_pointer %x %zero %place
%x0 = OpLoad %uint4 %x_place
%next_place = OpIAdd %uint %place %one
%next_x_place = OpAccessChain %vector_pointer %x %zero %next_place
%x1 = OpLoad %uint4 %next_x_place
%both = OpBitwiseXor %uint4 %x0 %x1
%code_float = OpBitcast %float4 %code
%x_float = OpBitcast %float4 %both
%next_sum = OpExtInst %float4 %glsl Fma %code_float %x_float %sum
%next_k = OpIAdd %uint %k %two
OpBranch %inner
%group_end = OpLabel
%scale_float = OpBitcast %float %scale
%scaled = OpVectorTimesScalar %float4 %sum %scale_float
%next_total = OpFAdd %float4 %total %scaled
OpBranch %outer_end
%outer_end = OpLabel
%next_group = OpIAdd %uint %group %lanes
OpBranch %outer
%exit = OpLabel
%result_place = OpAccessChain %float_pointer %result %zero %lane
OpStore %result_place %total
OpReturn
OpFunctionEnd
"""
