// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-select-lowering-configs --llmc-lower-regions

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f16", features = [],
  quirks = []>
module attributes {target.device = #device} {
  func.func @head_dimension(%q: tensor<?x4x5xf32> {graph.name = "q"}, %k: tensor<?x2x5xf32> {graph.name = "k"},
      %pos: tensor<i32> {graph.name = "position"}) -> (tensor<?x4x5xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %y = graph.region (%a = %q : tensor<?x4x5xf32>, %b = %k : tensor<?x2x5xf32>, %p = %pos : tensor<i32>) -> (tensor<?x4x5xf32>) {
      // expected-error @+1 {{head dimension 5 is no multiple of 4}}
      %0 = graph.sdpa %a, %b, %b, %p scale 1.0 causal
        : tensor<?x4x5xf32>, tensor<?x2x5xf32>, tensor<?x2x5xf32> -> tensor<?x4x5xf32>
      graph.yield %0 : tensor<?x4x5xf32>
    }
    return %y : tensor<?x4x5xf32>
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
  func.func @tile(%q: tensor<?x4x64xf32> {graph.name = "q"}, %k: tensor<?x2x64xf32> {graph.name = "k"},
      %pos: tensor<i32> {graph.name = "position"}) -> (tensor<?x4x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %y = graph.region (%a = %q : tensor<?x4x64xf32>, %b = %k : tensor<?x2x64xf32>, %p = %pos : tensor<i32>) -> (tensor<?x4x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"sdpa", workgroup = [30, 1, 1], tile = [2, 1, 15, 30, 15]>} {
      // expected-error @+1 {{does not fit its tile: workgroup 30, 2 queries by 1, 15 lanes, 30 keys, 15 value lanes, head dimension 64}}
      %0 = graph.sdpa %a, %b, %b, %p scale 1.0 causal
        : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
      graph.yield %0 : tensor<?x4x64xf32>
    }
    return %y : tensor<?x4x64xf32>
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
  func.func @row_tile(%q: tensor<?x4x64xf32> {graph.name = "q"}, %k: tensor<?x2x64xf32> {graph.name = "k"},
      %pos: tensor<i32> {graph.name = "position"}) -> (tensor<?x4x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    // expected-error @+1 {{of kind sdpa_row takes one row that it prepares on a cache of floats, tile = [lanes of a key, keys at once, queries]}}
    %y = graph.region (%a = %q : tensor<?x4x64xf32>, %b = %k : tensor<?x2x64xf32>, %p = %pos : tensor<i32>) -> (tensor<?x4x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"sdpa_row", workgroup = [32, 1, 1], tile = [8, 4, 1]>} {
      %0 = graph.sdpa %a, %b, %b, %p scale 1.0 causal
        : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
      graph.yield %0 : tensor<?x4x64xf32>
    }
    return %y : tensor<?x4x64xf32>
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
  graph.state @k : tensor<1x64x64xf16>
  graph.state @v : tensor<1x64x64xf16>
  func.func @parts_of_heads(%q: tensor<?x2x64xf32> {graph.name = "q"}, %n: tensor<?x1x64xf32> {graph.name = "n"},
      %pos: tensor<i32> {graph.name = "position"}) -> (tensor<?x2x64xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    // expected-error @+1 {{of kind sdpa prepares heads where a workgroup has all queries of a KV head, 2; found 1}}
    %y:3 = graph.region (%a = %q : tensor<?x2x64xf32>, %b = %n : tensor<?x1x64xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x2x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"sdpa", workgroup = [16, 1, 1], tile = [1, 1, 16, 16, 16]>} {
      %0 = graph.kv_append @k, %b, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %1 = graph.kv_append @v, %b, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.sdpa %a, %0, %1, %p scale 1.0 causal
        : tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x2x64xf32>
      graph.yield %0, %1, %2 : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x2x64xf32>
    }
    return %y#2 : tensor<?x2x64xf32>
  }
}
