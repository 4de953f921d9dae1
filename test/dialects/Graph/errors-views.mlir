// RUN: llmc-opt %s --split-input-file --verify-diagnostics
//
// Every labelled constraint of views, attention ops and regions.

func.func @rotary_result(%x: tensor<?x4x8xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{rotary_c1: input and result must have one type}}
  %0 = graph.rotary %x, %p pairs half base 1.0e4 dim 8 : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
  return
}

// -----
func.func @rotary_dim(%x: tensor<?x4x8xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{rotary_c2: dim must be even, and 2 to 8, got 10}}
  %0 = graph.rotary %x, %p pairs half base 1.0e4 dim 10 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @rotary_factors(%x: tensor<?x4x8xf32>, %p: tensor<i32>, %f: tensor<8xf32>) {
  // expected-error@+1 {{rotary_c3: factors must be [4]}}
  %0 = graph.rotary %x, %p factors %f : tensor<8xf32> pairs half base 1.0e4 dim 8 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @rotary_base(%x: tensor<?x4x8xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{rotary_c4: base and position_scale must be positive and finite}}
  %0 = graph.rotary %x, %p pairs half base 0.0 dim 8 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @reshape_dynamic(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{reshape_c1: input and result must have one dynamic dimension each}}
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<4x8xf32>
  return
}

// -----
func.func @reshape_product(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{reshape_c2: the static dimensions must have the same product}}
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x3x2xf32>
  return
}

// -----
func.func @reshape_element(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{reshape_c3: the element types differ}}
  %0 = graph.reshape %x : tensor<?x8xf32> -> tensor<?x2x4xf16>
  return
}

// -----
func.func @permutation(%x: tensor<?x4x8xf32>) {
  // expected-error@+1 {{transpose_c1: the permutation must hold each of the 3 dimensions once}}
  %0 = graph.transpose %x [1, 0, 0] : tensor<?x4x8xf32> -> tensor<4x?x8xf32>
  return
}

// -----
func.func @transpose_result(%x: tensor<?x4x8xf32>) {
  // expected-error@+1 {{transpose_c2: the result must be 'tensor<4x?x8xf32>'}}
  %0 = graph.transpose %x [1, 0, 2] : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @slice_dim(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{slice_c1: dim 0 is no static dimension}}
  %0 = graph.slice %x dim 0 offset 0 size 1 : tensor<?x8xf32> -> tensor<1x8xf32>
  return
}

// -----
func.func @slice_range(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{slice_c2: offset 6 and size 4 leave dimension 1 of size 8}}
  %0 = graph.slice %x dim 1 offset 6 size 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @slice_result(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{slice_c3: the result must be 'tensor<?x4xf32>'}}
  %0 = graph.slice %x dim 1 offset 4 size 4 : tensor<?x8xf32> -> tensor<?x5xf32>
  return
}

// -----
func.func @rows(%x: tensor<?x8xf32>, %first: tensor<i32>) {
  // expected-error@+1 {{select_rows_c1: the result may differ from the input in the first dimension only}}
  %0 = graph.select_rows %x, %first : tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----
func.func @mask(%x: tensor<?xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{causal_mask_c1: the rank must be at least 2}}
  %0 = graph.causal_mask %x, %p : tensor<?xf32>
  return
}

// -----
func.func @causal_mask_window(%x: tensor<?x?xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{causal_mask_c2: the window must not be negative, got -1}}
  %0 = graph.causal_mask %x, %p window -1 : tensor<?x?xf32>
  return
}

// -----
func.func @no_state(%x: tensor<?x2x64xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{kv_append_c1: names no state of rank 3: @s}}
  %0 = graph.kv_append @s, %x, %p : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
  return
}

// -----
graph.state @s : tensor<4x128x64xf32>
func.func @other_heads(%x: tensor<?x2x64xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{kv_append_c2: 'tensor<?x2x64xf32>' must be [rows, 4, 64]}}
  %0 = graph.kv_append @s, %x, %p : tensor<?x2x64xf32> -> tensor<?x2x64xf32>
  return
}

// -----
graph.state @s : tensor<2x128x64xf32>
func.func @too_many_rows(%x: tensor<256x2x64xf32>, %p: tensor<i32>) {
  // expected-error@+1 {{kv_append_c3: 256 rows exceed the context length of 128}}
  %0 = graph.kv_append @s, %x, %p : tensor<256x2x64xf32> -> tensor<?x2x64xf32>
  return
}

// -----
func.func @linear_k(%x: tensor<?x32xf32>, %w: tensor<8x64x!graph.encoded<q4_0>>) {
  // expected-error@+1 {{quantized_linear_c1: input [.., k] and weight [n, k] don't fit}}
  %0 = graph.quantized_linear %x, %w : tensor<?x32xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return
}

// -----
func.func @linear_result(%x: tensor<?x64xf32>, %w: tensor<8x64x!graph.encoded<q4_0>>) {
  // expected-error@+1 {{quantized_linear_c2: the result must be 'tensor<?x8xf32>'}}
  %0 = graph.quantized_linear %x, %w : tensor<?x64xf32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x64xf32>
  return
}

// -----
func.func @table(%t: tensor<?xi32>, %w: tensor<8x64x!graph.encoded<q4_0>>) {
  // expected-error@+1 {{quantized_embedding_c1: tokens [rows] and table}}
  %0 = graph.quantized_embedding %t, %w : tensor<?xi32>, tensor<8x64x!graph.encoded<q4_0>> -> tensor<?x8xf32>
  return
}

// -----
func.func @sdpa_shapes(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %v: tensor<?x4x8xf32>) {
  // expected-error@+1 {{sdpa_c1: query, key and value must have rank 3}}
  %0 = graph.sdpa %q, %k, %v scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_dim(%q: tensor<?x4x8xf32>, %k: tensor<?x2x6xf32>) {
  // expected-error@+1 {{sdpa_c2: the head dimensions differ: 8 and 6}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x6xf32>, tensor<?x2x6xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_heads(%q: tensor<?x4x8xf32>, %k: tensor<?x3x8xf32>) {
  // expected-error@+1 {{sdpa_c3: the heads must be a multiple of the KV heads, got 4 and 3}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 : tensor<?x4x8xf32>, tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_result(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c4: the result must have the query's shape}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----
func.func @sdpa_scale(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c5: scale must be finite}}
  %0 = graph.sdpa %q, %k, %k scale 0x7F800000 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_position(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c6: a causal op must have a position}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 causal : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_bias_heads(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %b: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c7: the bias must be [rows, 1 or heads, keys or more]}}
  %0 = graph.sdpa %q, %k, %k bias %b : tensor<?x2x8xf32> scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_bias_keys(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %b: tensor<?x4x?xf32>) {
  // expected-error@+1 {{sdpa_c7: the bias must be [rows, 1 or heads, keys or more]}}
  %0 = graph.sdpa %q, %k, %k bias %b : tensor<?x4x?xf32> scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_ranges(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>, %r: tensor<?x3xi32>) {
  // expected-error@+1 {{sdpa_c8: the ranges must be [rows, 2]}}
  %0 = graph.sdpa %q, %k, %k ranges %r : tensor<?x3xi32> scale 1.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_window(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c9: the window must not be negative, and 0 when the op is not causal, got 4}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 window 4 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @sdpa_soft_cap(%q: tensor<?x4x8xf32>, %k: tensor<?x2x8xf32>) {
  // expected-error@+1 {{sdpa_c10: soft_cap must be finite and not negative}}
  %0 = graph.sdpa %q, %k, %k scale 1.0 soft_cap -2.0 : tensor<?x4x8xf32>, tensor<?x2x8xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----
func.func @region_arguments(%x: tensor<4xf32>) {
  // expected-error@+1 {{region_c1: block arguments must have the operands' types}}
  "graph.region"(%x) ({
  ^bb0(%a: tensor<5xf32>):
    "graph.yield"() : () -> ()
  }) : (tensor<4xf32>) -> ()
  return
}

// -----
func.func @region_results(%x: tensor<4xf32>) {
  // expected-error@+1 {{region_c2: the body must end in graph.yield of the results' types}}
  %y = graph.region (%a = %x : tensor<4xf32>) -> (tensor<5xf32>) {
    graph.yield %a : tensor<4xf32>
  }
  return
}
