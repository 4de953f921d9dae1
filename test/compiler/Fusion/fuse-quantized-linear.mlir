// RUN: llmc-opt %s -llmc-fuse-quantized-linear | FileCheck %s

graph.weight @w : tensor<8x64x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 8>]

// CHECK-LABEL: @linear
// CHECK-SAME:    %[[X:.+]]: tensor<?x64xf32>
func.func @linear(%x: tensor<?x64xf32>) -> tensor<?x8xf32> {
  // CHECK:      %[[W:.+]] = graph.load_weight @w
  // CHECK-NEXT: %[[Y:.+]] = graph.quantized_linear %[[X]], %[[W]] : {{.*}} -> tensor<?x8xf32>
  // CHECK-NEXT: return %[[Y]]
  %w = graph.load_weight @w : tensor<8x64x!graph.encoded<q4_0>>
  %d = graph.dequantize %w : tensor<8x64x!graph.encoded<q4_0>> -> tensor<8x64xf32>
  %y = graph.matmul %x, %d transpose_rhs : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Tied embeddings: both users read the encoded weight.
// CHECK-LABEL: @embedding_and_linear
func.func @embedding_and_linear(%tokens: tensor<?xi32>) -> tensor<?x8xf32> {
  // CHECK:      %[[W:.+]] = graph.load_weight @w
  // CHECK-NEXT: %[[E:.+]] = graph.quantized_embedding %arg0, %[[W]]
  // CHECK-NEXT: graph.quantized_linear %[[E]], %[[W]]
  %w = graph.load_weight @w : tensor<8x64x!graph.encoded<q4_0>>
  %d = graph.dequantize %w : tensor<8x64x!graph.encoded<q4_0>> -> tensor<8x64xf32>
  %e = graph.embedding %tokens, %d : tensor<?xi32>, tensor<8x64xf32> -> tensor<?x64xf32>
  %y = graph.matmul %e, %d transpose_rhs : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: @weight_not_transposed
func.func @weight_not_transposed(%x: tensor<?x8xf32>) -> tensor<?x64xf32> {
  // CHECK: graph.matmul
  %w = graph.load_weight @w : tensor<8x64x!graph.encoded<q4_0>>
  %d = graph.dequantize %w : tensor<8x64x!graph.encoded<q4_0>> -> tensor<8x64xf32>
  %y = graph.matmul %x, %d : tensor<?x8xf32>, tensor<8x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: @activations
func.func @activations(%x: tensor<?x64xf32>, %y: tensor<8x64xf32>) -> tensor<?x8xf32> {
  // CHECK: graph.matmul
  %z = graph.matmul %x, %y transpose_rhs : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// CHECK-LABEL: @batched
func.func @batched(%x: tensor<2x?x64xf32>) -> tensor<2x?x8xf32> {
  // CHECK: graph.matmul
  %w = graph.load_weight @w : tensor<8x64x!graph.encoded<q4_0>>
  %d = graph.dequantize %w : tensor<8x64x!graph.encoded<q4_0>> -> tensor<8x64xf32>
  %y = graph.matmul %x, %d transpose_rhs : tensor<2x?x64xf32>, tensor<8x64xf32> -> tensor<2x?x8xf32>
  return %y : tensor<2x?x8xf32>
}

// A gain is no linear: its dequantize stays.
graph.weight @gain : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 4096, rows = 64>]
// CHECK-LABEL: @gain_of_norm
func.func @gain_of_norm(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: graph.dequantize
  %w = graph.load_weight @gain : tensor<64x!graph.encoded<f32>>
  %d = graph.dequantize %w : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %y = graph.rms_norm %x, %d epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
