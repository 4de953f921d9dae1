// RUN: llmc-opt %s --llmc-select-lowering-configs | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs | llmc-opt | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  // CHECK-LABEL: @few_rows_are_gemv
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup = [16, 1, 1], tile = [8, 4, 32], accumulators = 32, registers =
  func.func @few_rows_are_gemv(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 8 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // CHECK-LABEL: @many_rows_are_gemm
  // CHECK: lowering_config = #graph.lowering_config<"gemm", workgroup = [16, 4, 1], tile = [{{[0-9]+, [0-9]+, 8}}], accumulators = {{[0-9]+}}, registers =
  func.func @many_rows_are_gemm(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 32 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // CHECK-LABEL: @gathers_decode_a_unit
  // CHECK: lowering_config = #graph.lowering_config<"embedding", workgroup = [64, 1, 1], tile = [1, 4], registers = 18>
  func.func @gathers_decode_a_unit(%t: tensor<?xi32> {graph.name = "tokens"}) -> (tensor<?x128xf32> {graph.name = "y"})
      attributes {graph.rows = 32 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %t : tensor<?xi32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x128xf32>) {
      %0 = graph.quantized_embedding %a, %b : tensor<?xi32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x128xf32>
      graph.yield %0 : tensor<?x128xf32>
    }
    return %y : tensor<?x128xf32>
  }

  // CHECK-LABEL: @a_config_is_kept
  // CHECK: lowering_config = #graph.lowering_config<"gemm", workgroup = [4, 2, 1], tile = [2, 4, 8]>
  func.func @a_config_is_kept(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 8 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemm", workgroup = [4, 2, 1], tile = [2, 4, 8]>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
