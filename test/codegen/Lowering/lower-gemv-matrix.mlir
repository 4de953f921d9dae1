// RUN: llmc-opt %s --llmc-lower-regions | FileCheck %s
// RUN: llmc-opt %s --llmc-lower-regions | FileCheck %s --check-prefix=KERNEL
// RUN: llmc-opt %s --llmc-lower-regions --llmc-convert-kernels-to-spirv | FileCheck %s --check-prefix=SPIRV

// One row of K-quants in matrix units, whose fragments are the words of codes under masks.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device} {
  graph.weight @w : tensor<80x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 80>]
  graph.weight @v : tensor<2048x256x!graph.encoded<q6_k>> from [#graph.source<file = 0, offset = 0, rows = 2048>]
  graph.weight @gain : tensor<256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 256>]

  // Eight chunks of 128 columns for eight subgroups, so that there is no loop over them; five tiles of 16 rows for three
  // workgroups. Weights are loaded before the input is prepared, which all subgroups need: the largest of 32 columns, the
  // words of 22 bits, behind a barrier. Codes of columns 0 and 2, 4 and 6 (sixteen times too large), 1 and 3, 5 and 7 are
  // the halves of words.
  // CHECK-LABEL: program.entry @few
  // CHECK: program.dispatch @gemv_q4_k_80x1024_rows_1_matrix groups [3, 1, 1]
  // KERNEL: gpu.module @gemv_q4_k_80x1024_rows_1_matrix_gpu
  // KERNEL-COUNT-4: memref.load {{.*}} : memref<?xvector<4xi32>
  // KERNEL: scf.for
  // KERNEL: gpu.shuffle xor
  // KERNEL: arith.constant -8192 : i32
  // KERNEL: spirv.GL.PackHalf2x16
  // KERNEL: arith.constant 0x4B800000 : f32
  // KERNEL: gpu.barrier
  // KERNEL-NOT: scf.for
  // KERNEL: arith.constant dense<983055> : vector<4xi32>
  // KERNEL: arith.constant dense<15728880> : vector<4xi32>
  // KERNEL-COUNT-16: gpu.subgroup_mma_compute {{.*}} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x8xf16, "BOp">
  // KERNEL: gpu.subgroup_mma_extract_thread_local
  // KERNEL: gpu.barrier
  // SPIRV: program.kernel @gemv_q4_k_80x1024_rows_1_matrix
  // SPIRV-SAME: spirv [119734787, 67072,
  // SPIRV-SAME: 131089, 6022,
  // SPIRV-SAME: 196622, 0, 3,
  func.func @few(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x80xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<80x1024x!graph.encoded<q4_k>>
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<80x1024x!graph.encoded<q4_k>>) -> (tensor<?x80xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [256, 1, 1], tile = [1, 32, 128, 0], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<80x1024x!graph.encoded<q4_k>> -> tensor<?x80xf32>
      graph.yield %0 : tensor<?x80xf32>
    }
    return %y : tensor<?x80xf32>
  }

  // 64 times two tiles, four chunks of 64 columns each: sixteen workgroups of eight subgroups go over them, with the input in
  // workgroup memory behind one barrier. A round of the loop over chunks loads the next one, without a branch, before it
  // multiplies what the round before loaded. Upper bits come from another plane to bits 4 and 8.
  // CHECK-LABEL: program.entry @vocabulary
  // CHECK: program.dispatch @gemv_q6_k_2048x256_rows_1_norm_matrix groups [16, 1, 1]
  // KERNEL: gpu.module @gemv_q6_k_2048x256_rows_1_norm_matrix_gpu
  // KERNEL: scf.for
  // KERNEL-NOT: gpu.subgroup_mma_compute
  // KERNEL: gpu.barrier
  // KERNEL: scf.for
  // KERNEL: scf.for {{.*}} iter_args
  // KERNEL-NOT: scf.if
  // KERNEL-COUNT-3: memref.load {{.*}} : memref<?xvector<4xi32>
  // KERNEL: arith.constant dense<3145776> : vector<4xi32>
  // KERNEL: arith.constant dense<50332416> : vector<4xi32>
  // KERNEL-COUNT-8: gpu.subgroup_mma_compute
  // KERNEL-NOT: gpu.barrier
  // KERNEL: gpu.return
  func.func @vocabulary(%x: tensor<?x256xf32> {graph.name = "x"}) -> (tensor<?x2048xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %v = graph.load_weight @v : tensor<2048x256x!graph.encoded<q6_k>>
    %gain = graph.load_weight @gain : tensor<256x!graph.encoded<f32>>
    %y = graph.region (%a = %x : tensor<?x256xf32>, %b = %v : tensor<2048x256x!graph.encoded<q6_k>>, %c = %gain : tensor<256x!graph.encoded<f32>>) -> (tensor<?x2048xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [256, 1, 1], tile = [1, 32, 64, 16], reduction = subgroup>} {
      %g = graph.dequantize %c : tensor<256x!graph.encoded<f32>> -> tensor<256xf32>
      %n = graph.rms_norm %a, %g epsilon 1.0e-5 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
      %0 = graph.quantized_linear %n, %b : tensor<?x256xf32>, tensor<2048x256x!graph.encoded<q6_k>> -> tensor<?x2048xf32>
      graph.yield %0 : tensor<?x2048xf32>
    }
    return %y : tensor<?x2048xf32>
  }
}
