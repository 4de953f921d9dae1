// RUN: llmc-opt %s --split-input-file --llmc-select-lowering-configs --llmc-lower-regions | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w0 : tensor<66x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 66>]
  graph.weight @w1 : tensor<66x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 4488, rows = 66>]

  // Rows are padded to four elements; each plane of a weight is a binding; equal kernels are one.
  // CHECK-LABEL: program.entry @f_r4 "f" rows 4 {
  // CHECK: %[[X:.*]] = program.slice input "x" bytes 1024 value tensor<?x64xf32> {row_bytes = 256 : i64, rows = 4 : i64}
  // CHECK: %[[Y0:.*]] = program.slice output "y0" bytes 1088 value tensor<?x66xf32> {row_bytes = 272 : i64, rows = 4 : i64}
  // CHECK: %[[CODES:.*]] = program.slice weight "w0" bytes 5120
  // CHECK: %[[SCALES:.*]] = program.slice weight "w0" plane 1 bytes 320
  // CHECK: %[[STEP:.*]] = program.slice step bytes 64
  // CHECK: program.dispatch @[[KERNEL:gemv_q8_0_66x64_rows_4]] groups [5, 1, 1](
  // CHECK-SAME: access [1, 1, 1, 1, 2] "gemv q8_0 66x64 rows 4"
  // CHECK: program.dispatch @[[KERNEL]] groups [5, 1, 1]
  // CHECK: }
  // CHECK: program.kernel @[[KERNEL]] "gemv q8_0 66x64 rows 4" workgroup [16, 1, 1] bindings 5
  // CHECK-SAME: config #graph.lowering_config<"gemv"
  // CHECK: gpu.module @gemv_q8_0_66x64_rows_4_gpu
  // CHECK-NOT: gpu.module
  // CHECK-NOT: func.func
  func.func @f_r4(%x: tensor<?x64xf32> {graph.name = "x"})
      -> (tensor<?x66xf32> {graph.name = "y0"}, tensor<?x66xf32> {graph.name = "y1"})
      attributes {graph.rows = 4 : i64, graph.function = "f"} {
    %w0 = graph.load_weight @w0 : tensor<66x64x!graph.encoded<q8_0>>
    %w1 = graph.load_weight @w1 : tensor<66x64x!graph.encoded<q8_0>>
    %y0 = graph.region (%a = %x : tensor<?x64xf32>, %b = %w0 : tensor<66x64x!graph.encoded<q8_0>>) -> (tensor<?x66xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<66x64x!graph.encoded<q8_0>> -> tensor<?x66xf32>
      graph.yield %0 : tensor<?x66xf32>
    }
    %y1 = graph.region (%a = %x : tensor<?x64xf32>, %b = %w1 : tensor<66x64x!graph.encoded<q8_0>>) -> (tensor<?x66xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<66x64x!graph.encoded<q8_0>> -> tensor<?x66xf32>
      graph.yield %0 : tensor<?x66xf32>
    }
    return %y0, %y1 : tensor<?x66xf32>, tensor<?x66xf32>
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = [],
  quirks = []>
module attributes {target.device = #device} {
  graph.weight @w : tensor<64x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 64>]

  // A result that another function reads is kept, whatever the bucket of either.
  // CHECK-LABEL: program.entry @first_r32 "first" rows 32
  // CHECK: program.slice input "x"
  // CHECK: program.slice kept "hidden" bytes 8192
  func.func @first_r32(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "hidden"})
      attributes {graph.rows = 32 : i64, graph.function = "first"} {
    %w = graph.load_weight @w : tensor<64x64x!graph.encoded<f16>>
    %y = graph.region (%a = %x : tensor<?x64xf32>, %b = %w : tensor<64x64x!graph.encoded<f16>>) -> (tensor<?x64xf32>) {
      %0 = graph.quantized_linear %a, %b : tensor<?x64xf32>, tensor<64x64x!graph.encoded<f16>> -> tensor<?x64xf32>
      graph.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }

  // Columns that are sliced off are read where they lie; the scalar is a word of the step.
  // CHECK-LABEL: program.entry @second_r1 "second" rows 1
  // CHECK: program.slice kept "hidden" bytes 256
  // CHECK-NOT: program.slice input
  // CHECK: program.slice output "y"
  // CHECK-NOT: program.slice arena
  // CHECK: program.kernel
  func.func @second_r1(%h: tensor<?x64xf32> {graph.name = "hidden"}, %first: tensor<i32> {graph.name = "first_row"})
      -> (tensor<?x32xf32> {graph.name = "y"}) attributes {graph.rows = 1 : i64, graph.function = "second"} {
    %s = graph.slice %h dim 1 offset 32 size 32 : tensor<?x64xf32> -> tensor<?x32xf32>
    %y = graph.region (%a = %s : tensor<?x32xf32>) -> (tensor<?x32xf32>) {
      %0 = graph.silu %a : tensor<?x32xf32>
      graph.yield %0 : tensor<?x32xf32>
    }
    return %y : tensor<?x32xf32>
  }
}
