// RUN: llmc-opt %s --llmc-narrow-activations -split-input-file | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1], kv_type = "f32", features = [], quirks = [], activations = "f16">

// A norm of four numbers with a gain of 30000 gives up to 60000: it fits. Twice that does not, nor does what nothing bounds,
// nor a result of the function.
module attributes {target.device = #device, graph.files = [array<f32: 30000.0, 1.0, 2.0, 3.0>]} {
  graph.weight @gain : tensor<4x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 4>]
  // CHECK-LABEL: func.func @f
  func.func @f(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {graph.rows = 1 : i64} {
    %g = graph.load_weight @gain : tensor<4x!graph.encoded<f32>>
    // CHECK: %[[FITS:.*]] = graph.region ({{.*}}) -> (tensor<?x4xf16>)
    // CHECK: %[[N:.*]] = graph.rms_norm
    // CHECK: %[[H:.*]] = graph.convert %[[N]] : tensor<?x4xf32> -> tensor<?x4xf16>
    // CHECK: graph.yield %[[H]] : tensor<?x4xf16>
    %fits = graph.region (%a = %x : tensor<?x4xf32>, %gg = %g : tensor<4x!graph.encoded<f32>>) -> (tensor<?x4xf32>) {
      %0 = graph.dequantize %gg : tensor<4x!graph.encoded<f32>> -> tensor<4xf32>
      %1 = graph.rms_norm %a, %0 epsilon 1.0e-6 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
      graph.yield %1 : tensor<?x4xf32>
    }
    // CHECK: graph.region (%[[A:.*]] = %[[FITS]] : tensor<?x4xf16>) -> (tensor<?x4xf32>)
    // CHECK: %[[W:.*]] = graph.convert %[[A]] : tensor<?x4xf16> -> tensor<?x4xf32>
    // CHECK: graph.add %[[W]], %[[W]]
    // CHECK-NOT: convert
    %large = graph.region (%a = %fits : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
      %0 = graph.add %a, %a : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
      graph.yield %0 : tensor<?x4xf32>
    }
    %unknown = graph.region (%a = %x : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
      %0 = graph.silu %a : tensor<?x4xf32>
      graph.yield %0 : tensor<?x4xf32>
    }
    %result = graph.region (%a = %large : tensor<?x4xf32>, %b = %unknown : tensor<?x4xf32>) -> (tensor<?x4xf32>) {
      %0 = graph.add %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
      %1 = graph.tanh %0 : tensor<?x4xf32>
      graph.yield %1 : tensor<?x4xf32>
    }
    return %result : tensor<?x4xf32>
  }

  // What chooses experts reads f32.
  // CHECK-LABEL: func.func @experts
  // CHECK-NOT: convert
  func.func @experts(%x: tensor<?x4xf32>) -> tensor<?x2xf32> attributes {graph.rows = 1 : i64} {
    %g = graph.load_weight @gain : tensor<4x!graph.encoded<f32>>
    %fits = graph.region (%a = %x : tensor<?x4xf32>, %gg = %g : tensor<4x!graph.encoded<f32>>) -> (tensor<?x4xf32>) {
      %0 = graph.dequantize %gg : tensor<4x!graph.encoded<f32>> -> tensor<4xf32>
      %1 = graph.rms_norm %a, %0 epsilon 1.0e-6 : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32>
      graph.yield %1 : tensor<?x4xf32>
    }
    %w, %e = graph.region (%a = %fits : tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>) {
      %0, %1 = graph.route %a : tensor<?x4xf32> -> tensor<?x2xf32>, tensor<?x2xi32>
      graph.yield %0, %1 : tensor<?x2xf32>, tensor<?x2xi32>
    }
    return %w : tensor<?x2xf32>
  }
}
