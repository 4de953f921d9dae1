// RUN: llmc-opt %s --llmc-set-cache-types -split-input-file -verify-diagnostics

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "i8", features = [], quirks = []>

module attributes {target.device = #device} {
  // expected-error @below {{has heads of 6 elements; a cache of i8 takes multiples of 4}}
  graph.state @k : tensor<1x8x6xf32>
  func.func @f(%x: tensor<?x1x6xf32>, %p: tensor<i32>) -> tensor<?x1x6xf32> {
    %0 = graph.kv_append @k, %x, %p : tensor<?x1x6xf32> -> tensor<?x1x6xf32>
    return %0 : tensor<?x1x6xf32>
  }
}

// -----

// expected-error @below {{has no target.device to choose the type of caches for}}
module {
}
