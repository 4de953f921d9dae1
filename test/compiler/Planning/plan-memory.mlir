// RUN: llmc-opt %s --split-input-file --llmc-plan-memory | FileCheck %s

#device = #target.device<name = "test", family = generic, subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false, registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0

  // A chain needs two slices' memory at a time; sizes are rounded up to 64.
  // CHECK-LABEL: program.entry @chain "forward" rows 1 arena 256
  program.entry @chain "forward" rows 1 {
    %in = program.slice input "x" bytes 16 value tensor<?x4xf32>
    // CHECK: %[[A:.*]] = program.slice arena bytes 100 offset 0
    %a = program.slice arena bytes 100
    // CHECK: %[[B:.*]] = program.slice arena bytes 100 offset 128
    %b = program.slice arena bytes 100
    // CHECK: %[[C:.*]] = program.slice arena bytes 100 offset 0
    %c = program.slice arena bytes 100
    %out = program.slice output "y" bytes 16 value tensor<?x4xf32>
    // CHECK-NOT: bytes 12345
    %unused = program.slice arena bytes 12345
    program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%a, %b) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%b, %c) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%c, %out) access [1, 2]
  }

  // Dispatches of one barrier interval run together: the second must not write
  // where the first still reads, although the first comes before it.
  // CHECK-LABEL: program.entry @together "forward" rows 1 arena 256
  program.entry @together "forward" rows 1 {
    %out = program.slice output "y" bytes 16 value tensor<?x4xf32>
    %in = program.slice input "x" bytes 16 value tensor<?x4xf32>
    // CHECK: program.slice arena bytes 100 offset 0
    %a = program.slice arena bytes 100
    // CHECK: program.slice arena bytes 100 offset 128
    %b = program.slice arena bytes 100
    program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%a, %out) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%in, %b) access [1, 2]
  }
}

// -----

#device = #target.device<name = "test", family = generic, subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false, registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 256, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  program.kernel @m "" workgroup [64, 1, 1] bindings 3 workgroup_memory 0

  // Inputs lie behind the 64 bytes of step words. The hidden rows have room for
  // 8 rows written and 2 rows read: 10 rows of 16 bytes.
  // CHECK-LABEL: program.entry @forward_r8
  program.entry @forward_r8 "forward" rows 8 {
    // CHECK: program.slice step bytes 64 offset 0
    %step = program.slice step bytes 64
    // CHECK: program.slice input "tokens" bytes 32 offset 256
    %tokens = program.slice input "tokens" bytes 32 value tensor<?xi32>
    // CHECK: program.slice input "more" bytes 32 offset 512
    %more = program.slice input "more" bytes 32 value tensor<?xi32>
    // CHECK: program.slice state "blk.0.k" bytes 1024 offset 0
    %k = program.slice state "blk.0.k" bytes 1024
    // CHECK: program.slice state "blk.0.v" bytes 1024 offset 1024
    %v = program.slice state "blk.0.v" bytes 1024
    // CHECK: program.slice kept "hidden" bytes 160 offset 0
    %hidden = program.slice kept "hidden" bytes 128 value tensor<?x3xf32>
    program.dispatch @k groups [1, 1, 1](%step, %k) access [1, 3]
    program.dispatch @k groups [1, 1, 1](%tokens, %v) access [1, 3]
    program.dispatch @k groups [1, 1, 1](%more, %hidden) access [1, 2]
  }
  // CHECK-LABEL: program.entry @forward_r1
  program.entry @forward_r1 "forward" rows 1 {
    // CHECK: program.slice input "tokens" bytes 4 offset 256
    %tokens = program.slice input "tokens" bytes 4 value tensor<?xi32>
    // CHECK: program.slice kept "hidden" bytes 160 offset 0
    %hidden = program.slice kept "hidden" bytes 16 value tensor<?x3xf32>
    program.dispatch @k groups [1, 1, 1](%tokens, %hidden) access [1, 2]
  }
  // CHECK-LABEL: program.entry @logits_r2
  program.entry @logits_r2 "logits" rows 2 {
    // CHECK: program.slice weight "w" bytes 512
    // CHECK-NOT: offset
    %w = program.slice weight "w" bytes 512
    // CHECK: program.slice kept "hidden" bytes 160 offset 0
    %hidden = program.slice kept "hidden" bytes 32 value tensor<?x3xf32>
    // CHECK: program.slice output "logits" bytes 64 offset 0
    %logits = program.slice output "logits" bytes 64 value tensor<?x5xf32>
    program.dispatch @m groups [1, 1, 1](%w, %hidden, %logits) access [1, 1, 2]
  }
}
