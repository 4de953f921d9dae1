// RUN: llmc-opt %s --llmc-add-sampling | FileCheck %s
// RUN: llmc-opt %s --llmc-add-sampling | llmc-opt | FileCheck %s
// RUN: sed 's/max_invocations = 256/max_invocations = 8/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=SMALL
// RUN: sed 's/"forward"/"encode"/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=SMALL
// RUN: sed 's/compute_units = 4/compute_units = 1/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=ONE
// RUN: sed 's/features = \[\]/features = ["subgroup_arithmetic"]/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=SUBGROUPS
// RUN: sed 's/features = \[\]/features = ["subgroup_arithmetic"]/; s/x5000x/x600000x/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=LARGE
// RUN: sed 's/features = \[\], quirks = \[\]/features = ["subgroup_arithmetic"], quirks = ["no_subgroup_reduction"]/' %s | llmc-opt --llmc-add-sampling | FileCheck %s
// RUN: sed 's/"embed"/"selftest.0"/' %s | llmc-opt --llmc-add-sampling | FileCheck %s --check-prefix=TEST

// A vocabulary of 5000 is five workgroups' of 256 invocations with four logits each, so that none of four compute units
// is idle; with one compute unit it is two workgroups' with 16 logits each. Of 8 invocations it would be 40 workgroups',
// more than one of 8 looks at. Without a function forward there is no next step.
// SMALL-NOT: "next"
// A self-test of the two dispatches is there only beside others.

#device = #target.device<name = "test", family = generic, subgroup_size = 16, max_invocations = 256,
  max_workgroup_size = [256, 256, 64], max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384,
  workgroup_memory_on_chip = true, registers_full_occupancy = 64, registers_max = 128, compute_units = 4,
  buffer_alignment = 16, max_buffer_range = 134217728, max_allocation = 134217728, max_push_constant_bytes = 128,
  spirv_minor = 3, vulkan_minor = 1, max_unroll = 32, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>
module attributes {target.device = #device} {
  program.kernel @embed "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  program.kernel @head "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  program.entry @forward_r1 "forward" rows 1 {
    %0 = program.slice input "tokens" bytes 4 value tensor<?xi32>
    %1 = program.slice kept "hidden" bytes 256 value tensor<?x64xf32>
    program.dispatch @embed groups [1, 1, 1](%0, %1) access [1, 2]
  }
  program.entry @embed_r1 "embed" rows 1 {
  }
  program.entry @logits_r1 "logits" rows 1 {
    %0 = program.slice kept "hidden" bytes 256 value tensor<?x64xf32>
    %1 = program.slice output "logits" bytes 20000 value tensor<?x5000xf32>
    program.dispatch @head groups [1, 1, 1](%0, %1) access [1, 2] "head"
  }
}

// CHECK: program.entry @next_r1 "next" rows 1 {
// CHECK-NEXT: %[[LOGITS:.*]] = program.slice arena bytes 20000
// CHECK-NEXT: %[[HIDDEN:.*]] = program.slice kept "hidden"
// CHECK-NEXT: program.dispatch @head groups [1, 1, 1](%[[HIDDEN]], %[[LOGITS]]) access [1, 2] "head"
// CHECK-DAG: %[[WORDS:.*]] = program.slice input "sampling" bytes 32 value tensor<1x8xi32>
// CHECK-DAG: %[[RECENT:.*]] = program.slice input "recent" bytes 256 value tensor<1x64xi32>
// CHECK-DAG: %[[DRAWS:.*]] = program.slice input "draws" bytes 256 value tensor<1x64xf32>
// CHECK-DAG: %[[TOKENS:.*]] = program.slice input "tokens" bytes 4 value tensor<1x1xi32>
// CHECK-DAG: %[[CHOSEN:.*]] = program.slice output "chosen" bytes 256 value tensor<1x64xi32>
// CHECK: %[[FOUND:.*]] = program.slice arena bytes 2600
// CHECK: program.dispatch @sample_top_5000 groups [5, 1, 1](%[[WORDS]], %[[LOGITS]], %[[RECENT]], %[[FOUND]]) access [1, 1, 1, 2]
// CHECK: %[[STEP:.*]] = program.slice step bytes 64
// CHECK: program.dispatch @sample_draw_5000 groups [1, 1, 1](%[[WORDS]], %[[STEP]], %[[FOUND]], %[[DRAWS]], %[[TOKENS]], %[[CHOSEN]], %[[RECENT]]) access [3, 3, 1, 1, 2, 2, 2]
// CHECK: program.kernel @sample_top_5000 "sample top 5000" workgroup [256, 1, 1] {{.*}} tile = [4]
// CHECK: program.kernel @sample_draw_5000 "sample draw 5000" workgroup [8, 1, 1]
// CHECK-NOT: selftest

// ONE: program.slice arena bytes 1040
// ONE: program.dispatch @sample_top_5000 groups [2, 1, 1]
// ONE: program.kernel @sample_top_5000 {{.*}} tile = [16]

// Subgroups' bests meet in workgroup memory, and the second kernel is one subgroup, without barriers.
// SUBGROUPS: program.kernel @sample_top_5000 {{.*}} workgroup_memory 256 config {{.*}} reduction = subgroup
// SUBGROUPS: gpu.subgroup_reduce maxsi
// SUBGROUPS: gpu.subgroup_reduce minui
// SUBGROUPS: gpu.barrier
// SUBGROUPS-NOT: gpu.barrier
// SUBGROUPS: program.kernel @sample_draw_5000 {{.*}} workgroup [16, 1, 1] {{.*}} workgroup_memory 512
// SUBGROUPS-NOT: gpu.barrier
// SUBGROUPS: gpu.subgroup_reduce maxsi
// SUBGROUPS: gpu.subgroup_reduce minui
// SUBGROUPS-NOT: gpu.barrier

// 147 workgroups, of which 16 invocations would look at ten each.
// LARGE: program.dispatch @sample_top_600000 groups [147, 1, 1]
// LARGE: program.kernel @sample_draw_600000 {{.*}} workgroup [32, 1, 1]

// The kernels are those of `next`; the logits are an input and the next step's token is an output.
// TEST: program.entry @next_r1
// TEST: program.dispatch @sample_draw_5000
// TEST: program.entry @selftest_sampling "selftest.sampling" rows 1 {
// TEST-NEXT: %[[LOGITS:.*]] = program.slice input "logits" bytes 20000 value tensor<1x5000xf32>
// TEST-DAG: %[[WORDS:.*]] = program.slice input "sampling" bytes 32 value tensor<1x8xi32>
// TEST-DAG: %[[RECENT:.*]] = program.slice input "recent" bytes 256 value tensor<1x64xi32>
// TEST-DAG: %[[DRAWS:.*]] = program.slice input "draws" bytes 256 value tensor<1x64xf32>
// TEST-DAG: %[[TOKENS:.*]] = program.slice output "tokens" bytes 4 value tensor<1x1xi32>
// TEST-DAG: %[[CHOSEN:.*]] = program.slice output "chosen" bytes 256 value tensor<1x8xi32>
// TEST: program.dispatch @sample_top_5000 groups [5, 1, 1](%[[WORDS]], %[[LOGITS]], %[[RECENT]], %{{.*}})
// TEST: program.dispatch @sample_draw_5000 groups [1, 1, 1](%[[WORDS]], %{{.*}}, %{{.*}}, %[[DRAWS]], %[[TOKENS]], %[[CHOSEN]], %[[RECENT]])
// TEST-NOT: program.kernel @sample_{{.*}}_0
