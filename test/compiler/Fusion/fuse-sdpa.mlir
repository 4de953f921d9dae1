// RUN: llmc-opt %s -llmc-fuse-sdpa | FileCheck %s

graph.state @k : tensor<2x64x16xf32>
graph.state @v : tensor<2x64x16xf32>

// The chain as the importers emit it: 4 heads, 2 KV heads, head dimension 16.
// CHECK-LABEL: @grouped_queries
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<?x64xf32>, %[[K:[a-z0-9]+]]: tensor<?x32xf32>, %[[V:[a-z0-9]+]]: tensor<?x32xf32>, %[[P:[a-z0-9]+]]: tensor<i32>
func.func @grouped_queries(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>, %position: tensor<i32>) -> tensor<?x64xf32> {
  // CHECK:      %[[Q2:.+]] = graph.rotary {{.*}} -> tensor<?x4x16xf32>
  // CHECK:      %[[K2:.+]] = graph.kv_append @k
  // CHECK:      %[[V2:.+]] = graph.kv_append @v
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %[[Q2]], %[[K2]], %[[V2]], %[[P]] scale 2.500000e-01 causal
  // CHECK-SAME:   : tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32> -> tensor<?x4x16xf32>
  // CHECK-NEXT: %[[Z:.+]] = graph.reshape %[[Y]] : tensor<?x4x16xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: return %[[Z]]
  %q0 = graph.reshape %q : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %q1 = graph.rotary %q0, %position pairs adjacent base 1.0e4 dim 16 : tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  %q2 = graph.reshape %q1 : tensor<?x4x16xf32> -> tensor<?x2x2x16xf32>
  %q3 = graph.transpose %q2 [1, 2, 0, 3] : tensor<?x2x2x16xf32> -> tensor<2x2x?x16xf32>
  %k0 = graph.reshape %k : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %k1 = graph.rotary %k0, %position pairs adjacent base 1.0e4 dim 16 : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %k2 = graph.kv_append @k, %k1, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %k3 = graph.transpose %k2 [1, 0, 2] : tensor<?x2x16xf32> -> tensor<2x?x16xf32>
  %k4 = graph.reshape %k3 : tensor<2x?x16xf32> -> tensor<2x1x?x16xf32>
  %v0 = graph.reshape %v : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %v1 = graph.kv_append @v, %v0, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %v2 = graph.transpose %v1 [1, 0, 2] : tensor<?x2x16xf32> -> tensor<2x?x16xf32>
  %v3 = graph.reshape %v2 : tensor<2x?x16xf32> -> tensor<2x1x?x16xf32>
  %s0 = graph.matmul %q3, %k4 transpose_rhs : tensor<2x2x?x16xf32>, tensor<2x1x?x16xf32> -> tensor<2x2x?x?xf32>
  %scale = graph.constant 0.25 : tensor<f32>
  %s1 = graph.mul %s0, %scale : tensor<2x2x?x?xf32>, tensor<f32> -> tensor<2x2x?x?xf32>
  %s2 = graph.causal_mask %s1, %position : tensor<2x2x?x?xf32>
  %s3 = graph.softmax %s2 : tensor<2x2x?x?xf32>
  %o0 = graph.matmul %s3, %v3 : tensor<2x2x?x?xf32>, tensor<2x1x?x16xf32> -> tensor<2x2x?x16xf32>
  %o1 = graph.transpose %o0 [2, 0, 1, 3] : tensor<2x2x?x16xf32> -> tensor<?x2x2x16xf32>
  %o2 = graph.reshape %o1 : tensor<?x2x2x16xf32> -> tensor<?x64xf32>
  return %o2 : tensor<?x64xf32>
}

// Heads are one batch dimension, nothing is masked or scaled, and the result stays in [heads, rows, head dimension].
// CHECK-LABEL: @plain_heads
func.func @plain_heads(%q: tensor<?x4x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x4x16xf32>) -> tensor<4x?x16xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %arg0, %arg1, %arg2 scale 1.000000e+00 : tensor<?x4x16xf32>
  // CHECK-NEXT: %[[Z:.+]] = graph.transpose %[[Y]] [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  // CHECK-NEXT: return %[[Z]]
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %k0 = graph.transpose %k [1, 2, 0] : tensor<?x4x16xf32> -> tensor<4x16x?xf32>
  %v0 = graph.transpose %v [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s = graph.matmul %q0, %k0 : tensor<4x?x16xf32>, tensor<4x16x?xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// No value of [rows, heads, head dimension] is there: views make one.
// CHECK-LABEL: @heads_first
func.func @heads_first(%q: tensor<4x?x16xf32>, %k: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>) -> tensor<4x?x16xf32> {
  // CHECK-DAG:  %[[Q:.+]] = graph.transpose %arg0 [1, 0, 2]
  // CHECK-DAG:  %[[K:.+]] = graph.transpose %arg1 [1, 0, 2]
  // CHECK-DAG:  %[[V:.+]] = graph.transpose %arg2 [1, 0, 2]
  // CHECK:      %[[Y:.+]] = graph.sdpa %[[Q]], %[[K]], %[[V]] scale
  // CHECK-NEXT: graph.transpose %[[Y]] [1, 0, 2]
  %s = graph.matmul %q, %k transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// One KV head for all queries, without batch dimensions of its own.
// CHECK-LABEL: @multi_query
func.func @multi_query(%q: tensor<?x4x16xf32>, %k: tensor<?x16xf32>, %v: tensor<?x16xf32>) -> tensor<?x64xf32> {
  // CHECK-DAG:  %[[K:.+]] = graph.reshape %arg1 : tensor<?x16xf32> -> tensor<?x1x16xf32>
  // CHECK-DAG:  %[[V:.+]] = graph.reshape %arg2 : tensor<?x16xf32> -> tensor<?x1x16xf32>
  // CHECK:      graph.sdpa %arg0, %[[K]], %[[V]]
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s = graph.matmul %q0, %k transpose_rhs : tensor<4x?x16xf32>, tensor<?x16xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<?x16xf32> -> tensor<4x?x16xf32>
  %y0 = graph.transpose %y [1, 0, 2] : tensor<4x?x16xf32> -> tensor<?x4x16xf32>
  %y1 = graph.reshape %y0 : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %y1 : tensor<?x64xf32>
}

// 0.5 on the query before its views, 0.5 on the key, a division by 4 of the scores.
// CHECK-LABEL: @scales_everywhere
func.func @scales_everywhere(%q: tensor<?x4x16xf32>, %k: tensor<?x4x16xf32>, %v: tensor<?x4x16xf32>, %position: tensor<i32>) -> tensor<?x4x16xf32> {
  // CHECK-NEXT: %[[Y:.+]] = graph.sdpa %arg0, %arg1, %arg2, %arg3 scale 6.250000e-02 causal
  // CHECK-NEXT: return %[[Y]]
  %half = graph.constant 0.5 : tensor<f32>
  %four = graph.constant 4.0 : tensor<f32>
  %q0 = graph.mul %q, %half : tensor<?x4x16xf32>, tensor<f32> -> tensor<?x4x16xf32>
  %q1 = graph.transpose %q0 [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %k0 = graph.transpose %k [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %k1 = graph.mul %k0, %half : tensor<4x?x16xf32>, tensor<f32> -> tensor<4x?x16xf32>
  %v0 = graph.transpose %v [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s = graph.matmul %q1, %k1 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %s1 = graph.causal_mask %s, %position : tensor<4x?x?xf32>
  %s2 = graph.div %s1, %four : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s2 : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v0 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  %y0 = graph.transpose %y [1, 0, 2] : tensor<4x?x16xf32> -> tensor<?x4x16xf32>
  return %y0 : tensor<?x4x16xf32>
}

// A constant on the values is none of the scores' scale.
// CHECK-LABEL: @scaled_values
func.func @scaled_values(%q: tensor<?x4x16xf32>, %v: tensor<?x4x16xf32>) -> tensor<4x?x16xf32> {
  // CHECK:      %[[V:.+]] = graph.mul %arg1
  // CHECK-NEXT: graph.sdpa %arg0, %arg0, %[[V]] scale 1.000000e+00
  %half = graph.constant 0.5 : tensor<f32>
  %q0 = graph.transpose %q [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %v0 = graph.mul %v, %half : tensor<?x4x16xf32>, tensor<f32> -> tensor<?x4x16xf32>
  %v1 = graph.transpose %v0 [1, 0, 2] : tensor<?x4x16xf32> -> tensor<4x?x16xf32>
  %s = graph.matmul %q0, %q0 transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %p = graph.softmax %s : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v1 : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// Gemma 2: scores of scale 1/8, capped to 50, in a sliding window.
// CHECK-LABEL: @soft_cap_and_window
func.func @soft_cap_and_window(%q: tensor<4x?x16xf32>, %v: tensor<4x?x16xf32>, %position: tensor<i32>) -> tensor<4x?x16xf32> {
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}}, %arg2 scale 1.250000e-01 causal window 32 soft_cap 5.000000e+01
  %scale = graph.constant 0.125 : tensor<f32>
  %cap = graph.constant 50.0 : tensor<f32>
  %s = graph.matmul %q, %q transpose_rhs : tensor<4x?x16xf32>, tensor<4x?x16xf32> -> tensor<4x?x?xf32>
  %s0 = graph.mul %s, %scale : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %s1 = graph.div %s0, %cap : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %s2 = graph.tanh %s1 : tensor<4x?x?xf32>
  %s3 = graph.mul %s2, %cap : tensor<4x?x?xf32>, tensor<f32> -> tensor<4x?x?xf32>
  %s4 = graph.causal_mask %s3, %position window 32 : tensor<4x?x?xf32>
  %p = graph.softmax %s4 : tensor<4x?x?xf32>
  %y = graph.matmul %p, %v : tensor<4x?x?xf32>, tensor<4x?x16xf32> -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// CHECK-LABEL: @mask_for_all_heads
func.func @mask_for_all_heads(%q: tensor<4x3x16xf32>, %v: tensor<4x5x16xf32>, %mask: tensor<3x5xf32>) -> tensor<4x3x16xf32> {
  // CHECK: %[[BIAS:.+]] = graph.reshape %arg2 : tensor<3x5xf32> -> tensor<3x1x5xf32>
  // CHECK: graph.sdpa %{{.*}}, %{{.*}}, %{{.*}} bias %[[BIAS]] : tensor<3x1x5xf32> scale 5.000000e-01
  %half = graph.constant 0.5 : tensor<f32>
  %s = graph.matmul %q, %v transpose_rhs : tensor<4x3x16xf32>, tensor<4x5x16xf32> -> tensor<4x3x5xf32>
  %s1 = graph.mul %s, %half : tensor<4x3x5xf32>, tensor<f32> -> tensor<4x3x5xf32>
  %s2 = graph.add %s1, %mask : tensor<4x3x5xf32>, tensor<3x5xf32> -> tensor<4x3x5xf32>
  %p = graph.softmax %s2 : tensor<4x3x5xf32>
  %y = graph.matmul %p, %v : tensor<4x3x5xf32>, tensor<4x5x16xf32> -> tensor<4x3x16xf32>
  return %y : tensor<4x3x16xf32>
}
