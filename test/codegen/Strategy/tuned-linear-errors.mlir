// RUN: llmc-opt %s --llmc-select-lowering-configs --verify-diagnostics

// Entries that the user gave are not passed over in silence.

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device, target.tuning = {
    "q8_0 64x128 x1 rows 2 f32" = #graph.lowering_config<"gemv", workgroup = [512, 1, 1], tile = [1, 4, 32]>}} {
  graph.weight @w : tensor<64x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  func.func @too_many_invocations(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 2 : i64} {
    %w = graph.load_weight @w : tensor<64x128x!graph.encoded<q8_0>>
    // expected-error @+1 {{has a tuning entry 'q8_0 64x128 x1 rows 2 f32' that does not fit: workgroup's number of invocations is 512, allowed are 256}}
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<64x128x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<64x128x!graph.encoded<q8_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
