// RUN: llmc-opt %s -llmc-fuse-layer-norm | FileCheck %s

// CHECK-LABEL: @norm
func.func @norm(%x: tensor<?x8xf32>, %gain: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.layer_norm %arg0, %arg1 bias %arg2 : tensor<8xf32> epsilon 9.99999974E-6
  // CHECK-NEXT: return %[[Y]]
  %epsilon = graph.constant 1.0e-5 : tensor<f32>
  %m = graph.reduce_mean %x : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = graph.sub %x, %m : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %q = graph.mul %d, %d : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %v = graph.reduce_mean %q : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = graph.add %v, %epsilon : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r = graph.sqrt %w : tensor<?x1xf32>
  %n = graph.div %d, %r : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %g = graph.mul %n, %gain : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %y = graph.add %g, %bias : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The difference computed twice, and no bias.
// CHECK-LABEL: @twice
func.func @twice(%x: tensor<?x8xf32>, %gain: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.layer_norm %arg0, %arg1 epsilon
  // CHECK-NEXT: return %[[Y]]
  %epsilon = graph.constant 1.0e-5 : tensor<f32>
  %m = graph.reduce_mean %x : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = graph.sub %x, %m : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %e = graph.sub %x, %m : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %q = graph.mul %e, %e : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %v = graph.reduce_mean %q : tensor<?x8xf32> -> tensor<?x1xf32>
  %w = graph.add %v, %epsilon : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r = graph.sqrt %w : tensor<?x1xf32>
  %n = graph.div %d, %r : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %y = graph.mul %n, %gain : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A bias joins a norm that has none and no other reader.
// CHECK-LABEL: @bias
func.func @bias(%x: tensor<?x8xf32>, %gain: tensor<8xf32>, %bias: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK:      %[[A:.+]] = graph.layer_norm %arg0, %arg1 bias %arg2
  // CHECK-NEXT: %[[B:.+]] = graph.layer_norm %arg0, %arg1 epsilon 1
  // CHECK-NEXT: %[[C:.+]] = graph.add %[[B]], %arg2
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  %n0 = graph.layer_norm %x, %gain epsilon 2.0 : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %y0 = graph.add %n0, %bias : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %n1 = graph.layer_norm %x, %gain epsilon 1.0 : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %y1 = graph.add %n1, %bias : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  return %y0, %n1, %y1 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// The square of something else, and a gain that is no vector.
// CHECK-LABEL: @others
func.func @others(%x: tensor<?x8xf32>, %z: tensor<?x8xf32>, %gain: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: graph.layer_norm
  %epsilon = graph.constant 1.0e-5 : tensor<f32>
  %m = graph.reduce_mean %x : tensor<?x8xf32> -> tensor<?x1xf32>
  %d = graph.sub %x, %m : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %q0 = graph.mul %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %v0 = graph.reduce_mean %q0 : tensor<?x8xf32> -> tensor<?x1xf32>
  %w0 = graph.add %v0, %epsilon : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r0 = graph.sqrt %w0 : tensor<?x1xf32>
  %n0 = graph.div %d, %r0 : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %y0 = graph.mul %n0, %gain : tensor<?x8xf32>, tensor<8xf32> -> tensor<?x8xf32>
  %q1 = graph.mul %d, %d : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %v1 = graph.reduce_mean %q1 : tensor<?x8xf32> -> tensor<?x1xf32>
  %w1 = graph.add %v1, %epsilon : tensor<?x1xf32>, tensor<f32> -> tensor<?x1xf32>
  %r1 = graph.sqrt %w1 : tensor<?x1xf32>
  %n1 = graph.div %d, %r1 : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %y1 = graph.mul %n1, %z : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y0, %y1 : tensor<?x8xf32>, tensor<?x8xf32>
}
