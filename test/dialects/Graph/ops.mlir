// RUN: llmc-opt %s | llmc-opt | FileCheck %s
//
// Every op of the dialect in its documented form, printed and parsed again.

module attributes {graph.files = ["model.gguf"]} {

// CHECK: graph.weight @gate : tensor<512x256x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 4096, rows = 512>]
graph.weight @gate : tensor<512x256x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 4096, rows = 512>]
// CHECK: graph.weight @"blk.0.q+blk.0.k" : tensor<24x!graph.encoded<f32>> from
// CHECK-SAME: [#graph.source<file = 0, offset = 0, rows = 16>, #graph.source<file = 0, offset = 96, rows = 8>]
graph.weight @"blk.0.q+blk.0.k" : tensor<24x!graph.encoded<f32>> from [
  #graph.source<file = 0, offset = 0, rows = 16>, #graph.source<file = 0, offset = 96, rows = 8>]
// CHECK: graph.state @blk.0.k : tensor<2x2048x64xf32>
graph.state @blk.0.k : tensor<2x2048x64xf32>
// CHECK: graph.state @codes : tensor<2x2048x64xi8>
graph.state @codes : tensor<2x2048x64xi8>

// CHECK-LABEL: @weights
func.func @weights(%tokens: tensor<?xi32>, %x: tensor<?x256xf32>) {
  // CHECK: graph.load_weight @gate : tensor<512x256x!graph.encoded<q4_k>>
  %w = graph.load_weight @gate : tensor<512x256x!graph.encoded<q4_k>>
  // CHECK: graph.dequantize %{{.*}} : tensor<512x256x!graph.encoded<q4_k>> -> tensor<512x256xf32>
  %m = graph.dequantize %w : tensor<512x256x!graph.encoded<q4_k>> -> tensor<512x256xf32>
  // CHECK: graph.embedding %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<512x256xf32> -> tensor<?x256xf32>
  %0 = graph.embedding %tokens, %m : tensor<?xi32>, tensor<512x256xf32> -> tensor<?x256xf32>
  // CHECK: graph.matmul %{{.*}}, %{{.*}} transpose_rhs : tensor<?x256xf32>, tensor<512x256xf32> -> tensor<?x512xf32>
  %1 = graph.matmul %x, %m transpose_rhs : tensor<?x256xf32>, tensor<512x256xf32> -> tensor<?x512xf32>
  // CHECK: graph.quantized_linear %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
  %2 = graph.quantized_linear %x, %w : tensor<?x256xf32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
  // CHECK: graph.quantized_embedding %{{.*}}, %{{.*}} : tensor<?xi32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x256xf32>
  %3 = graph.quantized_embedding %tokens, %w : tensor<?xi32>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x256xf32>
  // CHECK: %[[Q:.*]], %[[S:.*]], %[[T:.*]] = graph.quantize_activations %{{.*}} group 0
  // CHECK-SAME: : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?xf32>, tensor<?x8xf32>
  %q, %s, %t = graph.quantize_activations %x group 0 : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?xf32>, tensor<?x8xf32>
  // CHECK: graph.quantize_activations %{{.*}} group 32 : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?x8xf32>, tensor<?x8xf32>
  %q2, %s2, %t2 = graph.quantize_activations %x group 32
      : tensor<?x256xf32> -> tensor<?x256xi8>, tensor<?x8xf32>, tensor<?x8xf32>
  // CHECK: graph.quantized_linear %[[Q]], %{{.*}} scales %[[S]] : tensor<?xf32> sums %[[T]] : tensor<?x8xf32>
  // CHECK-SAME: : tensor<?x256xi8>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
  %4 = graph.quantized_linear %q, %w scales %s : tensor<?xf32> sums %t : tensor<?x8xf32>
      : tensor<?x256xi8>, tensor<512x256x!graph.encoded<q4_k>> -> tensor<?x512xf32>
  return
}

// CHECK-LABEL: @arithmetic
func.func @arithmetic(%x: tensor<?x256xf32>, %bias: tensor<256xf32>, %batch: tensor<4x2x?x8xf32>, %one: tensor<4x1x8x6xf32>) {
  // CHECK: graph.constant 1.250000e-01 : tensor<f32>
  %c = graph.constant 0.125 : tensor<f32>
  // CHECK: graph.add %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  %0 = graph.add %x, %bias : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  // CHECK: graph.sub
  %1 = graph.sub %x, %x : tensor<?x256xf32>, tensor<?x256xf32> -> tensor<?x256xf32>
  // CHECK: graph.mul %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<f32> -> tensor<?x256xf32>
  %2 = graph.mul %x, %c : tensor<?x256xf32>, tensor<f32> -> tensor<?x256xf32>
  // CHECK: graph.div
  %3 = graph.div %x, %c : tensor<?x256xf32>, tensor<f32> -> tensor<?x256xf32>
  // CHECK: graph.convert %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf16>
  %half = graph.convert %x : tensor<?x256xf32> -> tensor<?x256xf16>
  // CHECK: graph.silu %{{.*}} : tensor<?x256xf32>
  %4 = graph.silu %x : tensor<?x256xf32>
  // CHECK: graph.gelu %
  %5 = graph.gelu %x : tensor<?x256xf32>
  // CHECK: graph.gelu_tanh %
  %6 = graph.gelu_tanh %x : tensor<?x256xf32>
  // CHECK: graph.tanh %
  %7 = graph.tanh %x : tensor<?x256xf32>
  // CHECK: graph.rms_norm %{{.*}}, %{{.*}} epsilon 9.99999997E-7 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  %8 = graph.rms_norm %x, %bias epsilon 1.0e-6 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  // CHECK: graph.sigmoid %{{.*}} : tensor<?x256xf32>
  %10 = graph.sigmoid %x : tensor<?x256xf32>
  // CHECK: graph.relu %
  %11 = graph.relu %x : tensor<?x256xf32>
  // CHECK: graph.exp %
  %12 = graph.exp %x : tensor<?x256xf32>
  // CHECK: graph.sqrt %
  %13 = graph.sqrt %x : tensor<?x256xf32>
  // CHECK: graph.erf %
  %14 = graph.erf %x : tensor<?x256xf32>
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : tensor<4x2x?x8xf32>, tensor<4x1x8x6xf32> -> tensor<4x2x?x6xf32>
  %9 = graph.matmul %batch, %one : tensor<4x2x?x8xf32>, tensor<4x1x8x6xf32> -> tensor<4x2x?x6xf32>
  return
}

graph.state @blk.0.conv : tensor<2x256xf32>

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<?x256xf32>, %gain: tensor<256xf32>, %taps: tensor<768xf32>, %position: tensor<i32>,
                %ranges: tensor<?x2xi32>, %scores: tensor<12x?x?xf32>, %table: tensor<12276xf32>) {
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} : tensor<256xf32> epsilon 9.99999996E-13 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  %0 = graph.layer_norm %x, %gain bias %gain : tensor<256xf32> epsilon 1.0e-12 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} epsilon 0.000000e+00 : tensor<?x256xf32>
  %1 = graph.layer_norm %x, %gain epsilon 0.0 : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x256xf32>
  // CHECK: graph.l2_normalize %{{.*}} epsilon 9.99999996E-13 : tensor<?x256xf32>
  %2 = graph.l2_normalize %x epsilon 1.0e-12 : tensor<?x256xf32>
  // CHECK: graph.reduce_mean %{{.*}} : tensor<?x256xf32> -> tensor<?x1xf32>
  %3 = graph.reduce_mean %x : tensor<?x256xf32> -> tensor<?x1xf32>
  // CHECK: graph.short_conv %{{.*}}, %{{.*}} state @blk.0.conv, %{{.*}} : tensor<?x256xf32>, tensor<768xf32>
  %4 = graph.short_conv %x, %taps state @blk.0.conv, %position : tensor<?x256xf32>, tensor<768xf32>
  // CHECK: graph.short_conv %{{.*}}, %{{.*}} ranges %{{.*}} : tensor<?x2xi32> : tensor<?x256xf32>, tensor<768xf32>
  %5 = graph.short_conv %x, %taps ranges %ranges : tensor<?x2xi32> : tensor<?x256xf32>, tensor<768xf32>
  // CHECK: graph.short_conv %{{.*}}, %{{.*}} ranges %{{.*}} : tensor<?x2xi32> ahead 1 : tensor<?x256xf32>, tensor<768xf32>
  %ahead = graph.short_conv %x, %taps ranges %ranges : tensor<?x2xi32> ahead 1 : tensor<?x256xf32>, tensor<768xf32>
  // CHECK: graph.pool mean %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<?x2xi32> -> tensor<?x256xf32>
  %6 = graph.pool mean %x, %ranges : tensor<?x256xf32>, tensor<?x2xi32> -> tensor<?x256xf32>
  // CHECK: graph.pool first
  %7 = graph.pool first %x, %ranges : tensor<?x256xf32>, tensor<?x2xi32> -> tensor<?x256xf32>
  // CHECK: graph.pool last
  %8 = graph.pool last %x, %ranges : tensor<?x256xf32>, tensor<?x2xi32> -> tensor<?x256xf32>
  // CHECK: graph.relative_bias %{{.*}}, %{{.*}} : tensor<12x?x?xf32>, tensor<12276xf32>
  %9 = graph.relative_bias %scores, %table : tensor<12x?x?xf32>, tensor<12276xf32>
  // CHECK: graph.range_mask %{{.*}}, %{{.*}} : tensor<12x?x?xf32>, tensor<?x2xi32>
  %10 = graph.range_mask %9, %ranges : tensor<12x?x?xf32>, tensor<?x2xi32>
  return
}

// CHECK-LABEL: @views
func.func @views(%x: tensor<?x512xf32>, %first: tensor<i32>) {
  // CHECK: graph.reshape %{{.*}} : tensor<?x512xf32> -> tensor<?x8x64xf32>
  %0 = graph.reshape %x : tensor<?x512xf32> -> tensor<?x8x64xf32>
  // CHECK: graph.transpose %{{.*}} [1, 0, 2] : tensor<?x8x64xf32> -> tensor<8x?x64xf32>
  %1 = graph.transpose %0 [1, 0, 2] : tensor<?x8x64xf32> -> tensor<8x?x64xf32>
  // CHECK: graph.slice %{{.*}} dim 1 offset 256 size 128 : tensor<?x512xf32> -> tensor<?x128xf32>
  %2 = graph.slice %x dim 1 offset 256 size 128 : tensor<?x512xf32> -> tensor<?x128xf32>
  // CHECK: graph.select_rows %{{.*}}, %{{.*}} : tensor<?x512xf32> -> tensor<1x512xf32>
  %3 = graph.select_rows %x, %first : tensor<?x512xf32> -> tensor<1x512xf32>
  // CHECK: graph.concat dim 1 %{{.*}}, %{{.*}} : (tensor<?x512xf32>, tensor<?x128xf32>) -> tensor<?x640xf32>
  %4 = graph.concat dim 1 %x, %2 : (tensor<?x512xf32>, tensor<?x128xf32>) -> tensor<?x640xf32>
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<?x4x64xf32>, %k: tensor<?x2x64xf32>, %scores: tensor<2x2x?x?xf32>, %factors: tensor<32xf32>,
                     %position: tensor<i32>, %bias: tensor<?x1x384xf32>, %ranges: tensor<?x2xi32>,
                     %positions: tensor<?xi32>, %table: tensor<252xf32>) {
  // CHECK: graph.rotary %{{.*}}, %{{.*}} pairs half base 1.000000e+04 dim 64 : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  %0 = graph.rotary %q, %position pairs half base 1.0e4 dim 64 : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.rotary %{{.*}}, %{{.*}} factors %{{.*}} : tensor<32xf32> pairs adjacent base 5.000000e+05 dim 64
  // CHECK-SAME: {position_scale = 2.500000e-01 : f32} : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  %1 = graph.rotary %q, %position factors %factors : tensor<32xf32> pairs adjacent base 5.0e5 dim 64
      {position_scale = 0.25 : f32} : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.rotary %{{.*}} positions %{{.*}} : tensor<?xi32> pairs half base 1.000000e+04 dim 64 : tensor<?x4x64xf32>
  %10 = graph.rotary %q positions %positions : tensor<?xi32> pairs half base 1.0e4 dim 64
      : tensor<?x4x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.kv_append @blk.0.k, %{{.*}}, %{{.*}} : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
  %2 = graph.kv_append @blk.0.k, %k, %position : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
  // CHECK: graph.causal_mask %{{.*}}, %{{.*}} : tensor<2x2x?x?xf32>
  %3 = graph.causal_mask %scores, %position : tensor<2x2x?x?xf32>
  // CHECK: graph.softmax %{{.*}} : tensor<2x2x?x?xf32>
  %4 = graph.softmax %3 : tensor<2x2x?x?xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal
  // CHECK-SAME: : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  %5 = graph.sdpa %q, %2, %2, %position scale 0.125 causal
      : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 : tensor<?x4x64xf32>
  %6 = graph.sdpa %q, %2, %2 scale 0.125 : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} : tensor<?x1x384xf32> ranges %{{.*}} : tensor<?x2xi32>
  // CHECK-SAME: scale 1.250000e-01 soft_cap 5.000000e+01 : tensor<?x4x64xf32>
  %7 = graph.sdpa %q, %2, %2 bias %bias : tensor<?x1x384xf32> ranges %ranges : tensor<?x2xi32> scale 0.125 soft_cap 50.0
      : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal window 512 : tensor<?x4x64xf32>
  %8 = graph.sdpa %q, %2, %2, %position scale 0.125 causal window 512
      : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}} relative %{{.*}} : tensor<252xf32> ranges %{{.*}} : tensor<?x2xi32> scale
  %11 = graph.sdpa %q, %2, %2 relative %table : tensor<252xf32> ranges %ranges : tensor<?x2xi32> scale 0.125
      : tensor<?x4x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32> -> tensor<?x4x64xf32>
  // CHECK: graph.causal_mask %{{.*}}, %{{.*}} window 512 : tensor<2x2x?x?xf32>
  %9 = graph.causal_mask %scores, %position window 512 : tensor<2x2x?x?xf32>
  return
}

// CHECK-LABEL: @experts
func.func @experts(%x: tensor<?x256xf32>, %scores: tensor<?x8xf32>, %w: tensor<4096x256x!graph.encoded<q4_k>>,
    %v: tensor<2048x512x!graph.encoded<q4_k>>) -> tensor<?x256xf32> {
  // CHECK: graph.route %{{.*}} : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %0, %1 = graph.route %scores : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: graph.route %{{.*}} normalized : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  %weights, %experts = graph.route %scores normalized : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
  // CHECK: graph.expert_linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x256xf32>, tensor<4096x256x!graph.encoded<q4_k>>, tensor<?x2xi32> -> tensor<?x2x512xf32>
  %h = graph.expert_linear %x, %w, %experts
      : tensor<?x256xf32>, tensor<4096x256x!graph.encoded<q4_k>>, tensor<?x2xi32> -> tensor<?x2x512xf32>
  // CHECK: graph.expert_linear %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2x512xf32>, tensor<2048x512x!graph.encoded<q4_k>>, tensor<?x2xi32> -> tensor<?x2x256xf32>
  %d = graph.expert_linear %h, %v, %experts
      : tensor<?x2x512xf32>, tensor<2048x512x!graph.encoded<q4_k>>, tensor<?x2xi32> -> tensor<?x2x256xf32>
  // CHECK: graph.weighted_sum %{{.*}}, %{{.*}} : tensor<?x2x256xf32>, tensor<?x2xf32> -> tensor<?x256xf32>
  %y = graph.weighted_sum %d, %weights : tensor<?x2x256xf32>, tensor<?x2xf32> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}

// CHECK-LABEL: @region
func.func @region(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK: graph.region (%[[A:.*]] = %{{.*}} : tensor<?x256xf32>) -> (tensor<?x256xf32>) {
  // CHECK-NEXT: %[[Y:.*]] = graph.silu %[[A]] : tensor<?x256xf32>
  // CHECK-NEXT: graph.yield %[[Y]] : tensor<?x256xf32>
  %y = graph.region (%a = %x : tensor<?x256xf32>) -> (tensor<?x256xf32>) {
    %0 = graph.silu %a : tensor<?x256xf32>
    graph.yield %0 : tensor<?x256xf32>
  }
  return %y : tensor<?x256xf32>
}

}
