// RUN: llmc-opt %s -llmc-fuse-horizontal-linears | FileCheck %s

// CHECK:     graph.weight @"wq+wk+wv" : tensor<32x64x!graph.encoded<q4_0>> from
// CHECK-SAME:  [#graph.source<file = 0, offset = 0, rows = 16>, #graph.source<file = 0, offset = 1024, rows = 8>, #graph.source<file = 1, offset = 0, rows = 8>]
// CHECK-NOT: graph.weight @wq :
// CHECK:     graph.weight @wk :
// CHECK-NOT: graph.weight @wv :
graph.weight @wq : tensor<16x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 16>]
graph.weight @wk : tensor<8x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 1024, rows = 8>]
graph.weight @wv : tensor<8x64x!graph.encoded<q4_0>> from [#graph.source<file = 1, offset = 0, rows = 8>]
// CHECK:     graph.weight @wv6 :
graph.weight @wv6 : tensor<8x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 2048, rows = 8>]
graph.weight @odd : tensor<6x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 4096, rows = 6>]
// CHECK:     graph.weight @"bq+bk" : tensor<24x!graph.encoded<f32>> from
// CHECK-SAME:  [#graph.source<file = 0, offset = 5000, rows = 16>, #graph.source<file = 0, offset = 6000, rows = 8>]
graph.weight @bq : tensor<16x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 5000, rows = 16>]
graph.weight @bk : tensor<8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 6000, rows = 8>]

// CHECK-LABEL: @query_key_value
func.func @query_key_value(%x: tensor<?x64xf32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NEXT: %[[W:.+]] = graph.load_weight @"wq+wk+wv"
  // CHECK-NEXT: %[[Y:.+]] = graph.quantized_linear %arg0, %[[W]] : {{.*}} -> tensor<?x32xf32>
  // CHECK-NEXT: %[[Q:.+]] = graph.slice %[[Y]] dim 1 offset 0 size 16
  // CHECK-NEXT: %[[K:.+]] = graph.slice %[[Y]] dim 1 offset 16 size 8
  // CHECK-NEXT: %[[V:.+]] = graph.slice %[[Y]] dim 1 offset 24 size 8
  // CHECK-NEXT: return %[[Q]], %[[K]], %[[V]]
  %wq = graph.load_weight @wq : tensor<16x64x!graph.encoded<q4_0>>
  %q = graph.quantized_linear %x, %wq : tensor<?x64xf32>, tensor<16x64x!graph.encoded<q4_0>> -> tensor<?x16xf32>
  %wk = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %k = graph.quantized_linear %x, %wk : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  %wv = graph.load_weight @wv : tensor<8x64x!graph.encoded<q4_0>>
  %v = graph.quantized_linear %x, %wv : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return %q, %k, %v : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// Only linears of one encoding are joined; their biases go along.
// CHECK-LABEL: @mixed_encodings_with_biases
func.func @mixed_encodings_with_biases(%x: tensor<?x64xf32>) -> (tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NEXT: %[[W:.+]] = graph.load_weight @"wq+wk"
  // CHECK-NEXT: %[[Y:.+]] = graph.quantized_linear %arg0, %[[W]] : {{.*}} -> tensor<?x24xf32>
  // CHECK-NEXT: %[[B:.+]] = graph.load_weight @"bq+bk"
  // CHECK-NEXT: %[[D:.+]] = graph.dequantize %[[B]] : {{.*}} -> tensor<24xf32>
  // CHECK-NEXT: %[[Z:.+]] = graph.add %[[Y]], %[[D]]
  // CHECK-NEXT: graph.slice %[[Z]] dim 1 offset 0 size 16
  // CHECK-NEXT: graph.slice %[[Z]] dim 1 offset 16 size 8
  // CHECK-NEXT: %[[WV:.+]] = graph.load_weight @wv6
  // CHECK-NEXT: graph.quantized_linear %arg0, %[[WV]]
  // CHECK-NEXT: return
  %wq = graph.load_weight @wq : tensor<16x64x!graph.encoded<q4_0>>
  %q = graph.quantized_linear %x, %wq : tensor<?x64xf32>, tensor<16x64x!graph.encoded<q4_0>> -> tensor<?x16xf32>
  %bq = graph.load_weight @bq : tensor<16x!graph.encoded<f32>>
  %dq = graph.dequantize %bq : tensor<16x!graph.encoded<f32>> -> tensor<16xf32>
  %q1 = graph.add %q, %dq : tensor<?x16xf32>, tensor<16xf32> -> tensor<?x16xf32>
  %wk = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %k = graph.quantized_linear %x, %wk : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  %bk = graph.load_weight @bk : tensor<8x!graph.encoded<f32>>
  %dk = graph.dequantize %bk : tensor<8x!graph.encoded<f32>> -> tensor<8xf32>
  %k1 = graph.add %k, %dk : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %wv = graph.load_weight @wv6 : tensor<8x64x!graph.encoded<q8_0>>
  %v = graph.quantized_linear %x, %wv : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q8_0>> -> tensor<?x8xf32>
  return %q1, %k1, %v : tensor<?x16xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// One bias only: it is added after the slice.
// CHECK-LABEL: @one_bias
func.func @one_bias(%x: tensor<?x64xf32>) -> (tensor<?x16xf32>, tensor<?x8xf32>) {
  // CHECK:      %[[Y:.+]] = graph.quantized_linear
  // CHECK-NEXT: %[[Q:.+]] = graph.slice %[[Y]] dim 1 offset 0 size 16
  // CHECK-NEXT: %[[K:.+]] = graph.slice %[[Y]] dim 1 offset 16 size 8
  // CHECK:      %[[Q1:.+]] = graph.add %[[Q]]
  // CHECK:      return %[[Q1]], %[[K]]
  %wq = graph.load_weight @wq : tensor<16x64x!graph.encoded<q4_0>>
  %q = graph.quantized_linear %x, %wq : tensor<?x64xf32>, tensor<16x64x!graph.encoded<q4_0>> -> tensor<?x16xf32>
  %bq = graph.load_weight @bq : tensor<16x!graph.encoded<f32>>
  %dq = graph.dequantize %bq : tensor<16x!graph.encoded<f32>> -> tensor<16xf32>
  %q1 = graph.add %q, %dq : tensor<?x16xf32>, tensor<16xf32> -> tensor<?x16xf32>
  %wk = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %k = graph.quantized_linear %x, %wk : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return %q1, %k : tensor<?x16xf32>, tensor<?x8xf32>
}

// CHECK-LABEL: @gate_and_up
func.func @gate_and_up(%x: tensor<?x64xf32>) -> tensor<?x8xf32> {
  // CHECK:     graph.load_weight @wk
  // CHECK:     graph.load_weight @wk
  // CHECK-NOT: graph.slice
  %w0 = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %gate = graph.quantized_linear %x, %w0 : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  %w1 = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %up = graph.quantized_linear %x, %w1 : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  %s = graph.silu %gate : tensor<?x8xf32>
  %y = graph.mul %s, %up : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @different_inputs
func.func @different_inputs(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: graph.slice
  %w0 = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %a = graph.quantized_linear %x, %w0 : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  %b = graph.quantized_linear %z, %w0 : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return %a, %b : tensor<?x8xf32>, tensor<?x8xf32>
}

// The slice of the second linear would start at element 6.
// CHECK-LABEL: @unaligned
func.func @unaligned(%x: tensor<?x64xf32>) -> (tensor<?x6xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: graph.slice
  %w0 = graph.load_weight @odd : tensor<6x64x!graph.encoded<q4_0>>
  %a = graph.quantized_linear %x, %w0 : tensor<?x64xf32>, tensor<6x64x!graph.encoded<q4_0>> -> tensor<?x6xf32>
  %w1 = graph.load_weight @wk : tensor<8x64x!graph.encoded<q4_0>>
  %b = graph.quantized_linear %x, %w1 : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return %a, %b : tensor<?x6xf32>, tensor<?x8xf32>
}
