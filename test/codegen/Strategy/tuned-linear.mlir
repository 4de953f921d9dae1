// RUN: llmc-opt %s --llmc-select-lowering-configs | FileCheck %s

// The module's own entries go before the defaults, and both before Strategy's choice.

// CHECK-LABEL: module attributes
// CHECK-NOT: target.tuning

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device,
  target.tuning = {
    "q8_0 64x128 x1 rows 2 f32" = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [1, 4, 32]>},
  target.tuning_defaults = {
    "q8_0 64x128 x1 rows 2 f32" = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32]>,
    "q8_0 64x128 x1 rows 4 f32" = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [2, 4, 64]>,
    "q8_0 64x128 x1 rows 8 f32" = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [16, 4, 32]>}} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  // CHECK-LABEL: @of_the_file
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [1, 4, 32], accumulators = 4, registers = {{[1-9]}}
  func.func @of_the_file(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 2 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // CHECK-LABEL: @of_the_defaults
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [2, 4, 64], accumulators = 8
  func.func @of_the_defaults(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 4 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // A default of 16 rows fits no gemv.
  // CHECK-LABEL: @of_strategy
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup = [{{[0-9]+}}, 1, 1], tile = [{{[1248]}}, 4,
  func.func @of_strategy(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 8 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
