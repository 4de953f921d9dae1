// RUN: llmc-opt %s --pass-pipeline='builtin.module(func.func(llmc-quantize-activations))' --verify-diagnostics

module attributes {target.device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = ["f16_storage"],
  quirks = [], prefill_activations = "i8">} {
  // expected-error@+1 {{cannot have activations of i8: device 'test' has no feature int_dot}}
  func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.rows = 32 : i64} {
    return %x : tensor<?x64xf32>
  }
}
