// RUN: llmc-opt %s -llmc-fuse-gelu | FileCheck %s

// x * (1 + erf(x / sqrt 2)) * 1/2, as exporters write it.
// CHECK-LABEL: @erf
func.func @erf(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.gelu %arg0
  // CHECK-NEXT: return %[[Y]]
  %root = graph.constant 1.41421354 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %half = graph.constant 0.5 : tensor<f32>
  %a = graph.div %x, %root : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %b = graph.erf %a : tensor<?x8xf32>
  %c = graph.add %b, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %d = graph.mul %x, %c : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y = graph.mul %d, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The half first, the root as a factor, the gate on the left.
// CHECK-LABEL: @erf_in_another_order
func.func @erf_in_another_order(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.gelu %arg0
  // CHECK-NEXT: return %[[Y]]
  %root = graph.constant 0.707106769 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %half = graph.constant 0.5 : tensor<f32>
  %h = graph.mul %x, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %a = graph.mul %x, %root : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %b = graph.erf %a : tensor<?x8xf32>
  %c = graph.add %b, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %y = graph.mul %c, %h : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x * x * x)))
// CHECK-LABEL: @tanh
func.func @tanh(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.gelu_tanh %arg0
  // CHECK-NEXT: return %[[Y]]
  %k = graph.constant 0.044715 : tensor<f32>
  %s = graph.constant 0.797884583 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %half = graph.constant 0.5 : tensor<f32>
  %x2 = graph.mul %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %x3 = graph.mul %x2, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %c = graph.mul %x3, %k : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %i = graph.add %x, %c : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %j = graph.mul %i, %s : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %t = graph.tanh %j : tensor<?x8xf32>
  %g = graph.add %t, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %h = graph.mul %x, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %y = graph.mul %h, %g : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// x * (1 + 0.044715 * x * x) inside, as FastGelu has it.
// CHECK-LABEL: @tanh_of_factors
func.func @tanh_of_factors(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.gelu_tanh %arg0
  // CHECK-NEXT: return %[[Y]]
  %k = graph.constant 0.044715 : tensor<f32>
  %s = graph.constant 0.797884583 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %half = graph.constant 0.5 : tensor<f32>
  %x2 = graph.mul %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %c = graph.mul %x2, %k : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %d = graph.add %c, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %l = graph.mul %x, %s : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %j = graph.mul %l, %d : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %t = graph.tanh %j : tensor<?x8xf32>
  %g = graph.add %t, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %h = graph.mul %x, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %y = graph.mul %h, %g : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// Another factor than a half, another argument of erf, another x: not GELU.
// CHECK-LABEL: @others
func.func @others(%x: tensor<?x8xf32>, %z: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK-NOT: graph.gelu
  %root = graph.constant 1.41421354 : tensor<f32>
  %one = graph.constant 1.0 : tensor<f32>
  %half = graph.constant 0.5 : tensor<f32>
  %third = graph.constant 0.333333343 : tensor<f32>
  %a = graph.div %x, %root : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %b = graph.erf %a : tensor<?x8xf32>
  %c = graph.add %b, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %d = graph.mul %x, %c : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y0 = graph.mul %d, %third : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %e = graph.mul %z, %c : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y1 = graph.mul %e, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %f = graph.erf %x : tensor<?x8xf32>
  %g = graph.add %f, %one : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  %h = graph.mul %x, %g : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %y2 = graph.mul %h, %half : tensor<?x8xf32>, tensor<f32> -> tensor<?x8xf32>
  return %y0, %y1, %y2 : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}
