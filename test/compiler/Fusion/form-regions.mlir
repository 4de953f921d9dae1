// RUN: llmc-opt %s -llmc-form-regions | FileCheck %s

graph.weight @gain : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @bias : tensor<32x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @w4 : tensor<32x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @w6 : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]

// The last norm and the output matrix on chosen rows. Few rows: one dispatch.
// CHECK-LABEL: @logits_r8(
// CHECK:         %[[Y:.+]] = graph.region ({{.*}} -> (tensor<?x32xf32>) {
// CHECK-NEXT:      graph.select_rows
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.rms_norm
// CHECK-NEXT:      graph.quantized_linear
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @logits_r8(%hidden: tensor<?x64xf32>, %first: tensor<i32>) -> tensor<?x32xf32> attributes {graph.rows = 8 : i64} {
  %rows = graph.select_rows %hidden, %first : tensor<?x64xf32> -> tensor<?x64xf32>
  %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %rows, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %w = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
  %y = graph.quantized_linear %n, %w : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// Many rows: the norm is stored.
// CHECK-LABEL: @logits_r32(
// CHECK:         %[[N:.+]] = graph.region ({{.*}} -> (tensor<?x64xf32>) {
// CHECK-NEXT:      graph.select_rows
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.rms_norm
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Y:.+]] = graph.region (%{{.+}} = %[[N]] : tensor<?x64xf32>, {{.*}} -> (tensor<?x32xf32>) {
// CHECK-NEXT:      graph.quantized_linear
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @logits_r32(%hidden: tensor<?x64xf32>, %first: tensor<i32>) -> tensor<?x32xf32> attributes {graph.rows = 32 : i64} {
  %rows = graph.select_rows %hidden, %first : tensor<?x64xf32> -> tensor<?x64xf32>
  %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %rows, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %w = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
  %y = graph.quantized_linear %n, %w : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// Gate and up of unequal encodings: each has the norm, the later one the activation.
// CHECK-LABEL: @mixed_swiglu
// CHECK:         %[[G:.+]] = graph.region
// CHECK:           graph.rms_norm
// CHECK-NEXT:      graph.quantized_linear {{.*}}q4_0
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Y:.+]] = graph.region ({{.*}} = %[[G]] : tensor<?x32xf32>
// CHECK:           %[[N:.+]] = graph.rms_norm
// CHECK-NEXT:      %[[S:.+]] = graph.silu
// CHECK-NEXT:      %[[U:.+]] = graph.quantized_linear %[[N]], {{.*}}q8_0
// CHECK-NEXT:      graph.mul %[[S]], %[[U]]
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @mixed_swiglu(%x: tensor<?x64xf32>) -> tensor<?x32xf32> attributes {graph.rows = 1 : i64} {
  %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %w4 = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
  %gate = graph.quantized_linear %n, %w4 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
  %s = graph.silu %gate : tensor<?x32xf32>
  %w6 = graph.load_weight @w6 : tensor<32x64x!graph.encoded<q8_0>>
  %up = graph.quantized_linear %n, %w6 : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q8_0>> -> tensor<?x32xf32>
  %y = graph.mul %s, %up : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// The bias joins its linear; the sum is also returned, so that its square, a second result, stays out.
// CHECK-LABEL: @bias_and_second_user
// CHECK:         %[[Z:.+]] = graph.region
// CHECK-NEXT:      %[[L:.+]] = graph.quantized_linear
// CHECK-NEXT:      %[[B:.+]] = graph.dequantize
// CHECK-NEXT:      %[[S:.+]] = graph.add %[[L]], %[[B]]
// CHECK-NEXT:      graph.yield %[[S]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Q:.+]] = graph.region (%{{.+}} = %[[Z]] : tensor<?x32xf32>)
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Z]], %[[Q]]
func.func @bias_and_second_user(%x: tensor<?x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) attributes {graph.rows = 1 : i64} {
  %w = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
  %y = graph.quantized_linear %x, %w : tensor<?x64xf32>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
  %b = graph.load_weight @bias : tensor<32x!graph.encoded<f32>>
  %bias = graph.dequantize %b : tensor<32x!graph.encoded<f32>> -> tensor<32xf32>
  %z = graph.add %y, %bias : tensor<?x32xf32>, tensor<32xf32> -> tensor<?x32xf32>
  %q = graph.mul %z, %z : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %z, %q : tensor<?x32xf32>, tensor<?x32xf32>
}

// What has no root: element-wise ops together, the rest alone; dead ops go.
// CHECK-LABEL: @leftovers
// CHECK-NEXT:    %[[A:.+]] = graph.region (%{{.+}} = %arg0 : tensor<?x64xf32>)
// CHECK-NEXT:      graph.constant
// CHECK-NEXT:      graph.mul
// CHECK-NEXT:      graph.gelu
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[S:.+]] = graph.region (%{{.+}} = %[[A]] : tensor<?x64xf32>)
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V:.+]] = graph.region (%{{.+}} = %[[S]] : tensor<?x64xf32>)
// CHECK-NEXT:      graph.slice
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[V]]
func.func @leftovers(%x: tensor<?x64xf32>) -> tensor<?x16xf32> attributes {graph.rows = 1 : i64} {
  %dead = graph.tanh %x : tensor<?x64xf32>
  %c = graph.constant 2.0 : tensor<f32>
  %a = graph.mul %x, %c : tensor<?x64xf32>, tensor<f32> -> tensor<?x64xf32>
  %b = graph.gelu %a : tensor<?x64xf32>
  %s = graph.softmax %b : tensor<?x64xf32>
  %v = graph.slice %s dim 1 offset 16 size 16 : tensor<?x64xf32> -> tensor<?x16xf32>
  return %v : tensor<?x16xf32>
}

// Quantization belongs to what computes the activations; those are stored only where something else reads them.
// CHECK-LABEL: @quantized
// CHECK:         %[[R:.+]]:4 = graph.region ({{.*}} -> (tensor<?x64xf32>, tensor<?x64xi8>, tensor<?xf32>, tensor<?x2xf32>) {
// CHECK:           %[[N:.+]] = graph.rms_norm
// CHECK-NEXT:      %[[Q:.+]], %[[S:.+]], %[[T:.+]] = graph.quantize_activations %[[N]]
// CHECK-NEXT:      graph.yield %[[N]], %[[Q]], %[[S]], %[[T]]
// CHECK:         graph.region ({{.*}} = %[[R]]#1 : tensor<?x64xi8>, {{.*}} = %[[R]]#2 : tensor<?xf32>, {{.*}} = %[[R]]#3 : tensor<?x2xf32>)
// CHECK-NEXT:      graph.quantized_linear
func.func @quantized(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x32xf32>) attributes {graph.rows = 32 : i64} {
  %g = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %x, %gain epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %q, %s, %t = graph.quantize_activations %n group 0 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?xf32>, tensor<?x2xf32>
  %w = graph.load_weight @w4 : tensor<32x64x!graph.encoded<q4_0>>
  %y = graph.quantized_linear %q, %w scales %s : tensor<?xf32> sums %t : tensor<?x2xf32>
      : tensor<?x64xi8>, tensor<32x64x!graph.encoded<q4_0>> -> tensor<?x32xf32>
  return %n, %y : tensor<?x64xf32>, tensor<?x32xf32>
}
