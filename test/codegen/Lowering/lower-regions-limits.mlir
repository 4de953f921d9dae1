// What does not fit a device's limits: weights are bound in parts, grids are folded.

// RUN: llmc-opt %s --split-input-file --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 256, max_buffer_range = 16384, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<132x128x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 132>]

  // 128 rows of codes are 16384 bytes. Both dispatches write the one result.
  // CHECK-LABEL: program.entry @linear "linear" rows 1
  // CHECK: %[[Y:.*]] = program.slice output "y" bytes 528
  // CHECK: %[[CODES0:.*]] = program.slice weight "w" bytes 16384
  // CHECK: %[[SCALES0:.*]] = program.slice weight "w" plane 1 bytes 1024
  // CHECK: program.dispatch @gemv_q8_0_128x128_rows_1 groups [8, 1, 1]({{.*}}%[[CODES0]], %[[SCALES0]]{{.*}}%[[Y]])
  // CHECK: %[[CODES1:.*]] = program.slice weight "w" bytes 2048 offset 16384
  // CHECK: %[[SCALES1:.*]] = program.slice weight "w" plane 1 bytes 128 offset 1024
  // CHECK: program.dispatch @gemv_q8_0_4x128_rows_1 groups [1, 1, 1]({{.*}}%[[CODES1]], %[[SCALES1]]{{.*}}%[[Y]])
  func.func @linear(%x: tensor<?x128xf32> {graph.name = "x"}) -> (tensor<?x132xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<132x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x128xf32>, %b = %w : tensor<132x128x!graph.encoded<q8_0>>) -> (tensor<?x132xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x128xf32>, tensor<132x128x!graph.encoded<q8_0>> -> tensor<?x132xf32>
      graph.yield %0 : tensor<?x132xf32>
    }
    return %y : tensor<?x132xf32>
  }

  // CHECK-LABEL: program.entry @gather "gather" rows 1
  // CHECK: program.slice weight "w" bytes 16384
  // CHECK: program.dispatch @embedding_q8_0_128x128_rows_1
  // CHECK: program.slice weight "w" bytes 2048 offset 16384
  // CHECK: program.dispatch @embedding_q8_0_4x128_rows_1
  func.func @gather(%t: tensor<?xi32> {graph.name = "tokens"}) -> (tensor<?x128xf32> {graph.name = "z"}) {
    %w = graph.load_weight @w : tensor<132x128x!graph.encoded<q8_0>>
    %y = graph.region (%a = %t : tensor<?xi32>, %b = %w : tensor<132x128x!graph.encoded<q8_0>>) -> (tensor<?x128xf32>) {
      %0 = graph.quantized_embedding %a, %b : tensor<?xi32>, tensor<132x128x!graph.encoded<q8_0>> -> tensor<?x128xf32>
      graph.yield %0 : tensor<?x128xf32>
    }
    return %y : tensor<?x128xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [4, 3, 2], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 256, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<112x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 112>]

  // Seven groups in lines of four: the eighth does nothing.
  // CHECK-LABEL: program.entry @linear "linear" rows 1
  // CHECK: program.dispatch @gemv_q8_0_112x64_rows_1 groups [4, 2, 1]
  // CHECK-LABEL: gpu.module @gemv_q8_0_112x64_rows_1_gpu
  // CHECK: %[[Y:.*]] = gpu.block_id y
  // CHECK: %[[LINE:.*]] = arith.muli %[[Y]], %c4
  // CHECK: %[[X:.*]] = gpu.block_id x
  // CHECK: %[[NUMBER:.*]] = arith.addi %[[LINE]], %[[X]]
  // CHECK: %[[WANTED:.*]] = arith.cmpi ult, %[[NUMBER]], %c7
  // CHECK: scf.if %[[WANTED]]
  // CHECK: gpu.barrier
  func.func @linear(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x112xf32> {graph.name = "y"}) {
    %w = graph.load_weight @w : tensor<112x64x!graph.encoded<q8_0>>
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<112x64x!graph.encoded<q8_0>>) -> (tensor<?x112xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<112x64x!graph.encoded<q8_0>> -> tensor<?x112xf32>
      graph.yield %0 : tensor<?x112xf32>
    }
    return %y : tensor<?x112xf32>
  }
}
