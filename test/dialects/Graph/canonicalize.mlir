// RUN: llmc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @reshape_to_same_type
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @reshape_to_same_type(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @reshape_of_reshape
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.reshape %[[X]] : tensor<?x8xf32> -> tensor<?x4x2xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshape_of_reshape(%x: tensor<?x8xf32>) -> tensor<?x4x2xf32> {
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %1 = graph.reshape %0 : tensor<?x2x4xf32> -> tensor<?x4x2xf32>
  return %1 : tensor<?x4x2xf32>
}

// CHECK-LABEL: @reshape_there_and_back
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @reshape_there_and_back(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %1 = graph.reshape %0 : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: @transpose_by_identity
// CHECK-SAME: %[[X:.*]]: tensor<?x4x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @transpose_by_identity(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  %0 = graph.transpose %x [0, 1, 2] : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return %0 : tensor<?x4x8xf32>
}

// A permutation of equal sizes is no identity.
// CHECK-LABEL: @transpose_of_a_square
// CHECK-NEXT: graph.transpose
func.func @transpose_of_a_square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = graph.transpose %x [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @transpose_of_transpose
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.transpose %[[X]] [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
// CHECK-NEXT: return %[[Y]]
func.func @transpose_of_transpose(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %0 = graph.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = graph.transpose %0 [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  return %1 : tensor<4x3x2xf32>
}

// CHECK-LABEL: @transpose_there_and_back
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: return %[[X]]
func.func @transpose_there_and_back(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.transpose %x [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = graph.transpose %0 [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @slice_of_everything
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @slice_of_everything(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = graph.slice %x dim 1 offset 0 size 8 : tensor<?x8xf32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: @slice_of_slice
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.slice %[[X]] dim 1 offset 3 size 2 : tensor<?x8xf32> -> tensor<?x2xf32>
// CHECK-NEXT: return %[[Y]]
func.func @slice_of_slice(%x: tensor<?x8xf32>) -> tensor<?x2xf32> {
  %0 = graph.slice %x dim 1 offset 2 size 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  %1 = graph.slice %0 dim 1 offset 1 size 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}

// CHECK-LABEL: @slices_of_two_dimensions_stay
// CHECK-COUNT-2: graph.slice
func.func @slices_of_two_dimensions_stay(%x: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %0 = graph.slice %x dim 1 offset 2 size 4 : tensor<4x8xf32> -> tensor<4x4xf32>
  %1 = graph.slice %0 dim 0 offset 1 size 2 : tensor<4x4xf32> -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @neutral_constants
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: return %[[X]]
func.func @neutral_constants(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %zero = graph.constant 0.0 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %0 = graph.mul %x, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %1 = graph.div %0, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %2 = graph.sub %1, %zero : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// CHECK-LABEL: @other_constants_stay
// CHECK: graph.mul
func.func @other_constants_stay(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %half = graph.constant 0.5 : tensor<f32>
  %0 = graph.mul %x, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
