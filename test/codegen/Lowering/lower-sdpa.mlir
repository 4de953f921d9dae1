// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.state @k : tensor<1x1024x64xf32>
  graph.state @v : tensor<1x1024x64xf32>

  // A workgroup for sixteen rows; no slice for scores.
  // CHECK-LABEL: program.entry @many_rows_are_one_dispatch
  // CHECK: program.dispatch @heads_2x64_rows_32
  // CHECK-NOT: program.slice arena
  // CHECK: program.dispatch @sdpa_1_1x64_rows_32 groups [2, 1, 1]
  // CHECK-NOT: program.dispatch
  func.func @many_rows_are_one_dispatch(%x: tensor<?x192xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 32 : i64} {
    %kv:2 = graph.region (%a = %x : tensor<?x192xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 64 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.kv_append @k, %1, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.kv_append @v, %4, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      graph.yield %2, %5 : tensor<?x1x64xf32>, tensor<?x1x64xf32>
    }
    %y = graph.region (%a = %x : tensor<?x192xf32>, %k = %kv#0 : tensor<?x1x64xf32>, %v = %kv#1 : tensor<?x1x64xf32>,
        %p = %pos : tensor<i32>) -> (tensor<?x64xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.sdpa %1, %k, %v, %p scale 1.250000e-01 causal
        : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.reshape %2 : tensor<?x1x64xf32> -> tensor<?x64xf32>
      graph.yield %3 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // Partial sums of four splits: 16 quads and one of statistics each. They are added up by the workgroup that is the
  // last by a counter, which is zero when the entry begins.
  // CHECK-LABEL: program.entry @splits_are_combined
  // CHECK-NEXT: %[[COUNTERS:.*]] = program.slice arena bytes 256
  // CHECK-NEXT: program.dispatch @zero_counters groups [1, 1, 1](%[[COUNTERS]]) access [2]
  // CHECK: %[[PARTIALS:.*]] = program.slice arena bytes 1088
  // CHECK: program.dispatch @sdpa_1_1x64_rows_1 groups [1, 1, 4]({{.*}}, %[[PARTIALS]], %{{.*}}, %[[COUNTERS]]) access [1, 1, 1, 1, 3, 2, 3]
  // CHECK-NOT: program.dispatch
  func.func @splits_are_combined(%x: tensor<?x192xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %kv:2 = graph.region (%a = %x : tensor<?x192xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 64 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.kv_append @k, %1, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.kv_append @v, %4, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      graph.yield %2, %5 : tensor<?x1x64xf32>, tensor<?x1x64xf32>
    }
    %y = graph.region (%a = %x : tensor<?x192xf32>, %k = %kv#0 : tensor<?x1x64xf32>, %v = %kv#1 : tensor<?x1x64xf32>,
        %p = %pos : tensor<i32>) -> (tensor<?x64xf32>) attributes {
          lowering_config = #graph.lowering_config<"sdpa", workgroup = [16, 1, 1], tile = [1, 1, 16, 32, 16], splits = 4>} {
      %0 = graph.slice %a dim 1 offset 0 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.sdpa %1, %k, %v, %p scale 1.250000e-01 causal
        : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.reshape %2 : tensor<?x1x64xf32> -> tensor<?x64xf32>
      graph.yield %3 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // CHECK-LABEL: program.entry @many_splits_are_read_in_turn
  func.func @many_splits_are_read_in_turn(%x: tensor<?x192xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %kv:2 = graph.region (%a = %x : tensor<?x192xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 64 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.kv_append @k, %1, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.kv_append @v, %4, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      graph.yield %2, %5 : tensor<?x1x64xf32>, tensor<?x1x64xf32>
    }
    %y = graph.region (%a = %x : tensor<?x192xf32>, %k = %kv#0 : tensor<?x1x64xf32>, %v = %kv#1 : tensor<?x1x64xf32>,
        %p = %pos : tensor<i32>) -> (tensor<?x64xf32>) attributes {
          lowering_config = #graph.lowering_config<"sdpa", workgroup = [16, 1, 1], tile = [1, 1, 16, 32, 16], splits = 32>} {
      %0 = graph.slice %a dim 1 offset 0 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.sdpa %1, %k, %v, %p scale 1.250000e-01 causal
        : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.reshape %2 : tensor<?x1x64xf32> -> tensor<?x64xf32>
      graph.yield %3 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
// CHECK: program.kernel @sdpa_1_1x64_rows_32 {{.*}} config #graph.lowering_config<"sdpa", workgroup = [64, 1, 1], tile = [16, 4, 16, 16, 16]
// Barriers stand in the loop over keys, whose bounds are the same for a whole workgroup, and in no branch.
// CHECK-LABEL: gpu.module @sdpa_1_1x64_rows_32_gpu
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: gpu.barrier
// CHECK-NOT: scf.if
// CHECK: gpu.barrier
// SPIRV: program.kernel @sdpa_1_1x64_rows_32 {{.*}} spirv [119734787,
// Sums are in memory before the workgroup is counted, and all that are counted are seen by the last; nothing that decides
// about a barrier depends on the count.
// CHECK-LABEL: gpu.module @sdpa_1_1x64_rows_1_gpu
// The workgroup's numbers wait in workgroup memory while the keys are gone through.
// CHECK: memref.alloc() : memref<1xi32, #spirv.storage_class<Workgroup>>
// CHECK: scf.for
// CHECK-NOT: gpu.block_id
// CHECK: spirv.MemoryBarrier <Device>, <AcquireRelease|UniformMemory>
// CHECK-NEXT: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// CHECK: scf.if
// CHECK: memref.atomic_rmw addi
// CHECK: spirv.MemoryBarrier <Device>, <AcquireRelease|UniformMemory>
// CHECK-NEXT: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// CHECK-NOT: Barrier
// CHECK: gpu.return
// SPIRV: program.kernel @sdpa_1_1x64_rows_1 {{.*}} spirv [119734787,
// Statistics of 32 splits are more than 64 registers: a loop for the maximum, one for the sums.
// CHECK-LABEL: gpu.module @sdpa_1_1x64_rows_1_1_gpu
// CHECK: memref.atomic_rmw addi
// CHECK: spirv.ControlBarrier
// CHECK: %[[MAXIMUM:.*]] = scf.for {{.*}} -> (f32)
// CHECK: scf.for {{.*}} -> (f32, vector<4xf32>)
// CHECK: %[[STATISTICS:.*]] = memref.load
// CHECK: %[[OWN:.*]] = vector.extract %[[STATISTICS]][0]
// CHECK: arith.subf %[[OWN]], %[[MAXIMUM]]
