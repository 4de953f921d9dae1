// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-select-lowering-configs

// expected-error @+1 {{has no target.device to choose for}}
module {
}

// -----

#device = #target.device<name = "small", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 4096, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1], kv_type = "f32", features = [], quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @weights_beyond_the_buffer_range(%x: tensor<?x128xf32> {graph.name = "x"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{reads a weight whose codes take 8192 bytes, and no 64 rows of it fit the 4096 that device 'small' binds at once}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "tiny", family = generic, subgroup_size = 4, max_invocations = 8,
  max_workgroup_size = [8, 8, 8], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1], kv_type = "f32", features = [], quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @too_few_invocations(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{no workgroup fits the 8 invocations of device 'tiny'}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}

// -----

// expected-error @+1 {{expected splits, accumulators, registers, arithmetic, reduction or decode, found 'threads'}}
module attributes {config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32], threads = 4>} {
}

// -----

// expected-error @+1 {{expected arithmetic to be f32 or f16 or i8, found 'f64'}}
module attributes {config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32], arithmetic = f64>} {
}
