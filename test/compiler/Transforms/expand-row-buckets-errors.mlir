// RUN: llmc-opt %s -llmc-expand-row-buckets -split-input-file -verify-diagnostics

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  // expected-error @below {{device 'test' has no row bucket up to the 4 rows of function @logits}}
  func.func @logits(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.max_rows = 4 : i64} {
    return %x : tensor<?x64xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  // expected-error @below {{cannot be cloned for 8 rows: the name @f_r8 is taken}}
  func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    return %x : tensor<?x64xf32>
  }
  func.func @f_r8(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    return %x : tensor<?x64xf32>
  }
}

// -----

// expected-error @below {{has no target.device to clone functions for}}
module {
}
