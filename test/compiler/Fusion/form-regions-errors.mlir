// RUN: llmc-opt %s -llmc-form-regions -allow-unregistered-dialect -split-input-file -verify-diagnostics

// expected-error @below {{has no graph.rows: regions are formed for one row bucket}}
func.func @no_rows(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// expected-error @below {{has more than one block}}
func.func @branch(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.rows = 1 : i64} {
  "test.br"()[^next] : () -> ()
^next:
  return %x : tensor<?x64xf32>
}

// -----

func.func @foreign_op() -> tensor<f32> attributes {graph.rows = 1 : i64} {
  // expected-error @below {{cannot be put into a region}}
  %x = arith.constant dense<1.0> : tensor<f32>
  return %x : tensor<f32>
}

// -----

graph.state @k : tensor<2x64x16xf32>
func.func @twice(%x: tensor<?x2x16xf32>, %position: tensor<i32>) -> tensor<?x2x16xf32> attributes {graph.rows = 1 : i64} {
  %a = graph.kv_append @k, %x, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  // expected-error @below {{appends to state @k a second time in one step}}
  %b = graph.kv_append @k, %x, %position : tensor<?x2x16xf32> -> tensor<?x2x16xf32>
  return %b : tensor<?x2x16xf32>
}
