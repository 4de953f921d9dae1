// RUN: llmc-opt %s -llmc-form-regions | FileCheck %s
//
// Roots of hybrids and encoders: convolutions, layer norms, pools.

graph.state @past : tensor<2x64xf32>

// Both gates run with the convolution between them.
// CHECK-LABEL: @gated_convolution
func.func @gated_convolution(%x: tensor<?x192xf32>, %w: tensor<192x!graph.encoded<f32>>, %position: tensor<i32>)
    -> tensor<?x64xf32> attributes {graph.rows = 8 : i64} {
  // CHECK:      graph.region
  // CHECK-COUNT-3: graph.slice
  // CHECK:        graph.mul
  // CHECK:        graph.short_conv
  // CHECK:        graph.mul
  // CHECK-NEXT:   graph.yield %{{.*}} : tensor<?x64xf32>
  // CHECK-NOT:  graph.region
  %b = graph.slice %x dim 1 offset 0 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
  %c = graph.slice %x dim 1 offset 64 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
  %y = graph.slice %x dim 1 offset 128 size 64 : tensor<?x192xf32> -> tensor<?x64xf32>
  %u = graph.mul %b, %y : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %t = graph.dequantize %w : tensor<192x!graph.encoded<f32>> -> tensor<192xf32>
  %v = graph.short_conv %u, %t state @past, %position : tensor<?x64xf32>, tensor<192xf32>
  %z = graph.mul %c, %v : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// A layer norm is a dispatch of its own for few rows too, with the sum before it; a pool runs with its norm.
// CHECK-LABEL: @encoder
func.func @encoder(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %g: tensor<64x!graph.encoded<f32>>, %spans: tensor<?x2xi32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) attributes {graph.rows = 1 : i64} {
  // CHECK:      graph.region
  // CHECK:        graph.add
  // CHECK:        graph.layer_norm
  // CHECK-NEXT:   graph.yield
  // CHECK:      graph.region
  // CHECK-NEXT:   graph.pool mean
  // CHECK-NEXT:   graph.l2_normalize
  // CHECK-NEXT:   graph.yield
  // CHECK-NOT:  graph.region
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %sum = graph.add %x, %y : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %hidden = graph.layer_norm %sum, %gain epsilon 1.0e-12 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %pooled = graph.pool mean %hidden, %spans : tensor<?x64xf32>, tensor<?x2xi32> -> tensor<?x64xf32>
  %embedding = graph.l2_normalize %pooled epsilon 1.0e-12 : tensor<?x64xf32>
  return %hidden, %embedding : tensor<?x64xf32>, tensor<?x64xf32>
}
