// RUN: llmc-opt %s --llmc-select-lowering-configs --split-input-file --verify-diagnostics

// What no kernel for one row in matrix units can be built with; the rest are in gemv_matrix_tile_test.cpp.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 24, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  func.func @other_columns(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{has a tuning entry 'q4_k 512x1024 x1 rows 1 f32' that does not fit: tile's columns is 24, allowed are 16 and 32}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<512x1024x!graph.encoded<q4_k>>) -> (tensor<?x512xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<512x1024x!graph.encoded<q4_k>> -> tensor<?x512xf32>
      graph.yield %0 : tensor<?x512xf32>
    }
    return %y : tensor<?x512xf32>
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
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128, 0], splits = 2>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  func.func @splits(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{has a tuning entry 'q4_k 512x1024 x1 rows 1 f32' that does not fit: splits is 2, allowed is 1}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<512x1024x!graph.encoded<q4_k>>) -> (tensor<?x512xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<512x1024x!graph.encoded<q4_k>> -> tensor<?x512xf32>
      graph.yield %0 : tensor<?x512xf32>
    }
    return %y : tensor<?x512xf32>
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
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  func.func @sizes(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{has a tuning entry 'q4_k 512x1024 x1 rows 1 f32' that does not fit: workgroup must be three sizes and tile four}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<512x1024x!graph.encoded<q4_k>>) -> (tensor<?x512xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<512x1024x!graph.encoded<q4_k>> -> tensor<?x512xf32>
      graph.yield %0 : tensor<?x512xf32>
    }
    return %y : tensor<?x512xf32>
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
    "q4_k 512x1024 x1 rows 64 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  func.func @many_rows(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 64 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{that does not fit: kind is 'gemv_matrix', allowed is gemm_matrix for this linear}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<512x1024x!graph.encoded<q4_k>>) -> (tensor<?x512xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<512x1024x!graph.encoded<q4_k>> -> tensor<?x512xf32>
      graph.yield %0 : tensor<?x512xf32>
    }
    return %y : tensor<?x512xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  func.func @unknown_fragments(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
    // expected-error @+1 {{that does not fit: kind is 'gemv_matrix', which needs a device whose lanes hold matrices in a known way}}
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<512x1024x!graph.encoded<q4_k>>) -> (tensor<?x512xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<512x1024x!graph.encoded<q4_k>> -> tensor<?x512xf32>
      graph.yield %0 : tensor<?x512xf32>
    }
    return %y : tensor<?x512xf32>
  }
}
