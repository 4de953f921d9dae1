// RUN: llmc-opt %s --split-input-file --verify-diagnostics

func.func @route_too_many(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{route_c1: scores [rows, experts] must give weights and experts [rows, 1 to the number of experts]}}
  %0, %1 = graph.route %s : tensor<?x8xf32> -> tensor<?x9xf32>, tensor<?x9xi32>
  return
}

// -----
func.func @route_none(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{route_c1: scores [rows, experts] must give weights}}
  %0, %1 = graph.route %s : tensor<?x8xf32> -> tensor<?x0xf32>, tensor<?x0xi32>
  return
}

// -----
func.func @route_results(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{route_c1: scores [rows, experts] must give weights}}
  %0, %1 = graph.route %s : tensor<?x8xf32> -> tensor<?x2xf32>, tensor<?x3xi32>
  return
}

// -----
func.func @route_rows(%s: tensor<3x8xf32>) {
  // expected-error@+1 {{route_c1: scores [rows, experts] must give weights}}
  %0, %1 = graph.route %s : tensor<3x8xf32> -> tensor<2x2xf32>, tensor<2x2xi32>
  return
}

// -----
func.func @expert_linear_inputs(%x: tensor<?x3x32xf32>, %w: tensor<64x32x!graph.encoded<q8_0>>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{expert_linear_c1: experts [rows, chosen] and the weight [.., k] must have an input [rows, k] or [rows, chosen, k]}}
  %0 = graph.expert_linear %x, %w, %e : tensor<?x3x32xf32>, tensor<64x32x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x16xf32>
  return
}

// -----
func.func @expert_linear_columns(%x: tensor<?x64xf32>, %w: tensor<64x32x!graph.encoded<q8_0>>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{expert_linear_c1: experts [rows, chosen] and the weight [.., k]}}
  %0 = graph.expert_linear %x, %w, %e : tensor<?x64xf32>, tensor<64x32x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x16xf32>
  return
}

// -----
func.func @expert_linear_outputs(%x: tensor<?x32xf32>, %w: tensor<64x32x!graph.encoded<q8_0>>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{expert_linear_c2: the result must be [rows, chosen, a divisor of the weight's rows]}}
  %0 = graph.expert_linear %x, %w, %e : tensor<?x32xf32>, tensor<64x32x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x2x24xf32>
  return
}

// -----
func.func @expert_linear_result(%x: tensor<?x32xf32>, %w: tensor<64x32x!graph.encoded<q8_0>>, %e: tensor<?x2xi32>) {
  // expected-error@+1 {{expert_linear_c2: the result must be [rows, chosen, a divisor of the weight's rows]}}
  %0 = graph.expert_linear %x, %w, %e : tensor<?x32xf32>, tensor<64x32x!graph.encoded<q8_0>>, tensor<?x2xi32> -> tensor<?x16xf32>
  return
}

// -----
func.func @weighted_sum_weights(%x: tensor<?x2x32xf32>, %w: tensor<?x3xf32>) {
  // expected-error@+1 {{weighted_sum_c1: input [rows, chosen, size] and weights [rows, chosen] must give [rows, size]}}
  %0 = graph.weighted_sum %x, %w : tensor<?x2x32xf32>, tensor<?x3xf32> -> tensor<?x32xf32>
  return
}

// -----
func.func @weighted_sum_result(%x: tensor<?x2x32xf32>, %w: tensor<?x2xf32>) {
  // expected-error@+1 {{weighted_sum_c1: input [rows, chosen, size] and weights [rows, chosen] must give [rows, size]}}
  %0 = graph.weighted_sum %x, %w : tensor<?x2x32xf32>, tensor<?x2xf32> -> tensor<?x64xf32>
  return
}
