// The examples of docs/testing.md.
//
// RUN: llmc-opt %s --llmc-plan-memory --llmc-insert-barriers --mlir-print-ir-after=llmc-plan-memory -o %t.out 2>%t.ir
// RUN: FileCheck %s --check-prefix=AFTER --input-file=%t.ir
// RUN: rm -rf %t.tree
// RUN: llmc-opt %s --llmc-plan-memory --llmc-insert-barriers --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree -o %t.out
// RUN: FileCheck %s --check-prefix=AFTER --input-file=%t.tree/builtin_module_no-symbol-name/0_llmc-plan-memory.mlir
// RUN: FileCheck %s --check-prefix=BARRIERS --input-file=%t.tree/builtin_module_no-symbol-name/1_llmc-insert-barriers.mlir
// RUN: llmc-opt %s --llmc-plan-memory --llmc-insert-barriers --mlir-timing -o %t.out 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: not llmc-opt %s --llmc-insert-barriers --mlir-pass-pipeline-crash-reproducer=%t.crash.mlir
// RUN: not llmc-opt %t.crash.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=REPRODUCED

// AFTER: program.slice arena bytes 100 offset 128
// AFTER-NOT: program.barrier
// BARRIERS-COUNT-2: program.barrier
// TIMING: PlanMemoryPass
// REPRODUCED: op has no offset; llmc-plan-memory runs before barriers are inserted

#device = #target.device<name = "test", family = generic, subgroup_size = 1, max_invocations = 128, max_workgroup_size = [128, 128, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false, registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64, max_buffer_range = 134217728, max_allocation = 1073741824, max_push_constant_bytes = 128, spirv_minor = 3, vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>

module attributes {target.device = #device} {
  program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  program.entry @chain "forward" rows 1 {
    %in = program.slice input "x" bytes 16 value tensor<?x4xf32>
    %a = program.slice arena bytes 100
    %b = program.slice arena bytes 100
    %out = program.slice output "y" bytes 16 value tensor<?x4xf32>
    program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%in, %b) access [1, 2]
    program.dispatch @k groups [1, 1, 1](%a, %out) access [1, 2]
  }
}
