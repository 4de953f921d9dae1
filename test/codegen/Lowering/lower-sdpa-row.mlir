// RUN: llmc-opt %s --llmc-fuse-heads --llmc-select-lowering-configs | FileCheck %s --check-prefix=SELECT
// RUN: llmc-opt %s --llmc-fuse-heads --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-fuse-heads --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv \
// RUN:   | FileCheck %s --check-prefix=SPIRV
// RUN: sed 's/"subgroup_shuffle"//; s/"subgroup_arithmetic", /"subgroup_arithmetic"/' %s \
// RUN:   | llmc-opt --llmc-fuse-heads --llmc-select-lowering-configs | FileCheck %s --check-prefix=NONE

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 16,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f16",
  features = ["subgroup_arithmetic", "subgroup_shuffle"], quirks = []>
module attributes {target.device = #device} {
  graph.state @k : tensor<1x1024x64xf16>
  graph.state @v : tensor<1x1024x64xf16>

  // A key of 64 numbers of f16 is eight loads: eight lanes share it, 256 invocations have 32 keys at once. A workgroup
  // has one query; of 1024 keys eight splits have four rounds each.
  // SELECT: lowering_config = #graph.lowering_config<"sdpa_row", workgroup = [256, 1, 1], tile = [8, 4, 1], splits = 8, {{.*}}reduction = subgroup
  // NONE: lowering_config = #graph.lowering_config<"sdpa",

  // Angles are computed once for the step, and belong to no layer.
  // CHECK-LABEL: program.entry @one_row
  // CHECK: %[[COUNTERS:.*]] = program.slice arena bytes 256
  // CHECK: program.dispatch @zero_counters
  // CHECK: %[[ANGLES:.*]] = program.slice arena bytes 256
  // CHECK: program.dispatch @rotary_angles groups [1, 1, 1](%{{.*}}, %[[ANGLES]]) access [1, 2]
  // CHECK: program.dispatch @heads_sdpa_2_1x64_rows_1 groups [2, 1, 8](
  // CHECK-NOT: program.dispatch
  func.func @one_row(%x: tensor<?x256xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x128xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %h:3 = graph.region (%a = %x : tensor<?x256xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 128 : tensor<?x256xf32> -> tensor<?x128xf32>
      %1 = graph.reshape %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
      %2 = graph.rotary %1, %p pairs half base 1.0e4 dim 64 : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x256xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.rotary %4, %p pairs half base 1.0e4 dim 64 : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %6 = graph.kv_append @k, %5, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %7 = graph.slice %a dim 1 offset 192 size 64 : tensor<?x256xf32> -> tensor<?x64xf32>
      %8 = graph.reshape %7 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %9 = graph.kv_append @v, %8, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      graph.yield %2, %6, %9 : tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>
    }
    %y = graph.region (%q = %h#0 : tensor<?x2x64xf32>, %k = %h#1 : tensor<?x1x64xf32>, %v = %h#2 : tensor<?x1x64xf32>,
        %p = %pos : tensor<i32>) -> (tensor<?x128xf32>) {
      %0 = graph.sdpa %q, %k, %v, %p scale 1.250000e-01 causal
        : tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x2x64xf32>
      %1 = graph.reshape %0 : tensor<?x2x64xf32> -> tensor<?x128xf32>
      graph.yield %1 : tensor<?x128xf32>
    }
    return %y : tensor<?x128xf32>
  }
}
// Splits that have no keys do nothing. Keys are loaded before heads are prepared; the loop over keys has no barrier,
// and loads the next while it has those before. Then a row that one split has alone is stored, what several have is
// shared and added up.
// CHECK-LABEL: gpu.module @heads_sdpa_2_1x64_rows_1_gpu
// CHECK: scf.if
// CHECK-COUNT-8: memref.load {{.*}}vector<4xi32>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-NOT: Barrier
// CHECK-NOT: gpu.barrier
// CHECK: scf.if {{.*}} -> (vector<4xi32>
// CHECK: scf.yield
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: spirv.MemoryBarrier <Device>
// SPIRV: program.kernel @heads_sdpa_2_1x64_rows_1 {{.*}} spirv [119734787,
