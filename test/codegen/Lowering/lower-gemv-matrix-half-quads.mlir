// RUN: llmc-opt %s --llmc-lower-regions --split-input-file | FileCheck %s
// RUN: llmc-opt %s --llmc-lower-regions --llmc-convert-kernels-to-spirv --split-input-file | FileCheck %s --check-prefix=SPIRV

// 16 rows of the weight a workgroup: a lane has two rows of a quad, and one matrix a unit instead of two.

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device} {
  graph.weight @w : tensor<80x1024x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 80>]

  // Five tiles of 16 rows are five workgroups. Codes and the factors of a superblock are bound as vectors of two words; of a
  // header's bytes the upper two are brought down for odd lane groups. Eight chunks for 32 subgroups: most have none. Four
  // steps, two columns at a time: eight products. Sums of two rows meet in workgroup memory, eight of each of 32 subgroups.
  // CHECK-LABEL: program.entry @header
  // CHECK: program.dispatch @gemv_q4_k_80x1024_rows_1_matrix groups [5, 1, 1]
  // CHECK: gpu.func @main({{.*}}memref<?xvector<4xf32>, {{.*}}memref<?xvector<2xi32>, {{.*}}memref<?xvector<2xi32>, {{.*}}memref<?xi32,
  // CHECK-NOT: memref<?xvector<4xi32>
  // CHECK-COUNT-4: memref.load {{.*}} : memref<?xvector<2xi32>
  // CHECK: arith.constant dense<[0, 8]> : vector<2xi32>
  // CHECK: gpu.barrier
  // CHECK-COUNT-8: gpu.subgroup_mma_compute
  // CHECK-NOT: gpu.subgroup_mma_compute
  // CHECK: memref.alloc() : memref<256xvector<2xf32>
  // CHECK: gpu.barrier
  // CHECK-COUNT-64: memref.load {{.*}} : memref<256xvector<2xf32>
  // CHECK: vector.from_elements {{.*}} : vector<4xf32>
  // SPIRV: program.kernel @gemv_q4_k_80x1024_rows_1_matrix
  // SPIRV-SAME: spirv [119734787, 67072,
  // SPIRV-SAME: 131089, 6022,
  func.func @header(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x80xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<80x1024x!graph.encoded<q4_k>>
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<80x1024x!graph.encoded<q4_k>>) -> (tensor<?x80xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [1024, 1, 1], tile = [1, 16, 128, 0], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<80x1024x!graph.encoded<q4_k>> -> tensor<?x80xf32>
      graph.yield %0 : tensor<?x80xf32>
    }
    return %y : tensor<?x80xf32>
  }
}

// -----

#device = #target.device<name = "test", family = nvidia, subgroup_size = 32, max_invocations = 1024,
  max_workgroup_size = [1024, 1024, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 49152,
  workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 255, compute_units = 2,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 6, vulkan_minor = 3, max_unroll = 32, row_buckets = [1], kv_type = "f16",
  features = ["f16_storage", "f16_arithmetic", "i8_arithmetic", "subgroup_arithmetic", "subgroup_shuffle", "f16_matrix"],
  quirks = [], prefill_activations = "f16">
module attributes {target.device = #device} {
  graph.weight @w : tensor<80x1024x!graph.encoded<q6_k>> from [#graph.source<file = 0, offset = 0, rows = 80>]

  // High bits likewise; of the bytes of scales and the f16 of a superblock one word each. Sixteen chunks for eight subgroups
  // are two turns of four products.
  // CHECK-LABEL: program.entry @planes
  // CHECK: gpu.func @main({{.*}}memref<?xvector<4xf32>, {{.*}}memref<?xvector<2xi32>, {{.*}}memref<?xvector<2xi32>, {{.*}}memref<?xi32, {{.*}}memref<?xi32,
  // CHECK-NOT: memref<?xvector<4xi32>
  // CHECK: arith.constant dense<[24, 16]> : vector<2xi32>
  // CHECK: gpu.barrier
  // CHECK-COUNT-8: gpu.subgroup_mma_compute
  // CHECK-NOT: gpu.subgroup_mma_compute
  // SPIRV: program.kernel @gemv_q6_k_80x1024_rows_1_matrix
  // SPIRV-SAME: spirv [119734787, 67072,
  func.func @planes(%x: tensor<?x1024xf32> {graph.name = "x"}) -> (tensor<?x80xf32> {graph.name = "y"})
      attributes {graph.rows = 1 : i64} {
    %w = graph.load_weight @w : tensor<80x1024x!graph.encoded<q6_k>>
    %y = graph.region (%a = %x : tensor<?x1024xf32>, %b = %w : tensor<80x1024x!graph.encoded<q6_k>>) -> (tensor<?x80xf32>)
        attributes {lowering_config = #graph.lowering_config<"gemv_matrix", workgroup = [256, 1, 1], tile = [1, 16, 64, 0], reduction = subgroup>} {
      %0 = graph.quantized_linear %a, %b : tensor<?x1024xf32>, tensor<80x1024x!graph.encoded<q6_k>> -> tensor<?x80xf32>
      graph.yield %0 : tensor<?x80xf32>
    }
    return %y : tensor<?x80xf32>
  }
}
