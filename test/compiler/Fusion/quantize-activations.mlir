// RUN: llmc-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(llmc-quantize-activations))' | FileCheck %s

module attributes {target.device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = ["int_dot"],
  quirks = [], prefill_activations = "i8">} {
  graph.weight @gain : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  graph.weight @w4 : tensor<32x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  graph.weight @w8 : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  graph.weight @wf : tensor<32x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 32>]

  // Once for all linears on codes; the one on f16 reads floats. A norm's scale is a row's.
  // CHECK-LABEL: @norm_r32
  // CHECK: %[[N:.+]] = graph.rms_norm
  // CHECK-NEXT: %[[Q:.+]], %[[S:.+]], %[[T:.+]] = graph.quantize_activations %[[N]] group 0 :
  // CHECK-NOT: graph.quantize_activations
  // CHECK: graph.quantized_linear %[[Q]], %{{.+}} scales %[[S]] : tensor<?xf32> sums %[[T]] : tensor<?x2xf32> : tensor<?x64xi8>, {{.*}}q4_0
  // CHECK: graph.quantized_linear %[[Q]], %{{.+}} scales %[[S]] : tensor<?xf32> sums %[[T]] : tensor<?x2xf32> : tensor<?x64xi8>, {{.*}}q8_0
  // CHECK: graph.quantized_linear %[[N]], %{{.+}} : tensor<?x64xf32>, {{.*}}f16
  func.func @norm_r32(%x: tensor<?x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {graph.rows = 32 : i64} {
    %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
    %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
    %n = graph.rms_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    %w4 = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
    %w8 = graph.load_weight @w8 : tensor<32x64x!graph.encoded<q8_0>>
    %wf = graph.load_weight @wf : tensor<32x64x!graph.encoded<f16>>
    %a = graph.quantized_linear %n, %w4 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
    %b = graph.quantized_linear %n, %w8 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q8_0>> -> tensor<?x32xf32>
    %c = graph.quantized_linear %n, %wf : tensor<?x64xf32>, tensor<32x64x!graph.encoded<f16>> -> tensor<?x32xf32>
    return %a, %b, %c : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
  }

  // Outliers behind a layer_norm are left as they are; what a linear gives is quantized for 32 columns.
  // CHECK-LABEL: @layer_norm_r32
  // CHECK: %[[N:.+]] = graph.layer_norm
  // CHECK-NOT: graph.quantize_activations
  // CHECK: %[[A:.+]] = graph.quantized_linear %[[N]], %{{.+}} : tensor<?x64xf32>, {{.*}}q4_0
  // CHECK-NEXT: %[[Q:.+]], %[[S:.+]], %{{.+}} = graph.quantize_activations %[[A]] group 32
  // CHECK: graph.quantized_linear %[[Q]], %{{.+}} scales %[[S]]
  graph.weight @down : tensor<64x32x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  func.func @layer_norm_r32(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.rows = 32 : i64} {
    %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
    %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
    %n = graph.layer_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    %w4 = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
    %w8 = graph.load_weight @down : tensor<64x32x!graph.encoded<q8_0>>
    %a = graph.quantized_linear %n, %w4 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
    %b = graph.quantized_linear %a, %w8 : tensor<?x32xf32>, tensor<64x32x!graph.encoded<q8_0>> -> tensor<?x64xf32>
    return %b : tensor<?x64xf32>
  }

  // Few rows are no matrix product.
  // CHECK-LABEL: @norm_r8
  // CHECK-NOT: graph.quantize_activations
  func.func @norm_r8(%x: tensor<?x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {graph.rows = 8 : i64} {
    %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
    %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
    %n = graph.rms_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    %w4 = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
    %w8 = graph.load_weight @w8 : tensor<32x64x!graph.encoded<q8_0>>
    %wf = graph.load_weight @wf : tensor<32x64x!graph.encoded<f16>>
    %a = graph.quantized_linear %n, %w4 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
    %b = graph.quantized_linear %n, %w8 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q8_0>> -> tensor<?x32xf32>
    %c = graph.quantized_linear %n, %wf : tensor<?x64xf32>, tensor<32x64x!graph.encoded<f16>> -> tensor<?x32xf32>
    return %a, %b, %c : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
  }

  // Whatever no norm gives has a scale for 32 columns: here an argument. Q2_K has offsets for 16.
  // CHECK-LABEL: @argument_r32(%arg0: tensor<?x256xf32>)
  // CHECK-NEXT: %[[Q:.+]], %[[S:.+]], %[[T:.+]] = graph.quantize_activations %arg0 group 32
  // CHECK: graph.quantized_linear %[[Q]], %{{.+}} scales %[[S]] : tensor<?x8xf32> sums %[[T]] : tensor<?x8xf32>
  // CHECK: graph.quantized_linear %arg0, %{{.+}} : tensor<?x256xf32>, {{.*}}q2_k
  graph.weight @w6 : tensor<32x256x!graph.encoded<q6_k>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  graph.weight @w2 : tensor<32x256x!graph.encoded<q2_k>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  func.func @argument_r32(%x: tensor<?x256xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) attributes {graph.rows = 32 : i64} {
    %w6 = graph.load_weight @w6 : tensor<32x256x!graph.encoded<q6_k>>
    %w2 = graph.load_weight @w2 : tensor<32x256x!graph.encoded<q2_k>>
    %a = graph.quantized_linear %x, %w6 : tensor<?x256xf32>, tensor<32x256x!graph.encoded<q6_k>> -> tensor<?x32xf32>
    %b = graph.quantized_linear %x, %w2 : tensor<?x256xf32>, tensor<32x256x!graph.encoded<q2_k>> -> tensor<?x32xf32>
    return %a, %b : tensor<?x32xf32>, tensor<?x32xf32>
  }
}

// -----
module attributes {target.device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8, 32], kv_type = "f32", features = ["int_dot"],
  quirks = [], prefill_activations = "f32">} {
  graph.weight @gain : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
  graph.weight @w4 : tensor<32x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  graph.weight @w8 : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
  graph.weight @wf : tensor<32x64x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 32>]

  // The device keeps floats.
  // CHECK-LABEL: @floats_r32
  // CHECK-NOT: graph.quantize_activations
  func.func @floats_r32(%x: tensor<?x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {graph.rows = 32 : i64} {
    %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
    %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
    %n = graph.rms_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
    %w4 = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
    %w8 = graph.load_weight @w8 : tensor<32x64x!graph.encoded<q8_0>>
    %wf = graph.load_weight @wf : tensor<32x64x!graph.encoded<f16>>
    %a = graph.quantized_linear %n, %w4 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
    %b = graph.quantized_linear %n, %w8 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q8_0>> -> tensor<?x32xf32>
    %c = graph.quantized_linear %n, %wf : tensor<?x64xf32>, tensor<32x64x!graph.encoded<f16>> -> tensor<?x32xf32>
    return %a, %b, %c : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
  }
}
