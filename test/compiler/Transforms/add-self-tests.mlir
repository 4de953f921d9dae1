// RUN: llmc-opt %s -llmc-add-self-tests -split-input-file | FileCheck %s

// Regions that differ by the weight alone have one test; what another region computed is an input, and
// index arguments and scalars keep their names.

graph.weight @table : tensor<512x256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 512>]
graph.weight @first : tensor<64x256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 524288, rows = 64>]
graph.weight @second : tensor<64x256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 589824, rows = 64>]

// CHECK-LABEL: func.func @f_r4(
func.func @f_r4(%tokens: tensor<?xi32> {graph.name = "tokens"})
    -> (tensor<?x64xf32> {graph.name = "y"}, tensor<?x64xf32> {graph.name = "z"}) attributes {graph.function = "f", graph.rows = 4 : i64} {
  %t = graph.load_weight @table : tensor<512x256x!graph.encoded<f32>>
  %x = graph.region (%0 = %tokens : tensor<?xi32>, %1 = %t : tensor<512x256x!graph.encoded<f32>>) -> (tensor<?x256xf32>) {
    %2 = graph.quantized_embedding %0, %1 : tensor<?xi32>, tensor<512x256x!graph.encoded<f32>> -> tensor<?x256xf32>
    graph.yield %2 : tensor<?x256xf32>
  }
  %v = graph.load_weight @first : tensor<64x256x!graph.encoded<f32>>
  %y = graph.region (%0 = %x : tensor<?x256xf32>, %1 = %v : tensor<64x256x!graph.encoded<f32>>) -> (tensor<?x64xf32>) {
    %2 = graph.quantized_linear %0, %1 : tensor<?x256xf32>, tensor<64x256x!graph.encoded<f32>> -> tensor<?x64xf32>
    graph.yield %2 : tensor<?x64xf32>
  }
  %w = graph.load_weight @second : tensor<64x256x!graph.encoded<f32>>
  %z = graph.region (%0 = %x : tensor<?x256xf32>, %1 = %w : tensor<64x256x!graph.encoded<f32>>) -> (tensor<?x64xf32>) {
    %2 = graph.quantized_linear %0, %1 : tensor<?x256xf32>, tensor<64x256x!graph.encoded<f32>> -> tensor<?x64xf32>
    graph.yield %2 : tensor<?x64xf32>
  }
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// CHECK: func.func @selftest_0(%{{.*}}: tensor<?xi32> {graph.name = "tokens"}) -> (tensor<?x256xf32> {graph.name = "out0"})
// CHECK-SAME: graph.function = "selftest.0"
// CHECK-SAME: graph.rows = 4
// CHECK: graph.load_weight @table
// CHECK: graph.quantized_embedding
// CHECK: func.func @selftest_1(%{{.*}}: tensor<?x256xf32> {graph.name = "in0"}) -> (tensor<?x64xf32> {graph.name = "out0"})
// CHECK: graph.load_weight @first
// CHECK: graph.quantized_linear
// CHECK-NOT: func.func

// -----

// Quantized activations come along with the region that computes them, which has no test of its own.

// CHECK-LABEL: func.func @g_r16(
func.func @g_r16(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xi8> {graph.name = "y"}) attributes {graph.function = "g", graph.rows = 16 : i64} {
  %a = graph.region (%0 = %x : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    graph.yield %1 : tensor<?x64xf32>
  }
  %c, %s, %t = graph.region (%0 = %a : tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>) {
    %1, %2, %3 = graph.quantize_activations %0 group 32 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>
    graph.yield %1, %2, %3 : tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>
  }
  %b = graph.region (%0 = %s : tensor<?x2xf32>) -> (tensor<?x2xf32>) {
    %1 = graph.silu %0 : tensor<?x2xf32>
    graph.yield %1 : tensor<?x2xf32>
  }
  return %c : tensor<?x64xi8>
}

// CHECK: func.func @selftest_0(%{{.*}}: tensor<?x64xf32> {graph.name = "in0"}) -> (tensor<?x64xf32> {graph.name = "out0"})
// CHECK: func.func @selftest_1(%{{.*}}: tensor<?x64xf32> {graph.name = "in0"}) -> (tensor<?x2xf32> {graph.name = "out0"})
// CHECK: graph.quantize_activations
// CHECK: graph.silu
// CHECK-NOT: func.func
