// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @g : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  // A workgroup for each row the step may have.
  // CHECK-LABEL: program.entry @a_group_per_row
  // CHECK: program.dispatch @rms_norm_64_rows_8 groups [8, 1, 1]
  // CHECK: program.kernel @rms_norm_64_rows_8 "rms_norm 64 rows 8" workgroup [16, 1, 1] bindings 4 workgroup_memory 64
  // Rows beyond the step's take no rounds: the bound is chosen, nothing leaves before the barrier.
  // CHECK-LABEL: gpu.module @rms_norm_64_rows_8_gpu
  // CHECK: %[[END:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
  // CHECK: gpu.barrier
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
  // SPIRV: program.kernel @rms_norm_64_rows_8 {{.*}} spirv [119734787,
  func.func @a_group_per_row(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 8 : i64} {
    %g = graph.load_weight @g : tensor<64x!graph.encoded<f32>>
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %g : tensor<64x!graph.encoded<f32>>) -> (tensor<?x64xf32>) {
      %0 = graph.dequantize %b : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
      %1 = graph.rms_norm %a, %0 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
      graph.yield %1 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
