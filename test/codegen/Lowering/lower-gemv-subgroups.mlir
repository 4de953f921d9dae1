// RUN: llmc-opt %s --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-lower-regions | FileCheck %s --check-prefix=KERNEL

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_arithmetic", "subgroup_arithmetic", "subgroup_shuffle"], quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x256x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  graph.weight @gain : tensor<256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 256>]

  // Four tiles are dealt to eight workgroups; lanes that share a quad, one of two, add up: distances 2 to 16. Each lane has
  // one share, so there is no loop. Nibbles are the mantissas of f16, 1024 too large.
  // CHECK-LABEL: program.entry @dealt
  // CHECK: program.dispatch @gemv_q4_0_64x256_rows_1 groups [8, 1, 1]
  // KERNEL: gpu.module @gemv_q4_0_64x256_rows_1_gpu
  // KERNEL-NOT: scf.for
  // KERNEL: arith.constant dense<1677747200> : vector<4xi32>
  // KERNEL: spirv.Bitcast {{.*}} : i32 to vector<2xf16>
  // KERNEL: arith.constant dense<1.024000e+03> : vector<2xf16>
  // KERNEL: arith.subf {{.*}} : vector<2xf16>
  // KERNEL: arith.extf {{.*}} : f16 to f32
  // KERNEL-NOT: scf.for
  // KERNEL: gpu.shuffle xor
  func.func @dealt(%x: tensor<?x256xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x256x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x256xf32>, %b = %w : tensor<64x256x!graph.encoded<q4_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 8], splits = 2, reduction = subgroup, decode = halves>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x256xf32>, tensor<64x256x!graph.encoded<q4_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // The squares of a norm are those of the eight numbers that the lane multiplies, of each of which two lanes have one.
  // CHECK-LABEL: program.entry @normed
  // KERNEL: gpu.module @gemv_q4_0_64x256_rows_1_norm_gpu
  // KERNEL-NOT: scf.for
  // KERNEL-COUNT-4: memref.load {{.*}} : memref<?xvector<4xf32>
  // KERNEL-NOT: memref.load {{.*}} : memref<?xvector<4xf32>, #spirv.storage_class<StorageBuffer>>
  // KERNEL: gpu.subgroup_reduce add
  // KERNEL: gpu.barrier
  // KERNEL: arith.constant 0.001953125 : f32
  func.func @normed(%x: tensor<?x256xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x256x!graph.encoded<q4_0>>
    %gain = graph.load_weight @gain : tensor<256x!graph.encoded<f32>>
    %y = graph.region (%a = %x : tensor<?x256xf32>, %b = %w : tensor<64x256x!graph.encoded<q4_0>>, %c = %gain : tensor<256x!graph.encoded<f32>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 8], splits = 2, reduction = subgroup, decode = halves>} {
      %g = graph.dequantize %c : tensor<256x!graph.encoded<f32>> -> tensor<256xf32>
      %n = graph.rms_norm %a, %g epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
      %0 = graph.quantized_linear %n, %b : tensor<?x256xf32>, tensor<64x256x!graph.encoded<q4_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // What is added is loaded before the weights, by all lanes: those beyond the two results load that of the first.
  // CHECK-LABEL: program.entry @residual
  // KERNEL: gpu.module @gemv_q4_0_64x256_rows_1_1_gpu
  // KERNEL-NOT: scf.if
  // KERNEL: arith.select {{.*}} : index
  // KERNEL: %[[ADDED:.*]] = memref.load %arg3[{{.*}}] : memref<?xvector<4xf32>, #spirv.storage_class<StorageBuffer>>
  // KERNEL: memref.load %arg1[
  // KERNEL: gpu.barrier
  // KERNEL-NOT: memref.load %arg3
  // KERNEL: arith.addf {{.*}}, %[[ADDED]] : vector<4xf32>
  // KERNEL: gpu.return
  func.func @residual(%x: tensor<?x256xf32> {graph.name = "x"}, %r: tensor<?x64xf32> {graph.name = "r"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x256x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x256xf32>, %b = %w : tensor<64x256x!graph.encoded<q4_0>>, %c = %r : tensor<?x64xf32>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 8], splits = 2, reduction = subgroup, decode = halves>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x256xf32>, tensor<64x256x!graph.encoded<q4_0>> -> tensor<?x64xf32>
      %1 = graph.add %0, %c : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
      graph.yield %1 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // Three workgroups go over four tiles: a loop with its barriers.
  // CHECK-LABEL: program.entry @in_turn
  // CHECK: program.dispatch @gemv_q4_0_64x256_rows_1_2 groups [3, 1, 1]
  // KERNEL: gpu.module @gemv_q4_0_64x256_rows_1_2_gpu
  // KERNEL: scf.for
  // KERNEL: gpu.shuffle xor
  // KERNEL: gpu.barrier
  // KERNEL: gpu.barrier
  // KERNEL: gpu.return
  func.func @in_turn(%x: tensor<?x256xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<64x256x!graph.encoded<q4_0>>
    %y = graph.region (%a = %x : tensor<?x256xf32>, %b = %w : tensor<64x256x!graph.encoded<q4_0>>) -> (tensor<?x64xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [1, 4, 32, 0, 3], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x256xf32>, tensor<64x256x!graph.encoded<q4_0>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
