// RUN: llmc-opt %s --llmc-select-lowering-configs | FileCheck %s --check-prefix=SELECT
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s --check-prefix=KERNEL
// RUN: llmc-opt %s --llmc-select-lowering-configs --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1, 64], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device, target.tuning = {
    "q4_0 256x128 x1 rows 32 f32" = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [32, 64, 32, 16, 32, 1], splits = 2>,
    "q4_0 256x128 x1 rows 64 f32" = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [32, 64, 32, 16, 32, 1], splits = 4>}} {
  graph.weight @w : tensor<256x128x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 256>]
  graph.weight @u : tensor<256x128x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 18432, rows = 256>]
  graph.weight @odd : tensor<64x48x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 36864, rows = 64>]
  graph.state @k : tensor<2x1024x64xf16>
  graph.state @v : tensor<2x1024x64xf16>

  // An activation beyond f16 (65504) makes sums infinite or NaN, whose exponents are all ones; then rows are scaled and a
  // second round of the same code computes all again.
  // KERNEL: gpu.module @gemm_q4_0_256x128_matrix_128x128x32_gpu
  // KERNEL: spirv.mlir.referenceof @bound2
  // KERNEL: scf.for
  // KERNEL: gpu.subgroup_mma_compute
  // KERNEL: gpu.subgroup_mma_elementwise addf
  // KERNEL: arith.constant 2139095040 : i32
  // KERNEL: gpu.shuffle xor
  // KERNEL: scf.if
  // KERNEL: arith.constant 6.550400e+04
  // KERNEL-NOT: gpu.subgroup_mma_compute
  // KERNEL: } else {
  // KERNEL: gpu.subgroup_mma_store_matrix
  // KERNEL-NOT: gpu.subgroup_mma_compute
  // KERNEL: gpu.return
  // SELECT-LABEL: @many_rows
  // SELECT: lowering_config = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [128, 128, 32, 64, 64, 1], {{.*}}arithmetic = f16
  // CHECK-LABEL: program.entry @many_rows
  // CHECK: program.dispatch @gemm_q4_0_256x128_matrix_128x128x32 groups [2, 2, 1]
  // Magic number, version 1.6; the capability CooperativeMatrixKHR (6022), the memory model Vulkan (3).
  // SPIRV: program.kernel @gemm_q4_0_256x128_matrix_128x128x32
  // SPIRV-SAME: spirv [119734787, 67072,
  // SPIRV-SAME: 131089, 6022,
  // SPIRV-SAME: 196622, 0, 3,
  func.func @many_rows(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x256xf32> {graph.name = "y"})
      attributes {graph.rows = 256 : i64} {
    %w = graph.load_weight @w : tensor<256x128x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<256x128x!graph.encoded<q4_0>>) -> (tensor<?x256xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      graph.yield %0 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }

  // A pair's columns are half of each linear's.
  // SELECT-LABEL: @pair
  // SELECT: lowering_config = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [128, 64, 32, 64, 32, 1],
  // CHECK-LABEL: program.entry @pair
  // CHECK: program.dispatch @gemm_q4_0_256x128_x2_matrix_128x64x32 groups [4, 2, 1]
  func.func @pair(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x256xf32> {graph.name = "y"})
      attributes {graph.rows = 256 : i64} {
    %w = graph.load_weight @w : tensor<256x128x!graph.encoded<q4_0>>
    %u = graph.load_weight @u : tensor<256x128x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<256x128x!graph.encoded<q4_0>>,
        %c = %u : tensor<256x128x!graph.encoded<q4_0>>) -> (tensor<?x256xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      %1 = graph.quantized_linear %a, %c : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      %2 = graph.silu %0 : tensor<?x256xf32>
      %3 = graph.mul %2, %1 : tensor<?x256xf32>, tensor<?x256xf32> -> tensor<?x256xf32>
      graph.yield %3 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }

  // Two workgroups share k; the second kernel adds up their sums, the first one's first, and has what follows.
  // SELECT-LABEL: @split
  // SELECT: lowering_config = #graph.lowering_config<"gemm_matrix", workgroup = [128, 1, 1], tile = [32, 64, 32, 16, 32, 1], splits = 2,
  // CHECK-LABEL: program.entry @split
  // CHECK: %[[PARTIALS:.*]] = program.slice arena bytes 65536
  // CHECK: program.dispatch @gemm_q4_0_256x128_matrix_32x64x32 groups [4, 1, 2]
  // CHECK: program.dispatch @gemm_combine_q4_0_256x128_of_2 groups [32, 1, 1]
  // KERNEL: gpu.module @gemm_q4_0_256x128_matrix_32x64x32_gpu
  // KERNEL: gpu.grid_dim z
  // KERNEL: gpu.module @gemm_combine_q4_0_256x128_of_2_gpu
  // KERNEL: scf.if
  // KERNEL: %[[FIRST:.*]] = memref.load %{{.*}}[%[[PLACE:.*]]] : memref<?xvector<4xf32>
  // KERNEL: %[[NEXT:.*]] = arith.addi %[[PLACE]], %{{.*}} : index
  // KERNEL: %[[SECOND:.*]] = memref.load %{{.*}}[%[[NEXT]]] : memref<?xvector<4xf32>
  // KERNEL: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : vector<4xf32>
  // KERNEL: arith.negf
  func.func @split(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x256xf32> {graph.name = "y"})
      attributes {graph.rows = 32 : i64} {
    %w = graph.load_weight @w : tensor<256x128x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<256x128x!graph.encoded<q4_0>>) -> (tensor<?x256xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      %1 = graph.silu %0 : tensor<?x256xf32>
      graph.yield %1 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }

  // Steps of twice the rows, and four workgroups that share k: the same kernel.
  // SELECT-LABEL: @more_rows
  // SELECT: tile = [32, 64, 32, 16, 32, 1], splits = 4,
  // CHECK-LABEL: program.entry @more_rows
  // CHECK: program.dispatch @gemm_q4_0_256x128_matrix_32x64x32 groups [4, 2, 4]
  // CHECK: program.dispatch @gemm_combine_q4_0_256x128_of_4 groups [64, 1, 1]
  func.func @more_rows(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x256xf32> {graph.name = "y"})
      attributes {graph.rows = 64 : i64} {
    %w = graph.load_weight @w : tensor<256x128x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<256x128x!graph.encoded<q4_0>>) -> (tensor<?x256xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      %1 = graph.silu %0 : tensor<?x256xf32>
      graph.yield %1 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }

  // No step divides 48 columns.
  // SELECT-LABEL: @odd_columns
  // SELECT: lowering_config = #graph.lowering_config<"gemm",
  func.func @odd_columns(%x: tensor<?x48xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 256 : i64} {
    %w = graph.load_weight @odd : tensor<64x48x!graph.encoded<f16>>
    %y = graph.region (%a = %x : tensor<?x48xf32>, %b = %w : tensor<64x48x!graph.encoded<f16>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x48xf32>, tensor<64x48x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // Few rows are not worth it.
  // SELECT-LABEL: @few_rows
  // SELECT: lowering_config = #graph.lowering_config<"gemv",
  func.func @few_rows(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x256xf32> {graph.name = "y"})
      attributes {graph.rows = 8 : i64} {
    %w = graph.load_weight @w : tensor<256x128x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<256x128x!graph.encoded<q4_0>>) -> (tensor<?x256xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<256x128x!graph.encoded<q4_0>> -> tensor<?x256xf32>
      graph.yield %0 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }

  // Four heads on two of the cache: 64 of the 128 queries of a KV head for each of two workgroups.
  // SELECT-LABEL: @attention
  // SELECT: lowering_config = #graph.lowering_config<"sdpa_matrix", workgroup = [128, 1, 1], tile = [64, 32],
  // CHECK-LABEL: program.entry @attention
  // CHECK: program.dispatch @sdpa_4_2x64_matrix_64 groups [2, 2, 1]
  // SPIRV: program.kernel @sdpa_4_2x64_matrix_64
  // SPIRV-SAME: 131089, 6022,
  func.func @attention(%x: tensor<?x512xf32> {graph.name = "x"}, %pos: tensor<i32> {graph.name = "position"})
      -> (tensor<?x256xf32> {graph.name = "y"}) attributes {graph.rows = 64 : i64} {
    %kv:2 = graph.region (%a = %x : tensor<?x512xf32>, %p = %pos : tensor<i32>)
        -> (tensor<?x2x64xf32>, tensor<?x2x64xf32>) {
      %0 = graph.slice %a dim 1 offset 256 size 128 : tensor<?x512xf32> -> tensor<?x128xf32>
      %1 = graph.reshape %0 : tensor<?x128xf32> -> tensor<?x2x64xf32>
      %2 = graph.kv_append @k, %1, %p : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
      %3 = graph.slice %a dim 1 offset 384 size 128 : tensor<?x512xf32> -> tensor<?x128xf32>
      %4 = graph.reshape %3 : tensor<?x128xf32> -> tensor<?x2x64xf32>
      %5 = graph.kv_append @v, %4, %p : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
      graph.yield %2, %5 : tensor<?x2x64xf32>, tensor<?x2x64xf32>
    }
    %y = graph.region (%a = %x : tensor<?x512xf32>, %k = %kv#0 : tensor<?x2x64xf32>, %v = %kv#1 : tensor<?x2x64xf32>,
        %p = %pos : tensor<i32>) -> (tensor<?x256xf32>) {
      %0 = graph.slice %a dim 1 offset 0 size 256 : tensor<?x512xf32> -> tensor<?x256xf32>
      %1 = graph.reshape %0 : tensor<?x256xf32> -> tensor<?x4x64xf32>
      %2 = graph.sdpa %1, %k, %v, %p scale 1.250000e-01 causal
        : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
      %3 = graph.reshape %2 : tensor<?x4x64xf32> -> tensor<?x256xf32>
      graph.yield %3 : tensor<?x256xf32>
    }
    return %y : tensor<?x256xf32>
  }
}
