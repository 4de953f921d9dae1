// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<66x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 66>]

  // Padding of rows is cut by selects of vectors, which SPIR-V 1.3 has in one form only.
  // The words begin with SPIR-V's magic number and version 1.3.
  // CHECK: program.kernel @gemv_q4_0_66x64_rows_1
  // CHECK-SAME: spirv [119734787, 66304,
  // CHECK-NOT: gpu.module
  func.func @f(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x66xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<66x64x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<66x64x!graph.encoded<q4_0>>) -> (tensor<?x66xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<66x64x!graph.encoded<q4_0>> -> tensor<?x66xf32>
      graph.yield %0 : tensor<?x66xf32>
    }
    return %y : tensor<?x66xf32>
  }
}
