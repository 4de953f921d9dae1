// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-select-lowering-configs --llmc-lower-regions

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f16", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.state @k : tensor<1x64x6xf16>
  func.func @odd_pairs_in_an_f16_cache(%x: tensor<?x1x6xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x1x6xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    // expected-error @+1 {{has heads of 6 elements, 6 of them turned, in f16 or i8; both must be even and the latter a multiple of four}}
    %y:2 = graph.region (%a = %x : tensor<?x1x6xf32>, %p = %pos : tensor<i32>) -> (tensor<?x1x6xf32>, tensor<?x1x6xf32>) {
      %0 = graph.rotary %a, %p pairs half base 1.0e4 dim 6 : tensor<?x1x6xf32> -> tensor<?x1x6xf32>
      %1 = graph.kv_append @k, %0, %p : tensor<?x1x6xf32> -> tensor<?x1x6xf32>
      graph.yield %1, %0 : tensor<?x1x6xf32>, tensor<?x1x6xf32>
    }
    return %y#1 : tensor<?x1x6xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f16", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @no_heads(%x: tensor<?x64xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    // expected-error @+1 {{of kind heads yields 'tensor<?x64xf32>', which has no heads: [rows, heads, head dimension]}}
    %y = graph.region (%a = %x : tensor<?x64xf32>, %p = %pos : tensor<i32>) -> (tensor<?x64xf32>) {
      %0 = graph.rotary %a, %p pairs half base 1.0e4 dim 64 : tensor<?x64xf32> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
