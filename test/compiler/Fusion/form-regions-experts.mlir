// RUN: llmc-opt %s --pass-pipeline='builtin.module(func.func(llmc-form-regions))' | FileCheck %s

// A mixture of experts of one row is five dispatches: scores, the choice, gate and up together, down, and the sum with
// the residual. The norm is computed by the linears that read it.
graph.weight @g : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @r : tensor<8x64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 8>]
graph.weight @gate : tensor<256x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 256>]
graph.weight @up : tensor<256x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 256>]
graph.weight @down : tensor<512x32x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 512>]

// CHECK-LABEL: @experts
func.func @experts(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.rows = 1 : i64} {
  %g = graph.load_weight @g : tensor<64x!graph.encoded<f32>>
  %gain = graph.dequantize %g : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %x, %gain epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %r = graph.load_weight @r : tensor<8x64x!graph.encoded<f32>>
  // CHECK: graph.region
  // CHECK: graph.rms_norm
  // CHECK-NEXT: graph.quantized_linear
  // CHECK-NEXT: graph.yield
  %s = graph.quantized_linear %n, %r : tensor<?x64xf32>, tensor<8x64x!graph.encoded<f32>> -> tensor<?x8xf32>
  // CHECK: graph.region
  // CHECK-NEXT: graph.route
  // CHECK-NEXT: graph.yield %{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<?x2xi32>
  %p, %e = graph.route %s normalized : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: graph.region
  // CHECK: graph.rms_norm
  // CHECK-NEXT: graph.expert_linear
  // CHECK-NEXT: graph.silu
  // CHECK-NEXT: graph.expert_linear
  // CHECK-NEXT: graph.mul
  // CHECK-NEXT: graph.yield
  %gw = graph.load_weight @gate : tensor<256x64x!graph.encoded<q8_0>>
  %a = graph.expert_linear %n, %gw, %e : tensor<?x64xf32>, tensor<256x64x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x32xf32>
  %b = graph.silu %a : tensor<?x2x32xf32>
  %uw = graph.load_weight @up : tensor<256x64x!graph.encoded<q8_0>>
  %u = graph.expert_linear %n, %uw, %e : tensor<?x64xf32>, tensor<256x64x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x32xf32>
  %m = graph.mul %b, %u : tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  // CHECK: graph.region
  // CHECK-NEXT: graph.expert_linear
  // CHECK-NEXT: graph.yield
  %dw = graph.load_weight @down : tensor<512x32x!graph.encoded<q8_0>>
  %d = graph.expert_linear %m, %dw, %e : tensor<?x2x32xf32>, tensor<512x32x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x64xf32>
  // CHECK: graph.region
  // CHECK-NEXT: graph.weighted_sum
  // CHECK-NEXT: graph.add
  // CHECK-NEXT: graph.yield
  // CHECK-NOT: graph.region
  %y = graph.weighted_sum %d, %p : tensor<?x2x64xf32>, tensor<?x2xf32> -> tensor<?x64xf32>
  %z = graph.add %x, %y : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// Linears of other experts are no pair.
// CHECK-LABEL: @other_experts
func.func @other_experts(%x: tensor<?x64xf32>, %e: tensor<?x2xi32>, %f: tensor<?x2xi32>) -> tensor<?x2x32xf32> attributes {graph.rows = 1 : i64} {
  // CHECK-COUNT-2: graph.region
  %gw = graph.load_weight @gate : tensor<256x64x!graph.encoded<q8_0>>
  %a = graph.expert_linear %x, %gw, %e : tensor<?x64xf32>, tensor<256x64x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x32xf32>
  %b = graph.expert_linear %x, %gw, %f : tensor<?x64xf32>, tensor<256x64x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x32xf32>
  %m = graph.mul %a, %b : tensor<?x2x32xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %m : tensor<?x2x32xf32>
}
