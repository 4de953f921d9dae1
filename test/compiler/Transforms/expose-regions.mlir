// RUN: llmc-opt %s -llmc-expose-regions | FileCheck %s
// RUN: llmc-opt %s -llmc-expose-regions='rows=8' | FileCheck %s --check-prefix=ROWS

// What is returned already, and quantized activations, do not become further results.
// CHECK: func.func @f_r1({{.*}}) -> (tensor<?x64xf32> {graph.name = "y"}, tensor<?x64xf32> {graph.name = "region.0.0"})
// CHECK: return %{{.*}}, %[[A:.*]] : tensor<?x64xf32>, tensor<?x64xf32>
// ROWS: func.func @f_r1({{.*}}) -> (tensor<?x64xf32> {graph.name = "y"})
func.func @f_r1(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.function = "f", graph.rows = 1 : i64} {
  %a = graph.region (%0 = %x : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    graph.yield %1 : tensor<?x64xf32>
  }
  %c, %s, %t = graph.region (%0 = %a : tensor<?x64xf32>) -> (tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>) {
    %1, %2, %3 = graph.quantize_activations %0 group 32 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>
    graph.yield %1, %2, %3 : tensor<?x64xi8>, tensor<?x2xf32>, tensor<?x2xf32>
  }
  %y = graph.region (%0 = %a : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    graph.yield %1 : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// Values of f16 are seen as such.
// CHECK: func.func @half_r1({{.*}}) -> (tensor<?x64xf32> {graph.name = "y"}, tensor<?x64xf16> {graph.name = "region.0.0"})
func.func @half_r1(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.function = "h", graph.rows = 1 : i64} {
  %a = graph.region (%0 = %x : tensor<?x64xf32>) -> (tensor<?x64xf16>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    %2 = graph.convert %1 : tensor<?x64xf32> -> tensor<?x64xf16>
    graph.yield %2 : tensor<?x64xf16>
  }
  %y = graph.region (%0 = %a : tensor<?x64xf16>) -> (tensor<?x64xf32>) {
    %1 = graph.convert %0 : tensor<?x64xf16> -> tensor<?x64xf32>
    %2 = graph.silu %1 : tensor<?x64xf32>
    graph.yield %2 : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}

// CHECK: func.func @f_r8({{.*}}"region.0.0"
// ROWS: func.func @f_r8({{.*}}"region.0.0"
func.func @f_r8(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "y"}) attributes {graph.function = "f", graph.rows = 8 : i64} {
  %a = graph.region (%0 = %x : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    graph.yield %1 : tensor<?x64xf32>
  }
  %y = graph.region (%0 = %a : tensor<?x64xf32>) -> (tensor<?x64xf32>) {
    %1 = graph.silu %0 : tensor<?x64xf32>
    graph.yield %1 : tensor<?x64xf32>
  }
  return %y : tensor<?x64xf32>
}
