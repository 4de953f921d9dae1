// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  // Results of one shape share a dispatch; 8 rows of 13 vectors take two workgroups.
  // CHECK-LABEL: program.entry @results_of_one_shape_share_a_dispatch
  // CHECK: program.dispatch @elementwise_52_rows_8 groups [2, 1, 1](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK-NOT: program.dispatch
  // CHECK: program.kernel @elementwise_52_rows_8 "elementwise 52 rows 8" workgroup [64, 1, 1] bindings 4
  // SPIRV: program.kernel @elementwise_52_rows_8 {{.*}} spirv [119734787,
  func.func @results_of_one_shape_share_a_dispatch(%x: tensor<?x50xf32> {graph.name = "x"})
      -> (tensor<?x50xf32> {graph.name = "y"}, tensor<?x50xf32> {graph.name = "z"}) attributes {graph.rows = 8 : i64} {
    %y:2 = graph.region (%a = %x : tensor<?x50xf32>) -> (tensor<?x50xf32>, tensor<?x50xf32>) {
      %0 = graph.silu %a : tensor<?x50xf32>
      %1 = graph.add %0, %a : tensor<?x50xf32>, tensor<?x50xf32> -> tensor<?x50xf32>
      graph.yield %0, %1 : tensor<?x50xf32>, tensor<?x50xf32>
    }
    return %y#0, %y#1 : tensor<?x50xf32>, tensor<?x50xf32>
  }
}
