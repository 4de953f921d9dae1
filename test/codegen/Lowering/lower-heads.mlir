// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f16", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.state @k : tensor<1x1024x64xf16>
  graph.state @v : tensor<1x1024x64xf16>

  // One dispatch reads ranges of one linear's rows; caches are f16 as the device says, in words that need no 16-bit type.
  // CHECK-LABEL: program.entry @parts_are_one_dispatch
  // CHECK: %[[X:.*]] = program.slice input "x"
  // CHECK: %[[K:.*]] = program.slice state "k" bytes 131072 value tensor<1x1024x64xf16>
  // CHECK: %[[V:.*]] = program.slice state "v" bytes 131072 value tensor<1x1024x64xf16>
  // CHECK: program.dispatch @heads_3x64_rows_8 groups [3, 8, 1](
  // CHECK-NOT: program.dispatch
  // CHECK-LABEL: gpu.module @heads_3x64_rows_8_gpu
  // CHECK: gpu.func @main({{.*}}memref<?xvector<2xi32>, #spirv.storage_class<StorageBuffer>>
  // CHECK: spirv.GL.PackHalf2x16
  // Sine and cosine are polynomials of our own.
  // CHECK-NOT: math.sin
  // CHECK-NOT: math.cos
  // SPIRV: program.kernel @heads_3x64_rows_8 {{.*}} spirv [119734787,
  func.func @parts_are_one_dispatch(%x: tensor<?x192xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x1x64xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %y:3 = graph.region (%a = %x : tensor<?x192xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %1 = graph.reshape %0 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %2 = graph.rotary %1, %p pairs half base 1.0e4 dim 64 : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %3 = graph.slice %a dim 1 offset 64 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %4 = graph.reshape %3 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %5 = graph.rotary %4, %p pairs half base 1.0e4 dim 64 : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %6 = graph.kv_append @k, %5, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      %7 = graph.slice %a dim 1 offset 128 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
      %8 = graph.reshape %7 : tensor<?x64xf32> -> tensor<?x1x64xf32>
      %9 = graph.kv_append @v, %8, %p : tensor<?x1x64xf32> -> tensor<?x1x64xf32>
      graph.yield %2, %6, %9 : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x1x64xf32>
    }
    return %y#0 : tensor<?x1x64xf32>
  }
}
