// RUN: llmc-opt %s -llmc-quantize-weights='weights=int4-g128' | FileCheck %s
// RUN: llmc-opt %s -llmc-quantize-weights='weights=int8 weights-for=gate=int4-g64-asym,up=keep,up=f16' | FileCheck %s --check-prefix=RULES
// RUN: llmc-opt %s -llmc-quantize-weights | FileCheck %s --check-prefix=NONE --implicit-check-not=packing

// Groups of 128 divide 256; of rows of 96 only groups of 32; rows of 24 become f16. Vectors, and matrices that something else
// reads, stay.
// CHECK: graph.weight @gate : tensor<512x256x!graph.encoded<i4_g128>> from [#graph.source<file = 0, offset = 0, rows = 256, packing = <form = "rows", encoding = f16>>, #graph.source<file = 0, offset = 131072, rows = 256, packing = <form = "rows", encoding = f16>>]
// CHECK: graph.weight @table : tensor<32x96x!graph.encoded<i4_g32>> {{.*}}encoding = q8_0
// CHECK: graph.weight @narrow : tensor<16x24x!graph.encoded<f16>> {{.*}}encoding = f32
// CHECK: graph.weight @gain : tensor<256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 256>]
// CHECK: graph.weight @up : tensor<512x256x!graph.encoded<i4_g128>>
// CHECK: graph.weight @taps : tensor<512x256x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 512>]
// CHECK: graph.load_weight @gate : tensor<512x256x!graph.encoded<i4_g128>>
// CHECK-NEXT: graph.dequantize {{.*}} : tensor<512x256x!graph.encoded<i4_g128>> -> tensor<512x256xf32>

// The first rule that matches a name counts.
// RULES: graph.weight @gate : tensor<512x256x!graph.encoded<i4_g64_asym>>
// RULES: graph.weight @table : tensor<32x96x!graph.encoded<i8_channel>>
// RULES: graph.weight @up : tensor<512x256x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]

// NONE: graph.weight @gate : tensor<512x256x!graph.encoded<f16>>

graph.weight @gate : tensor<512x256x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 256>, #graph.source<file = 0, offset = 131072, rows = 256>]
graph.weight @table : tensor<32x96x!graph.encoded<q8_0>> from [#graph.source<file = 0, offset = 0, rows = 32>]
graph.weight @narrow : tensor<16x24x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 16>]
graph.weight @gain : tensor<256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 256>]
graph.weight @up : tensor<512x256x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 512>]
graph.weight @taps : tensor<512x256x!graph.encoded<f16>> from [#graph.source<file = 0, offset = 0, rows = 512>]

func.func @linears(%x: tensor<?x256xf32>) -> (tensor<?x512xf32>, tensor<?x512xf32>, tensor<512x256xf32>) {
  %0 = graph.load_weight @gate : tensor<512x256x!graph.encoded<f16>>
  %1 = graph.dequantize %0 : tensor<512x256x!graph.encoded<f16>> -> tensor<512x256xf32>
  %2 = graph.matmul %x, %1 transpose_rhs : tensor<?x256xf32>, tensor<512x256xf32> -> tensor<?x512xf32>
  %3 = graph.load_weight @up : tensor<512x256x!graph.encoded<q4_k>>
  %4 = graph.dequantize %3 : tensor<512x256x!graph.encoded<q4_k>> -> tensor<512x256xf32>
  %5 = graph.matmul %x, %4 transpose_rhs : tensor<?x256xf32>, tensor<512x256xf32> -> tensor<?x512xf32>
  %6 = graph.load_weight @taps : tensor<512x256x!graph.encoded<f16>>
  %7 = graph.dequantize %6 : tensor<512x256x!graph.encoded<f16>> -> tensor<512x256xf32>
  return %2, %5, %7 : tensor<?x512xf32>, tensor<?x512xf32>, tensor<512x256xf32>
}

func.func @gather(%t: tensor<?xi32>, %x: tensor<?x24xf32>) -> (tensor<?x96xf32>, tensor<?x16xf32>) {
  %0 = graph.load_weight @table : tensor<32x96x!graph.encoded<q8_0>>
  %1 = graph.dequantize %0 : tensor<32x96x!graph.encoded<q8_0>> -> tensor<32x96xf32>
  %2 = graph.embedding %t, %1 : tensor<?xi32>, tensor<32x96xf32> -> tensor<?x96xf32>
  %3 = graph.load_weight @narrow : tensor<16x24x!graph.encoded<f32>>
  %4 = graph.dequantize %3 : tensor<16x24x!graph.encoded<f32>> -> tensor<16x24xf32>
  %5 = graph.matmul %x, %4 transpose_rhs : tensor<?x24xf32>, tensor<16x24xf32> -> tensor<?x16xf32>
  return %2, %5 : tensor<?x96xf32>, tensor<?x16xf32>
}
