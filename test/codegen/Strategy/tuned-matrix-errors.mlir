// RUN: llmc-opt %s --llmc-select-lowering-configs --verify-diagnostics --split-input-file

// A linear in matrix units takes entries of its own kind alone, with tiles that its kernel can be built with.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q8_0 64x128 x1 rows 32 f32" = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [8, 4, 32]>}} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  func.func @other_kind(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 32 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{has a tuning entry 'q8_0 64x128 x1 rows 32 f32' that does not fit: kind is 'gemv', allowed is gemm_matrix for this linear}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q8_0 64x128 x1 rows 32 f32" = #graph.lowering_config<"gemm_matrix", workgroup = [256, 1, 1], tile = [32, 64, 64, 16, 32, 1]>}} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  func.func @other_workgroup(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 32 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{that does not fit: workgroup must be 128, 1, 1 for its subgroups}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q8_0 64x128 x1 rows 64 f32" = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [32, 64, 64, 16, 32, 1], splits = 3>}} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  func.func @empty_splits(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 64 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{that does not fit: splits is 3, allowed are those that share 2 steps with none empty}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
