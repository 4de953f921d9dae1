// RUN: llmc-opt %s --llmc-insert-barriers | FileCheck %s

program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0

// An entry begins with a barrier; a dispatch that reads what another wrote
// needs one more.
// CHECK-LABEL: program.entry @readAfterWrite
// CHECK:         program.barrier
// CHECK-NEXT:    program.dispatch
// CHECK-NEXT:    program.barrier
// CHECK-NEXT:    program.dispatch
// CHECK-NOT:     program.barrier
program.entry @readAfterWrite "forward" rows 1 arena 512 {
  %in = program.slice input "x" bytes 16 offset 64 value tensor<?x4xf32>
  %out = program.slice output "y" bytes 16 offset 0 value tensor<?x4xf32>
  %a = program.slice arena bytes 256 offset 0
  program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2]
  program.dispatch @k groups [1, 1, 1](%a, %out) access [1, 2]
}

// CHECK-LABEL: program.entry @independent
// CHECK:         program.barrier
// CHECK-NEXT:    program.dispatch
// CHECK-NEXT:    program.dispatch
// CHECK-NOT:     program.barrier
program.entry @independent "forward" rows 1 arena 512 {
  %in = program.slice input "x" bytes 16 offset 64 value tensor<?x4xf32>
  %a = program.slice arena bytes 256 offset 0
  %b = program.slice arena bytes 256 offset 256
  program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2]
  program.dispatch @k groups [1, 1, 1](%in, %b) access [1, 2]
}

// Two slices share memory: the second dispatch overwrites what the first reads.
// CHECK-LABEL: program.entry @writeAfterReadOfReusedMemory
// CHECK:         program.barrier
// CHECK-NEXT:    program.dispatch
// CHECK-NEXT:    program.barrier
// CHECK-NEXT:    program.dispatch
program.entry @writeAfterReadOfReusedMemory "forward" rows 1 arena 512 {
  %in = program.slice input "x" bytes 16 offset 64 value tensor<?x4xf32>
  %out = program.slice output "y" bytes 16 offset 0 value tensor<?x4xf32>
  %a = program.slice arena bytes 256 offset 0
  %b = program.slice arena bytes 128 offset 128
  program.dispatch @k groups [1, 1, 1](%a, %out) access [1, 2]
  program.dispatch @k groups [1, 1, 1](%in, %b) access [1, 2]
}
