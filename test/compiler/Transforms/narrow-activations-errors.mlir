// RUN: llmc-opt %s --llmc-narrow-activations -split-input-file -verify-diagnostics

// expected-error @below {{has no target.device to narrow activations for}}
module {
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "f32", features = [], quirks = [], activations = "f16">

// expected-error @below {{missing-file.bin}}
module attributes {target.device = #device, graph.files = ["missing-file.bin"]} {
}
