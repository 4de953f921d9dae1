// RUN: llmc-opt %s --llmc-schedule-dispatches | FileCheck %s

program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0

// CHECK-LABEL: program.entry @twoChains
// CHECK: program.dispatch {{.*}} "a0"
// CHECK: program.dispatch {{.*}} "b0"
// CHECK: program.dispatch {{.*}} "a1"
// CHECK: program.dispatch {{.*}} "b1"
program.entry @twoChains "forward" rows 1 {
  %in = program.slice input "x" bytes 16 value tensor<?x4xf32>
  %a = program.slice arena bytes 16
  %b = program.slice arena bytes 16
  %aOut = program.slice output "a" bytes 16 value tensor<?x4xf32>
  %bOut = program.slice output "b" bytes 16 value tensor<?x4xf32>
  program.dispatch @k groups [1, 1, 1](%in, %a) access [1, 2] "a0"
  program.dispatch @k groups [1, 1, 1](%a, %aOut) access [1, 2] "a1"
  program.dispatch @k groups [1, 1, 1](%in, %b) access [1, 2] "b0"
  program.dispatch @k groups [1, 1, 1](%b, %bOut) access [1, 2] "b1"
}

// The second dispatch reads the cache that the first wrote, through another
// slice of the same symbol.
// CHECK-LABEL: program.entry @stateIsOneBuffer
// CHECK: program.dispatch {{.*}} "append"
// CHECK: program.dispatch {{.*}} "attend"
program.entry @stateIsOneBuffer "forward" rows 1 {
  %in = program.slice input "x" bytes 16 value tensor<?x4xf32>
  %k0 = program.slice state "blk.0.k" bytes 16
  %k1 = program.slice state "blk.0.k" bytes 16
  %a = program.slice arena bytes 16
  program.dispatch @k groups [1, 1, 1](%in, %k0) access [1, 2] "append"
  program.dispatch @k groups [1, 1, 1](%k1, %a) access [1, 2] "attend"
}
