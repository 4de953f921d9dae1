// RUN: llmc-opt %s --split-input-file --verify-diagnostics
//
// Every labelled constraint of quantized activations.
func.func @quantize_input(%x: tensor<?x100xf32>) {
  // expected-error@+1 {{quantize_activations_c1: the input must be [rows, k] of f32, k a multiple of 32, got 'tensor<?x100xf32>'}}
  %q, %s, %t = graph.quantize_activations %x group 0 : tensor<?x100xf32> -> tensor<?x100xi8>, tensor<?xf32>, tensor<?x3xf32>
  return
}

// -----
func.func @quantize_group(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{quantize_activations_c2: group must be 0 or 32, got 16}}
  %q, %s, %t = graph.quantize_activations %x group 16 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?x4xf32>, tensor<?x2xf32>
  return
}

// -----
func.func @quantize_results(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{quantize_activations_c3: the results must be 'tensor<?x64xi8>', 'tensor<?x2xf32>' and 'tensor<?x2xf32>'}}
  %q, %s, %t = graph.quantize_activations %x group 32 : tensor<?x64xf32> -> tensor<?x64xi8>, tensor<?xf32>, tensor<?x2xf32>
  return
}

// -----
func.func @linear_without_scales(%x: tensor<?x64xi8>, %w: tensor<8x64x!graph.encoded<q4_0>>) {
  // expected-error@+1 {{quantized_linear_c3: an input of i8 has scales and sums}}
  %0 = graph.quantized_linear %x, %w : tensor<?x64xi8>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return
}

// -----
func.func @linear_with_scales(%x: tensor<?x64xf32>, %w: tensor<8x64x!graph.encoded<q4_0>>, %s: tensor<?x2xf32>) {
  // expected-error@+1 {{quantized_linear_c3: an input of i8 has scales and sums, any other has neither}}
  %0 = graph.quantized_linear %x, %w scales %s : tensor<?x2xf32> sums %s : tensor<?x2xf32>
      : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return
}

// -----
func.func @linear_scales(%x: tensor<?x64xi8>, %w: tensor<8x64x!graph.encoded<q4_0>>, %s: tensor<?x4xf32>, %t: tensor<?x2xf32>) {
  // expected-error@+1 {{quantized_linear_c4: scales must be [rows] or [rows, k/32]}}
  %0 = graph.quantized_linear %x, %w scales %s : tensor<?x4xf32> sums %t : tensor<?x2xf32>
      : tensor<?x64xi8>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return
}
