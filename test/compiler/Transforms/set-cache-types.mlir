// RUN: llmc-opt %s --llmc-set-cache-types -split-input-file | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "i8", features = [], quirks = []>

// What a convolution remembers stays f32, and what has a type keeps it.
module attributes {target.device = #device} {
  // CHECK: graph.state @k : tensor<1x8x4xi8>
  graph.state @k : tensor<1x8x4xf32>
  // CHECK: graph.state @typed : tensor<1x8x4xf16>
  graph.state @typed : tensor<1x8x4xf16>
  // CHECK: graph.state @past : tensor<1x4xf32>
  graph.state @past : tensor<1x4xf32>
  func.func @f(%x: tensor<?x1x4xf32>, %taps: tensor<8xf32>, %c: tensor<?x4xf32>, %p: tensor<i32>) -> tensor<?x1x4xf32> {
    %0 = graph.short_conv %c, %taps state @past, %p : tensor<?x4xf32>, tensor<8xf32>
    %1 = graph.kv_append @k, %x, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    %2 = graph.kv_append @typed, %1, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    return %2 : tensor<?x1x4xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "f16", features = [], quirks = []>

module attributes {target.device = #device} {
  // CHECK: graph.state @k : tensor<1x8x4xf16>
  graph.state @k : tensor<1x8x4xf32>
  // CHECK: graph.state @typed : tensor<1x8x4xf16>
  graph.state @typed : tensor<1x8x4xf16>
  // CHECK: graph.state @past : tensor<1x4xf32>
  graph.state @past : tensor<1x4xf32>
  func.func @f(%x: tensor<?x1x4xf32>, %taps: tensor<8xf32>, %c: tensor<?x4xf32>, %p: tensor<i32>) -> tensor<?x1x4xf32> {
    %0 = graph.short_conv %c, %taps state @past, %p : tensor<?x4xf32>, tensor<8xf32>
    %1 = graph.kv_append @k, %x, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    %2 = graph.kv_append @typed, %1, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    return %2 : tensor<?x1x4xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  // CHECK: graph.state @k : tensor<1x8x4xf32>
  graph.state @k : tensor<1x8x4xf32>
  // CHECK: graph.state @typed : tensor<1x8x4xf16>
  graph.state @typed : tensor<1x8x4xf16>
  // CHECK: graph.state @past : tensor<1x4xf32>
  graph.state @past : tensor<1x4xf32>
  func.func @f(%x: tensor<?x1x4xf32>, %taps: tensor<8xf32>, %c: tensor<?x4xf32>, %p: tensor<i32>) -> tensor<?x1x4xf32> {
    %0 = graph.short_conv %c, %taps state @past, %p : tensor<?x4xf32>, tensor<8xf32>
    %1 = graph.kv_append @k, %x, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    %2 = graph.kv_append @typed, %1, %p : tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    return %2 : tensor<?x1x4xf32>
  }
}
