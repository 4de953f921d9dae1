// RUN: llmc-opt %s --split-input-file --verify-diagnostics --llmc-plan-memory

// expected-error@+1 {{has no target.device to plan memory for}}
module {
}

// -----

#device = #target.device<name = "small", family = generic, subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false, registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64, max_buffer_range = 1000, max_allocation = 1500, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  program.entry @forward_r1 "forward" rows 1 {
    %w = program.slice weight "token_embd.weight" bytes 1001
    %x = program.slice arena bytes 16
    // expected-error@+1 {{binding 0 (token_embd.weight) of embedding has 1001 bytes; target 'small' binds at most 1000}}
    program.dispatch @k groups [1, 1, 1](%w, %x) access [1, 2] "embedding"
  }
}

// -----

#device = #target.device<name = "small", family = generic, subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false, registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64, max_buffer_range = 1000, max_allocation = 1500, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  // expected-error@+1 {{needs an arena of 2048 bytes; target 'small' allocates at most 1500}}
  program.entry @forward_r1 "forward" rows 1 {
    %x = program.slice arena bytes 1000
    %y = program.slice arena bytes 1000
    program.dispatch @k groups [1, 1, 1](%x, %y) access [1, 2]
  }
}
