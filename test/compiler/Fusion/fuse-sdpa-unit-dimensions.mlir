// RUN: llmc-opt %s -llmc-fuse-sdpa | FileCheck %s
//
// Dimensions of size 1 may stand anywhere in the views.

// As many KV heads as heads: groups of one.
// CHECK-LABEL: @group_of_one
func.func @group_of_one(%q: tensor<?x4x16xf32>, %k: tensor<?x4x16xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %arg0, %arg1, %arg1 scale 1.000000e+00 : tensor<?x4x16xf32>, tensor<?x4x16xf32>
  // CHECK-NEXT: graph.reshape %[[Y]] : tensor<?x4x16xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: return
  %q0 = graph.reshape %q : tensor<?x4x16xf32> -> tensor<?x4x1x16xf32>
  %q1 = graph.transpose %q0 [1, 2, 0, 3] : tensor<?x4x1x16xf32> -> tensor<4x1x?x16xf32>
  %k0 = graph.transpose %k [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %k1 = graph.reshape %k0 : tensor<4x?x16xf32> -> tensor<4x1x?x16xf32>
  %s = graph.matmul %q1, %k1 transpose_rhs : tensor<4x1x?x16xf32>, tensor<4x1x?x16xf32> -> tensor<4x1x?x?xf32>
  %p = graph.softmax %s : tensor<4x1x?x?xf32>
  %y = graph.matmul %p, %k1 : tensor<4x1x?x?xf32>, tensor<4x1x?x16xf32> -> tensor<4x1x?x16xf32>
  %y0 = graph.transpose %y [2, 0, 1, 3] : tensor<4x1x?x16xf32> -> tensor<?x4x1x16xf32>
  %y1 = graph.reshape %y0 : tensor<?x4x1x16xf32> -> tensor<?x64xf32>
  return %y1 : tensor<?x64xf32>
}

// One KV head for a group of all heads.
// CHECK-LABEL: @one_kv_head
func.func @one_kv_head(%q: tensor<?x4x16xf32>, %k: tensor<?x1x16xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %arg0, %arg1, %arg1 scale 1.000000e+00 : tensor<?x4x16xf32>, tensor<?x1x16xf32>
  // CHECK-NEXT: graph.reshape %[[Y]] : tensor<?x4x16xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: return
  %q0 = graph.reshape %q : tensor<?x4x16xf32> -> tensor<?x1x4x16xf32>
  %q1 = graph.transpose %q0 [1, 2, 0, 3] : tensor<?x1x4x16xf32> -> tensor<1x4x?x16xf32>
  %k0 = graph.transpose %k [1, 0, 2] : tensor<?x1x16xf32> -> tensor<1x?x16xf32>
  %k1 = graph.reshape %k0 : tensor<1x?x16xf32> -> tensor<1x1x?x16xf32>
  %s = graph.matmul %q1, %k1 transpose_rhs : tensor<1x4x?x16xf32>, tensor<1x1x?x16xf32> -> tensor<1x4x?x?xf32>
  %p = graph.softmax %s : tensor<1x4x?x?xf32>
  %y = graph.matmul %p, %k1 : tensor<1x4x?x?xf32>, tensor<1x1x?x16xf32> -> tensor<1x4x?x16xf32>
  %y0 = graph.transpose %y [2, 0, 1, 3] : tensor<1x4x?x16xf32> -> tensor<?x1x4x16xf32>
  %y1 = graph.reshape %y0 : tensor<?x1x4x16xf32> -> tensor<?x64xf32>
  return %y1 : tensor<?x64xf32>
}

// One static row: the transpose that moves it is a reshape.
// CHECK-LABEL: @one_row
func.func @one_row(%q: tensor<1x64xf32>, %k: tensor<8x4x16xf32>) -> tensor<1x64xf32> {
  // CHECK-NEXT: %[[Q:.+]] = graph.reshape %arg0 : tensor<1x64xf32> -> tensor<1x4x16xf32>
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %[[Q]], %arg1, %arg1
  // CHECK-NEXT: graph.reshape %[[Y]] : tensor<1x4x16xf32> -> tensor<1x64xf32>
  // CHECK-NEXT: return
  %q0 = graph.reshape %q : tensor<1x64xf32> -> tensor<4x1x16xf32>
  %k0 = graph.transpose %k [1, 0, 2] : tensor<8x4x16xf32> -> tensor<4x8x16xf32>
  %s = graph.matmul %q0, %k0 transpose_rhs : tensor<4x1x16xf32>, tensor<4x8x16xf32> -> tensor<4x1x8xf32>
  %p = graph.softmax %s : tensor<4x1x8xf32>
  %y = graph.matmul %p, %k0 : tensor<4x1x8xf32>, tensor<4x8x16xf32> -> tensor<4x1x16xf32>
  %y0 = graph.reshape %y : tensor<4x1x16xf32> -> tensor<1x64xf32>
  return %y0 : tensor<1x64xf32>
}
