// RUN: llmc-opt %s --llmc-fuse-heads | FileCheck %s
// RUN: llmc-opt %s --llmc-fuse-heads --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s --check-prefix=KERNEL
// RUN: sed 's/family = generic/family = valhall/' %s | llmc-opt --llmc-fuse-heads | FileCheck %s --check-prefix=MALI

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.state @k : tensor<1x1024x64xf32>
  graph.state @v : tensor<1x1024x64xf32>
  graph.state @code_k : tensor<1x1024x64xi8>
  graph.state @code_v : tensor<1x1024x64xi8>

  // The caches stay results, the queries do not.
  // CHECK-LABEL: func.func @one_row(
  // CHECK-NEXT: %[[Y:.*]]:3 = graph.region (%{{.*}} = %{{.*}} : tensor<?x256xf32>, %{{.*}} = %{{.*}} : tensor<i32>) -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x128xf32>) {
  // CHECK-COUNT-2: graph.rotary
  // CHECK: %[[K:.*]] = graph.kv_append @k
  // CHECK: %[[V:.*]] = graph.kv_append @v
  // CHECK: graph.sdpa %{{.*}}, %[[K]], %[[V]],
  // CHECK: graph.yield %[[K]], %[[V]],
  // CHECK: return %[[Y]]#2
  // One dispatch behind that of the splits' counters; no slice for queries. The caches are read and written.
  // KERNEL-LABEL: program.entry @one_row
  // KERNEL: program.dispatch @zero_counters
  // KERNEL: program.dispatch @heads_sdpa_2_1x64_rows_1 groups [1, 1, 4]({{.*}}) access [3, 3, 1, 1, 3, 2, 3]
  // KERNEL-NEXT: }
  // MALI-LABEL: func.func @one_row(
  // MALI-COUNT-2: = graph.region
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

  // CHECK-LABEL: func.func @many_rows(
  // CHECK-COUNT-2: = graph.region
  func.func @many_rows(%x: tensor<?x256xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x128xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
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

  // CHECK-LABEL: func.func @turned_differently(
  // CHECK-COUNT-2: = graph.region
  func.func @turned_differently(%x: tensor<?x256xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x128xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %h:3 = graph.region (%a = %x : tensor<?x256xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 128 : tensor<?x256xf32> -> tensor<?x128xf32>
      %1 = graph.reshape %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
      %2 = graph.rotary %1, %p pairs half base 1.0e4 dim 64 : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x256xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.rotary %4, %p pairs half base 1.0e6 dim 64 : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
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

  // CHECK-LABEL: func.func @cache_of_codes(
  // CHECK-COUNT-2: = graph.region
  func.func @cache_of_codes(%x: tensor<?x256xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x128xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64} {
    %h:3 = graph.region (%a = %x : tensor<?x256xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x2x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 128 : tensor<?x256xf32> -> tensor<?x128xf32>
      %1 = graph.reshape %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
      %2 = graph.rotary %1, %p pairs half base 1.0e4 dim 64 : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
      %3 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x256xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.rotary %4, %p pairs half base 1.0e4 dim 64 : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %6 = graph.kv_append @code_k, %5, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %7 = graph.slice %a dim 1 offset 192 size 64 : tensor<?x256xf32> -> tensor<?x64xf32>
      %8 = graph.reshape %7 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %9 = graph.kv_append @code_v, %8, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
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
// Rows that other invocations wrote are read behind a barrier that says so.
// KERNEL-LABEL: gpu.module @heads_sdpa_2_1x64_rows_1_gpu
// KERNEL: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
// KERNEL: scf.for
