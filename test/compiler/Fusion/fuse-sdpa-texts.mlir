// RUN: llmc-opt %s -llmc-fuse-sdpa | FileCheck %s
//
// Attention of encoders: texts behind one another, without a cache.

// CHECK-LABEL: @texts
func.func @texts(%q: tensor<?x4x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x4x16xf32>, %ranges: tensor<?x2xi32>) -> tensor<?x4x16xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %arg0, %arg1, %arg2 ranges %arg3 : tensor<?x2xi32> scale 2.500000e-01 : tensor<?x4x16xf32>
  // CHECK-NEXT: return %[[Y]]
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %k0 = graph.transpose %k [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %v0 = graph.transpose %v [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s0 = graph.matmul %q0, %k0 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %scale = graph.constant 0.25 : tensor<f32>
  %s1 = graph.mul %s0, %scale : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %s2 = graph.range_mask %s1, %ranges : tensor<4x?x?xf32>, tensor<?x2xi32>
  %p = graph.softmax %s2 : tensor<4x?x?xf32>
  %y0 = graph.matmul %p, %v0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  %y = graph.transpose %y0 [1, 0, 2] : tensor<4x?x16xf32> -> tensor<?x4x16xf32>
  return %y : tensor<?x4x16xf32>
}

// With a bias by distance, before or after the mask.
// CHECK-LABEL: @distances
func.func @distances(%q: tensor<?x4x16xf32>, %ranges: tensor<?x2xi32>, %table: tensor<252xf32>) -> (tensor<?x4x16xf32>, tensor<?x4x16xf32>) {
  // CHECK-DAG: graph.sdpa %arg0, %arg0, %arg0 relative %arg2 : tensor<252xf32> ranges %arg1 : tensor<?x2xi32> scale 2.500000e-01
  // CHECK-DAG: graph.sdpa %arg0, %arg0, %arg0 relative %arg2 : tensor<252xf32> ranges %arg1 : tensor<?x2xi32> scale 1.000000e+00
  // CHECK-NOT: graph.softmax
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s0 = graph.matmul %q0, %q0 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %scale = graph.constant 0.25 : tensor<f32>
  %s1 = graph.mul %s0, %scale : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %s2 = graph.relative_bias %s1, %table : tensor<4x?x?xf32>, tensor<252xf32>
  %s3 = graph.range_mask %s2, %ranges : tensor<4x?x?xf32>, tensor<?x2xi32>
  %p = graph.softmax %s3 : tensor<4x?x?xf32>
  %y0 = graph.matmul %p, %q0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  %y = graph.transpose %y0 [1, 0, 2] : tensor<4x?x16xf32> -> tensor<?x4x16xf32>
  %t0 = graph.matmul %q0, %q0 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %t1 = graph.range_mask %t0, %ranges : tensor<4x?x?xf32>, tensor<?x2xi32>
  %t2 = graph.relative_bias %t1, %table : tensor<4x?x?xf32>, tensor<252xf32>
  %r = graph.softmax %t2 : tensor<4x?x?xf32>
  %z0 = graph.matmul %r, %q0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  %z = graph.transpose %z0 [1, 0, 2] : tensor<4x?x16xf32> -> tensor<?x4x16xf32>
  return %y, %z : tensor<?x4x16xf32>, tensor<?x4x16xf32>
}

// The bias is added to scaled scores, so a scale after it is none of sdpa's.
// CHECK-LABEL: @scaled_bias
func.func @scaled_bias(%q: tensor<?x4x16xf32>, %table: tensor<252xf32>) -> tensor<4x?x16xf32> {
  // CHECK-NOT: graph.sdpa
  // CHECK: graph.softmax
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s0 = graph.matmul %q0, %q0 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %s1 = graph.relative_bias %s0, %table : tensor<4x?x?xf32>, tensor<252xf32>
  %scale = graph.constant 0.25 : tensor<f32>
  %s2 = graph.mul %s1, %scale : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s2 : tensor<4x?x?xf32>
  %y = graph.matmul %p, %q0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}
