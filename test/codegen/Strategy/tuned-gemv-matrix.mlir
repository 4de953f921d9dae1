// RUN: llmc-opt %s --llmc-select-lowering-configs --split-input-file | FileCheck %s

// One row on a device whose lanes hold matrices in a known way takes entries of either kind.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  // CHECK-LABEL: @of_the_file
  // CHECK: lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 16, 128, 0], accumulators = 6,
  func.func @of_the_file(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
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
module attributes {target.device = #device, target.tuning_defaults = {
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 32, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  // CHECK-LABEL: @of_the_defaults
  // CHECK: lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 32, 128, 0]
  func.func @of_the_defaults(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
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
module attributes {target.device = #device, target.tuning_defaults = {
    "q4_k 512x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv_matrix", workgroup = [512, 1, 1], tile = [1, 24, 128, 0]>}} {
  graph.weight @w : tensor<512x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

  // CHECK-LABEL: @no_kernel_of_24_columns
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup
  func.func @no_kernel_of_24_columns(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x512xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<512x1024x!graph.encoded<q4_k>>
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
    "q4_k 8192x1024 x1 rows 1 f32" = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32]>}} {
  graph.weight @w : tensor<8192x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 8192>]

  // CHECK-LABEL: @gemv_instead_of_tiles_in_turn
  // CHECK: lowering_config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32]
  func.func @gemv_instead_of_tiles_in_turn(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x8192xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<8192x1024x!graph.encoded<q4_k>>
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<8192x1024x!graph.encoded<q4_k>>) -> (tensor<?x8192xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<8192x1024x!graph.encoded<q4_k>> -> tensor<?x8192xf32>
      graph.yield %0 : tensor<?x8192xf32>
    }
    return %y : tensor<?x8192xf32>
  }
}
