// RUN: llmc-opt %s --split-input-file --verify-diagnostics
//
// Every labelled constraint of ops on rows of texts: norms, pooling, convolution, biases by distance, positions.

func.func @layer_norm_gain(%x: tensor<?x4xf32>, %g: tensor<5xf32>) {
  // expected-error@+1 {{layer_norm_c1: gain and bias must be [size of the last dimension] of 'tensor<?x4xf32>', got 'tensor<5xf32>'}}
  %0 = graph.layer_norm %x, %g epsilon 1.0e-6 : tensor<?x4xf32>, tensor<5xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @layer_norm_bias(%x: tensor<?x4xf32>, %g: tensor<4xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{layer_norm_c1: gain and bias must be [size of the last dimension] of 'tensor<?x4xf32>', got 'tensor<3xf32>'}}
  %0 = graph.layer_norm %x, %g bias %b : tensor<3xf32> epsilon 1.0e-6 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @layer_norm_result(%x: tensor<?x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{layer_norm_c2: input and result must have the same shape}}
  %0 = graph.layer_norm %x, %g epsilon 1.0e-6 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x2xf32>
  return
}

// -----
func.func @layer_norm_epsilon(%x: tensor<?x4xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{layer_norm_c3: epsilon must be finite and not negative}}
  %0 = graph.layer_norm %x, %g epsilon -1.0 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @l2_rank(%x: tensor<f32>) {
  // expected-error@+1 {{l2_normalize_c1: the rank must be at least 1}}
  %0 = graph.l2_normalize %x epsilon 1.0e-12 : tensor<f32>
  return
}

// -----
func.func @l2_epsilon(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{l2_normalize_c2: epsilon must be positive and finite}}
  %0 = graph.l2_normalize %x epsilon 0.0 : tensor<?x4xf32>
  return
}

// -----
func.func @reduce_mean(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{reduce_mean_c1: the result must be the input's type with a last dimension of 1}}
  %0 = graph.reduce_mean %x : tensor<?x4xf32> -> tensor<?xf32>
  return
}

// -----
func.func @pool(%x: tensor<?x4xf32>, %s: tensor<?x3xi32>) {
  // expected-error@+1 {{pool_c1: input [rows, size] and spans [texts, 2] must give [texts, size]}}
  %0 = graph.pool mean %x, %s : tensor<?x4xf32>, tensor<?x3xi32> -> tensor<?x4xf32>
  return
}

// -----
func.func @short_conv_taps(%x: tensor<?x4xf32>, %t: tensor<10xf32>, %r: tensor<?x2xi32>) {
  // expected-error@+1 {{short_conv_c1: the input must be [rows, channels], the taps [channels * n] with n of at least 2}}
  %0 = graph.short_conv %x, %t ranges %r : tensor<?x2xi32> : tensor<?x4xf32>, tensor<10xf32>
  return
}

// -----
func.func @short_conv_past(%x: tensor<?x4xf32>, %t: tensor<12xf32>) {
  // expected-error@+1 {{short_conv_c2: there must be a state and a position, or ranges}}
  %0 = graph.short_conv %x, %t : tensor<?x4xf32>, tensor<12xf32>
  return
}

// -----
graph.state @s : tensor<3x4xf32>
func.func @short_conv_state(%x: tensor<?x4xf32>, %t: tensor<12xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{short_conv_c3: names no state [2, 4] of f32: @s}}
  %0 = graph.short_conv %x, %t state @s, %p : tensor<?x4xf32>, tensor<12xf32>
  return
}

// -----
func.func @short_conv_ranges(%x: tensor<?x4xf32>, %t: tensor<12xf32>, %r: tensor<?x3xi32>) {
  // expected-error@+1 {{short_conv_c4: the ranges must be [rows, 2]}}
  %0 = graph.short_conv %x, %t ranges %r : tensor<?x3xi32> : tensor<?x4xf32>, tensor<12xf32>
  return
}

// -----

func.func @short_conv_ahead(%x: tensor<?x4xf32>, %t: tensor<12xf32>, %r: tensor<?x2xi32>) {
  // expected-error@+1 {{short_conv_c5: ahead must be 0 to 2, got 3}}
  %0 = graph.short_conv %x, %t ranges %r : tensor<?x2xi32> ahead 3 : tensor<?x4xf32>, tensor<12xf32>
  return
}

// -----

graph.state @s : tensor<2x4xf32>
func.func @short_conv_ahead_of_a_state(%x: tensor<?x4xf32>, %t: tensor<12xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{short_conv_c5: ahead must be 0 to 0, got 1}}
  %0 = graph.short_conv %x, %t state @s, %p ahead 1 : tensor<?x4xf32>, tensor<12xf32>
  return
}

// -----
func.func @rotary_positions(%x: tensor<?x2x8xf32>, %p: tensor<4xi32>) {
  // expected-error@+1 {{rotary_c5: there must be either a position or positions [rows]}}
  %0 = graph.rotary %x positions %p : tensor<4xi32> pairs half base 1.0e4 dim 8 : tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----
func.func @concat_dim(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{concat_c1: there must be inputs with a static dimension 0}}
  %0 = graph.concat dim 0 %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----
func.func @concat_result(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{concat_c2: inputs and result may differ in dimension 1 only, whose sizes add up}}
  %0 = graph.concat dim 1 %x, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x9xf32>
  return
}

// -----
func.func @concat_inputs(%x: tensor<3x4xf32>, %y: tensor<2x4xf32>) {
  // expected-error@+1 {{concat_c2: inputs and result may differ in dimension 1 only, whose sizes add up}}
  %0 = graph.concat dim 1 %x, %y : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x8xf32>
  return
}

// -----
func.func @range_mask(%x: tensor<2x?x?xf32>, %r: tensor<4x2xi32>) {
  // expected-error@+1 {{range_mask_c1: the input must be [.., rows, keys] and the ranges [rows, 2]}}
  %0 = graph.range_mask %x, %r : tensor<2x?x?xf32>, tensor<4x2xi32>
  return
}

// -----
func.func @relative_bias(%x: tensor<2x?x?xf32>, %t: tensor<8xf32>) {
  // expected-error@+1 {{relative_bias_c1: the input must be [.., rows, keys] with static heads and the table [an odd number * heads]}}
  %0 = graph.relative_bias %x, %t : tensor<2x?x?xf32>, tensor<8xf32>
  return
}

// -----
func.func @sdpa_relative(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %t: tensor<8xf32>) {
  // expected-error@+1 {{sdpa_c11: relative must be [an odd number * heads], without a position}}
  %0 = graph.sdpa %q, %k, %k relative %t : tensor<8xf32> scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}
