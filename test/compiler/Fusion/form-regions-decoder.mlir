// RUN: llmc-opt %s -llmc-fuse-quantized-linear -llmc-fuse-sdpa -llmc-fuse-horizontal-linears -llmc-form-regions | FileCheck %s
//
// A decoder layer as it is imported, for one row: five regions, and those of the whole model around it.

graph.weight @embedding : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @norm1 : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @norm2 : tensor<64x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @qnorm : tensor<16x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 16>]
graph.weight @wq : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @wk : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @wv : tensor<32x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @wo : tensor<64x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.weight @gate : tensor<96x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 96>]
graph.weight @up : tensor<96x64x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 96>]
graph.weight @down : tensor<64x96x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 64>]
graph.state @k : tensor<2x64x16xf32>
graph.state @v : tensor<2x64x16xf32>

// CHECK-LABEL: @forward_r1(
// CHECK-SAME:    %[[TOKENS:.+]]: tensor<?xi32>, %[[POSITION:.+]]: tensor<i32>)
// CHECK:         %[[X:.+]] = graph.region (%[[T:.+]] = %[[TOKENS]] : tensor<?xi32>, %[[E:.+]] = %{{.+}} : tensor<32x64x!graph.encoded<q8_0>>) -> (tensor<?x64xf32>) {
// CHECK-NEXT:      %[[Y:.+]] = graph.quantized_embedding %[[T]], %[[E]]
// CHECK-NEXT:      graph.yield %[[Y]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[QKV:.+]] = graph.region
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      graph.rms_norm
// CHECK-NEXT:      graph.quantized_linear {{.*}} -> tensor<?x128xf32>
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[HEADS:.+]]:3 = graph.region (%[[A:.+]] = %[[QKV]] : tensor<?x128xf32>, {{.*}} = %[[POSITION]] : tensor<i32>) -> (tensor<?x4x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>) {
// CHECK-DAG:       graph.slice %[[A]] dim 1 offset 0 size 64
// CHECK-DAG:       graph.slice %[[A]] dim 1 offset 64 size 32
// CHECK-DAG:       graph.slice %[[A]] dim 1 offset 96 size 32
// CHECK-DAG:       graph.rms_norm
// CHECK-DAG:       %[[Q:.+]] = graph.rotary {{.*}} -> tensor<?x4x16xf32>
// CHECK-DAG:       %[[K:.+]] = graph.kv_append @k
// CHECK-DAG:       %[[V:.+]] = graph.kv_append @v
// CHECK:           graph.yield %[[Q]], %[[K]], %[[V]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[ATTENTION:.+]] = graph.region ({{.*}} = %[[HEADS]]#0 : tensor<?x4x16xf32>, {{.*}} = %[[HEADS]]#1 : {{.*}}, {{.*}} = %[[HEADS]]#2 : {{.*}}, {{.*}} = %[[POSITION]] : tensor<i32>) -> (tensor<?x64xf32>) {
// CHECK-NEXT:      graph.sdpa
// CHECK-NEXT:      graph.reshape
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[X2:.+]] = graph.region ({{.*}} = %[[ATTENTION]] : {{.*}}, {{.*}}, %[[R:.+]] = %[[X]] : tensor<?x64xf32>)
// CHECK-NEXT:      %[[O:.+]] = graph.quantized_linear
// CHECK-NEXT:      %[[S:.+]] = graph.add %[[R]], %[[O]]
// CHECK-NEXT:      graph.yield %[[S]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[H:.+]] = graph.region ({{.*}} = %[[X2]] : tensor<?x64xf32>{{.*}} -> (tensor<?x96xf32>)
// CHECK-NEXT:      graph.dequantize
// CHECK-NEXT:      %[[N:.+]] = graph.rms_norm
// CHECK-NEXT:      %[[G:.+]] = graph.quantized_linear %[[N]]
// CHECK-NEXT:      %[[GS:.+]] = graph.silu %[[G]]
// CHECK-NEXT:      %[[U:.+]] = graph.quantized_linear %[[N]]
// CHECK-NEXT:      %[[M:.+]] = graph.mul %[[GS]], %[[U]]
// CHECK-NEXT:      graph.yield %[[M]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[X3:.+]] = graph.region ({{.*}} = %[[H]] : {{.*}}, {{.*}}, {{.*}} = %[[X2]] : tensor<?x64xf32>)
// CHECK-NEXT:      graph.quantized_linear
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[X3]]
func.func @forward_r1(%tokens: tensor<?xi32>, %position: tensor<i32>) -> tensor<?x64xf32> attributes {graph.rows = 1 : i64} {
  %0 = graph.load_weight @embedding : tensor<32x64x!graph.encoded<q8_0>>
  %table = graph.dequantize %0 : tensor<32x64x!graph.encoded<q8_0>> -> tensor<32x64xf32>
  %x = graph.embedding %tokens, %table : tensor<?xi32>, tensor<32x64xf32> -> tensor<?x64xf32>
  %1 = graph.load_weight @norm1 : tensor<64x!graph.encoded<f32>>
  %gain1 = graph.dequantize %1 : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n = graph.rms_norm %x, %gain1 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %2 = graph.load_weight @wq : tensor<64x64x!graph.encoded<q8_0>>
  %wq = graph.dequantize %2 : tensor<64x64x!graph.encoded<q8_0>> -> tensor<64x64xf32>
  %q = graph.matmul %n, %wq transpose_rhs : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %3 = graph.load_weight @wk : tensor<32x64x!graph.encoded<q8_0>>
  %wk = graph.dequantize %3 : tensor<32x64x!graph.encoded<q8_0>> -> tensor<32x64xf32>
  %k = graph.matmul %n, %wk transpose_rhs : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %4 = graph.load_weight @wv : tensor<32x64x!graph.encoded<q8_0>>
  %wv = graph.dequantize %4 : tensor<32x64x!graph.encoded<q8_0>> -> tensor<32x64xf32>
  %v = graph.matmul %n, %wv transpose_rhs : tensor<?x64xf32>, tensor<32x64xf32> -> tensor<?x32xf32>
  %q0 = graph.reshape %q : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %5 = graph.load_weight @qnorm : tensor<16x!graph.encoded<f32>>
  %qgain = graph.dequantize %5 : tensor<16x!graph.encoded<f32>> -> tensor<16xf32>
  %q1 = graph.rms_norm %q0, %qgain epsilon 1.0e-5 : tensor<?x4x16xf32>, tensor<16xf32> -> tensor<?x4x16xf32>
  %q2 = graph.rotary %q1, %position pairs half base 1.0e4 dim 16 : tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  %k0 = graph.reshape %k : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %k1 = graph.rotary %k0, %position pairs half base 1.0e4 dim 16 : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %v0 = graph.reshape %v : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %k2 = graph.kv_append @k, %k1, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %k3 = graph.transpose %k2 [1, 0, 2] : tensor<?x2x16xf32> -> tensor<2x?x16xf32>
  %k4 = graph.reshape %k3 : tensor<2x?x16xf32> -> tensor<2x1x?x16xf32>
  %v1 = graph.kv_append @v, %v0, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  %v2 = graph.transpose %v1 [1, 0, 2] : tensor<?x2x16xf32> -> tensor<2x?x16xf32>
  %v3 = graph.reshape %v2 : tensor<2x?x16xf32> -> tensor<2x1x?x16xf32>
  %q3 = graph.reshape %q2 : tensor<?x4x16xf32> -> tensor<?x2x2x16xf32>
  %q4 = graph.transpose %q3 [1, 2, 0, 3] : tensor<?x2x2x16xf32> -> tensor<2x2x?x16xf32>
  %s = graph.matmul %q4, %k4 transpose_rhs : tensor<2x2x?x16xf32>, tensor<2x1x?x16xf32> -> tensor<2x2x?x?xf32>
  %scale = graph.constant 0.25 : tensor<f32>
  %s1 = graph.mul %s, %scale : tensor<2x2x?x?xf32>, tensor<f32> -> tensor<2x2x?x?xf32>
  %s2 = graph.causal_mask %s1, %position : tensor<2x2x?x?xf32>
  %p = graph.softmax %s2 : tensor<2x2x?x?xf32>
  %o = graph.matmul %p, %v3 : tensor<2x2x?x?xf32>, tensor<2x1x?x16xf32> -> tensor<2x2x?x16xf32>
  %o1 = graph.transpose %o [2, 0, 1, 3] : tensor<2x2x?x16xf32> -> tensor<?x2x2x16xf32>
  %o2 = graph.reshape %o1 : tensor<?x2x2x16xf32> -> tensor<?x64xf32>
  %6 = graph.load_weight @wo : tensor<64x64x!graph.encoded<q8_0>>
  %wo = graph.dequantize %6 : tensor<64x64x!graph.encoded<q8_0>> -> tensor<64x64xf32>
  %attention = graph.matmul %o2, %wo transpose_rhs : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %x2 = graph.add %x, %attention : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %7 = graph.load_weight @norm2 : tensor<64x!graph.encoded<f32>>
  %gain2 = graph.dequantize %7 : tensor<64x!graph.encoded<f32>> -> tensor<64xf32>
  %n2 = graph.rms_norm %x2, %gain2 epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x64xf32>
  %8 = graph.load_weight @gate : tensor<96x64x!graph.encoded<q8_0>>
  %wgate = graph.dequantize %8 : tensor<96x64x!graph.encoded<q8_0>> -> tensor<96x64xf32>
  %gate = graph.matmul %n2, %wgate transpose_rhs : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  %silu = graph.silu %gate : tensor<?x96xf32>
  %9 = graph.load_weight @up : tensor<96x64x!graph.encoded<q8_0>>
  %wup = graph.dequantize %9 : tensor<96x64x!graph.encoded<q8_0>> -> tensor<96x64xf32>
  %up = graph.matmul %n2, %wup transpose_rhs : tensor<?x64xf32>, tensor<96x64xf32> -> tensor<?x96xf32>
  %h = graph.mul %silu, %up : tensor<?x96xf32>, tensor<?x96xf32> -> tensor<?x96xf32>
  %10 = graph.load_weight @down : tensor<64x96x!graph.encoded<q8_0>>
  %wdown = graph.dequantize %10 : tensor<64x96x!graph.encoded<q8_0>> -> tensor<64x96xf32>
  %down = graph.matmul %h, %wdown transpose_rhs : tensor<?x96xf32>, tensor<64x96xf32> -> tensor<?x64xf32>
  %x3 = graph.add %x2, %down : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %x3 : tensor<?x64xf32>
}
