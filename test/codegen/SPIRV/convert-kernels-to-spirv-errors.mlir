// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-convert-kernels-to-spirv

// expected-error @+1 {{has no target.device to convert for}}
module {
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  // expected-error @+1 {{has neither SPIR-V nor a gpu.module}}
  program.kernel @k "k" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  // expected-error @+1 {{kernel 'k' does not convert to SPIR-V}}
  program.kernel @k "k" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
  gpu.module @k_gpu {
    gpu.func @main() kernel attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [64, 1, 1]>} {
      // expected-error @+1 {{failed to legalize operation 'gpu.printf'}}
      gpu.printf "no such thing on the device"
      gpu.return
    }
  }
}
