// RUN: llmc-opt %s --llmc-lower-regions --split-input-file --verify-diagnostics

// Sizes for which there is no kernel; the rest are in gemv_matrix_tile_test.cpp.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device} {
  graph.weight @w : tensor<80x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 80>]

  func.func @other_columns(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x80xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<80x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{of kind gemv_matrix does not fit: tile's columns is 24, allowed are 16 and 32}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<80x1024x!graph.encoded<q4_k>>) -> (tensor<?x80xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [256, 1, 1], tile = [1, 24, 128, 0], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<80x1024x!graph.encoded<q4_k>> -> tensor<?x80xf32>
      graph.yield %0 : tensor<?x80xf32>
    }
    return %y : tensor<?x80xf32>
  }
}

// -----

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device} {
  graph.weight @w : tensor<80x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 80>]

  func.func @few_columns_in_turn(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x80xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<80x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{of kind gemv_matrix does not fit: tile's columns is 16, allowed are 32 where workgroups go over all tiles}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<80x1024x!graph.encoded<q4_k>>) -> (tensor<?x80xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [256, 1, 1], tile = [1, 16, 128, 8], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<80x1024x!graph.encoded<q4_k>> -> tensor<?x80xf32>
      graph.yield %0 : tensor<?x80xf32>
    }
    return %y : tensor<?x80xf32>
  }
}
