// RUN: llmc-opt %s --split-input-file --verify-diagnostics
//
// Every labelled constraint of ops on weights, states and plain arithmetic.

// expected-error@+1 {{weight_c1: the type must have 1 or 2 static dimensions}}
graph.weight @w : tensor<?x256x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 1>]

// -----
// expected-error@+1 {{weight_c2: a row of 100 numbers is no whole number of Q4_K blocks of 256}}
graph.weight @w : tensor<4x100x!graph.encoded<q4_k>> from [#graph.source<file = 0, offset = 0, rows = 4>]

// -----
// expected-error@+1 {{weight_c2: the source's 16 numbers are no whole number of Q8_0 blocks}}
graph.weight @w : tensor<32x!graph.encoded<q8_0>> from [
  #graph.source<file = 0, offset = 0, rows = 16>, #graph.source<file = 0, offset = 64, rows = 16>]

// -----
// expected-error@+1 {{weight_c3: the sources have 3 rows, the type 4}}
graph.weight @w : tensor<4x32x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 3>]

// -----
// expected-error@+1 {{weight_c3: the sources have more than the 4 rows of the type}}
graph.weight @w : tensor<4x32x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = 0, rows = 5>]

// -----
// expected-error@+1 {{weight_c4: file, offset and rows are out of range}}
graph.weight @w : tensor<4x32x!graph.encoded<q4_0>> from [#graph.source<file = 0, offset = -1, rows = 4>]

// -----
// expected-error@+1 {{state_c1: dimensions must be static and at least 1}}
graph.state @s : tensor<2x?x64xf32>

// -----
// expected-error@+1 {{state_c2: a cache of i8 must have rank 3 and a multiple of 4 elements a head, got 'tensor<2x8x6xi8>'}}
graph.state @s : tensor<2x8x6xi8>

// -----
// expected-error@+1 {{state_c2}}
graph.state @s : tensor<2x64xi8>

// -----
func.func @missing() {
  // expected-error@+1 {{load_weight_c1: names no weight: @w}}
  %0 = graph.load_weight @w : tensor<4x!graph.encoded<f32>>
  return
}

// -----
graph.weight @w : tensor<4x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 4>]
func.func @other_type() {
  // expected-error@+1 {{load_weight_c2: has type}}
  %0 = graph.load_weight @w : tensor<5x!graph.encoded<f32>>
  return
}

// -----
func.func @constant() {
  // expected-error@+1 {{constant_c1: the result must have rank 0}}
  %0 = graph.constant 1.0 : tensor<4xf32>
  return
}

// -----
func.func @dequantize(%w: tensor<4x!graph.encoded<f32>>) {
  // expected-error@+1 {{dequantize_c1: input and result must have the same shape}}
  %0 = graph.dequantize %w : tensor<4x!graph.encoded<f32>> -> tensor<5xf32>
  return
}

// -----
func.func @embedding(%t: tensor<?xi32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{embedding_c1: tokens [rows] and table [vocabulary, size] must give [rows, size]}}
  %0 = graph.embedding %t, %w : tensor<?xi32>, tensor<8x4xf32> -> tensor<?x8xf32>
  return
}

// -----
func.func @matmul_rank(%x: tensor<4xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{matmul_c1: lhs and rhs must have at least 2 dimensions}}
  %0 = graph.matmul %x, %w transpose_rhs : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----
func.func @matmul_k(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{matmul_c2: lhs and rhs must have the same k}}
  %0 = graph.matmul %x, %w : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @matmul_batch(%x: tensor<2x3x4xf32>, %w: tensor<5x8x4xf32>) {
  // expected-error@+1 {{matmul_c3: leading dimensions must be equal or 1}}
  %0 = graph.matmul %x, %w transpose_rhs : tensor<2x3x4xf32>, tensor<5x8x4xf32> -> tensor<2x3x8xf32>
  return
}

// -----
func.func @matmul_result(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) {
  // expected-error@+1 {{matmul_c4: the result must be 'tensor<?x8xf32>'}}
  %0 = graph.matmul %x, %w transpose_rhs : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x9xf32>
  return
}

// -----
func.func @broadcast(%x: tensor<?x4xf32>, %y: tensor<?x5xf32>) {
  // expected-error@+1 {{binary_c1: rhs 'tensor<?x5xf32>' doesn't broadcast to lhs}}
  %0 = graph.add %x, %y : tensor<?x4xf32>, tensor<?x5xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @broadcast_lhs(%x: tensor<4xf32>, %y: tensor<?x4xf32>) {
  // expected-error@+1 {{binary_c1: rhs 'tensor<?x4xf32>' doesn't broadcast to lhs}}
  %0 = graph.mul %x, %y : tensor<4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @binary_result(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{binary_c2: the result}}
  %0 = graph.sub %x, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x5xf32>
  return
}

// -----
func.func @gain(%x: tensor<?x4xf32>, %g: tensor<5xf32>) {
  // expected-error@+1 {{rms_norm_c1: the gain must be [size of the last dimension]}}
  %0 = graph.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x4xf32>, tensor<5xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @norm_result(%x: tensor<?x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{rms_norm_c2: input and result must have the same shape}}
  %0 = graph.rms_norm %x, %g epsilon 1.0e-6 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x2xf32>
  return
}

// -----
func.func @epsilon(%x: tensor<?x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{rms_norm_c3: epsilon must be finite and not negative}}
  %0 = graph.rms_norm %x, %g epsilon -1.0 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @softmax(%x: tensor<f32>) {
  // expected-error@+1 {{softmax_c1: the rank must be at least 1}}
  %0 = graph.softmax %x : tensor<f32>
  return
}
