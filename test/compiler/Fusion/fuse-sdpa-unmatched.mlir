// RUN: llmc-opt %s -llmc-fuse-sdpa | FileCheck %s
//
// Chains that look like attention and must stay as they are.

// CHECK-NOT: graph.sdpa

// CHECK-LABEL: @probabilities_used_twice
func.func @probabilities_used_twice(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>) -> (tensor<4x?x16xf32>, tensor<4x?x?xf32>) {
  // CHECK: graph.softmax
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y, %p : tensor<4x?x16xf32>, tensor<4x?x?xf32>
}

// CHECK-LABEL: @scores_used_twice
func.func @scores_used_twice(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>) -> (tensor<4x?x16xf32>, tensor<4x?x?xf32>) {
  // CHECK: graph.softmax
  %half = graph.constant 0.5 : tensor<f32>
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t = graph.mul %s, %half : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %p = graph.softmax %t : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y, %s : tensor<4x?x16xf32>, tensor<4x?x?xf32>
}

// CHECK-LABEL: @masked_scores_used_twice
func.func @masked_scores_used_twice(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>, %position: tensor<i32>) -> (tensor<4x?x16xf32>, tensor<4x?x?xf32>) {
  // CHECK: graph.softmax
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t = graph.causal_mask %s, %position : tensor<4x?x?xf32>
  %p = graph.softmax %t : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y, %t : tensor<4x?x16xf32>, tensor<4x?x?xf32>
}

// CHECK-LABEL: @added_bias
func.func @added_bias(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>, %bias: tensor<?x?xf32>) -> tensor<4x?x16xf32> {
  // CHECK: graph.softmax
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t = graph.add %s, %bias : tensor<4x?x?xf32>, tensor<?x?xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %t : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// -inf times a negative scale is +inf.
// CHECK-LABEL: @negative_scale
func.func @negative_scale(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>, %position: tensor<i32>) -> tensor<4x?x16xf32> {
  // CHECK: graph.softmax
  %minus = graph.constant -0.5 : tensor<f32>
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t = graph.causal_mask %s, %position : tensor<4x?x?xf32>
  %u = graph.mul %t, %minus : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %p = graph.softmax %u : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// Query head h would read KV head h mod 2, not h / 2.
// CHECK-LABEL: @keys_broadcast_over_leading_dimension
func.func @keys_broadcast_over_leading_dimension(%q: tensor<2x2x?x16xf32>, %k: tensor<1x2x?x16xf32>) -> tensor<2x2x?x16xf32> {
  // CHECK: graph.softmax
  %s = graph.matmul %q, %k transpose_rhs : tensor<2x2x?x16xf32>, tensor<1x2x?x16xf32> -> tensor<2x2x?x?xf32>
  %p = graph.softmax %s : tensor<2x2x?x?xf32>
  %y = graph.matmul %p, %k : tensor<2x2x?x?xf32>, tensor<1x2x?x16xf32> -> tensor<2x2x?x16xf32>
  return %y : tensor<2x2x?x16xf32>
}

// CHECK-LABEL: @values_of_another_head_dimension
func.func @values_of_another_head_dimension(%q: tensor<4x?x16xf32>, %v: tensor<4x?x8xf32>) -> tensor<4x?x8xf32> {
  // CHECK: graph.softmax
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x8xf32> -> tensor<4x?x8xf32>
  return %y : tensor<4x?x8xf32>
}

// A mask before the cap hides nothing: -inf becomes -50.
// CHECK-LABEL: @mask_before_the_cap
func.func @mask_before_the_cap(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>, %position: tensor<i32>) -> tensor<4x?x16xf32> {
  // CHECK: graph.softmax
  %cap = graph.constant 50.0 : tensor<f32>
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t = graph.causal_mask %s, %position : tensor<4x?x?xf32>
  %u = graph.tanh %t : tensor<4x?x?xf32>
  %w = graph.mul %u, %cap : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %p = graph.softmax %w : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}
