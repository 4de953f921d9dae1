// RUN: llmc-opt %s | llmc-opt | FileCheck %s

// CHECK: program.kernel @double "y = 2 x" workgroup [64, 1, 1] bindings 2 workgroup_memory 128
program.kernel @double "y = 2 x" workgroup [64, 1, 1] bindings 2 workgroup_memory 128

// CHECK: program.kernel @configured "y = x W" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
// CHECK-SAME: config #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 8]>
// CHECK-SAME: spirv [119734787, 65536]
program.kernel @configured "y = x W" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
  config #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 8]> spirv [119734787, 65536]

// CHECK-LABEL: program.entry @forward_r8 "forward" rows 8 arena 4096 {
program.entry @forward_r8 "forward" rows 8 arena 4096 {
  // CHECK: program.slice input "tokens" bytes 32 value tensor<?xi32>
  %tokens = program.slice input "tokens" bytes 32 value tensor<?xi32>
  // CHECK: program.slice weight "token_embd.weight" plane 1 bytes 512
  %scales = program.slice weight "token_embd.weight" plane 1 bytes 512
  // CHECK: %[[X:.*]] = program.slice arena bytes 2048 offset 2048
  %x = program.slice arena bytes 2048 offset 2048
  // CHECK: program.slice step bytes 64
  %step = program.slice step bytes 64
  // CHECK: program.slice state "blk.0.k" bytes 8192 offset 0
  %k = program.slice state "blk.0.k" bytes 8192 offset 0
  // CHECK: %[[HIDDEN:.*]] = program.slice kept "hidden" bytes 2048 value tensor<?x64xf32>
  %hidden = program.slice kept "hidden" bytes 2048 value tensor<?x64xf32>
  // CHECK: program.dispatch @double groups [1, 2, 1](%{{.*}}, %[[X]]) access [1, 2]
  program.dispatch @double groups [1, 2, 1](%tokens, %x) access [1, 2]
  // CHECK: program.barrier
  program.barrier
  // CHECK: program.dispatch @double groups [1, 1, 1](%[[X]], %[[HIDDEN]]) access [1, 3] "blk.0"
  program.dispatch @double groups [1, 1, 1](%x, %hidden) access [1, 3] "blk.0"
}
