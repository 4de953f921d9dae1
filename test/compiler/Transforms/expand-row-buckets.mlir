// RUN: llmc-opt %s -llmc-expand-row-buckets | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 32, max_invocations = 256, max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 32768, workgroup_memory_on_chip = true, registers_full_occupancy = 32, registers_max = 64, compute_units = 8, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [8, 1, 64, 128, 1024], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  // CHECK:      func.func @forward_r1(%{{.*}}: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "hidden"})
  // CHECK-SAME:   attributes {graph.function = "forward", graph.rows = 1 : i64}
  // CHECK-NEXT:   graph.silu {{.*}} : tensor<?x64xf32>
  // CHECK:      func.func @forward_r8({{.*}} attributes {graph.function = "forward", graph.rows = 8 : i64}
  // CHECK:      func.func @forward_r64({{.*}} attributes {graph.function = "forward", graph.rows = 64 : i64}
  // CHECK:      func.func @forward_r1024(
  // CHECK-NOT:  func.func @forward(
  func.func @forward(%x: tensor<?x64xf32> {graph.name = "x"}) -> (tensor<?x64xf32> {graph.name = "hidden"}) {
    %y = graph.silu %x : tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }

  // CHECK:      func.func @logits_r1({{.*}} attributes {graph.function = "logits", graph.rows = 1 : i64}
  // CHECK:      func.func @logits_r8({{.*}} attributes {graph.function = "logits", graph.rows = 8 : i64}
  // CHECK-NOT:  @logits
  func.func @logits(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.max_rows = 32 : i64} {
    return %x : tensor<?x64xf32>
  }

  // CHECK:      func.func @static_rows_r12({{.*}} attributes {graph.function = "static_rows", graph.rows = 12 : i64}
  // CHECK-NOT:  @static_rows
  func.func @static_rows(%x: tensor<12x64xf32>, %gain: tensor<64xf32>) -> tensor<12x64xf32> {
    return %x : tensor<12x64xf32>
  }

  // Whole texts of up to 300 rows: no bucket that leaves no room beside a short one, none beyond 300.
  // CHECK:      func.func @encode_r128({{.*}} attributes {graph.function = "encode", graph.rows = 128 : i64}
  // CHECK:      func.func @encode_r300({{.*}} attributes {graph.function = "encode", graph.rows = 300 : i64}
  // CHECK-NOT:  @encode
  func.func @encode(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {graph.min_rows = 300 : i64} {
    return %x : tensor<?x64xf32>
  }
}
