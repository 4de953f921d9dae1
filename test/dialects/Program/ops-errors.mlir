// RUN: llmc-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{kernel_c1: workgroup is three sizes of at least 1, found [64, 0, 1]}}
program.kernel @k "" workgroup [64, 0, 1] bindings 1 workgroup_memory 0

// -----

// expected-error@+1 {{kernel_c1: workgroup is three sizes of at least 1, found [64, 1]}}
program.kernel @k "" workgroup [64, 1] bindings 1 workgroup_memory 0

// -----

// expected-error@+1 {{kernel_c2: at least one binding expected, found 0}}
program.kernel @k "" workgroup [64, 1, 1] bindings 0 workgroup_memory 0

// -----

// expected-error@+1 {{kernel_c3: workgroup memory is not negative, found -4}}
program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory -4

// -----

// expected-error@+1 {{kernel_c4: spirv does not begin with the magic number 119734787}}
program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0 spirv [1, 2]

// -----

// expected-error@+1 {{entry_c1: rows is at least 1, found 0}}
program.entry @e "forward" rows 0 {
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{entry_c2: an entry holds slices, dispatches and barriers only}}
  %0 = arith.constant 0 : i32
}

// -----

program.entry @e "forward" rows 1 arena 256 {
  // expected-error@+1 {{entry_c3: ends after the arena of 256 bytes}}
  %0 = program.slice arena bytes 16 offset 244
}

// -----

// The end of the slice must not wrap around.
program.entry @e "forward" rows 1 arena 256 {
  // expected-error@+1 {{entry_c3: ends after the arena of 256 bytes}}
  %0 = program.slice arena bytes 16 offset 9223372036854775804
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c1: bytes is at least 1, found 0}}
  %0 = program.slice arena bytes 0
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c2: a slice of storage weight has a symbol}}
  %0 = program.slice weight bytes 16
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c2: a slice of storage arena has no symbol}}
  %0 = program.slice arena "x" bytes 16
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c3: only a slice of a weight has a plane, found 1}}
  %0 = program.slice state "blk.0.k" plane 1 bytes 16
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c4: offset is not negative and a multiple of 4, found 2}}
  %0 = program.slice arena bytes 16 offset 2
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c5: a slice of storage output has a value type}}
  %0 = program.slice output "logits" bytes 16
}

// -----

program.entry @e "forward" rows 1 {
  // expected-error@+1 {{slice_c5: value is a tensor of i8, i32 or f32 whose dimensions are static but the first, found 'tensor<1x?xf32>'}}
  %0 = program.slice output "logits" bytes 16 value tensor<1x?xf32>
}

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 2 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice arena bytes 16
  // expected-error@+1 {{dispatch_c1: the kernel has 2 bindings, found 1}}
  program.dispatch @k groups [1, 1, 1](%0) access [1]
}

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice arena bytes 16
  // expected-error@+1 {{dispatch_c2: one access for each binding expected, found 2 for 1 bindings}}
  program.dispatch @k groups [1, 1, 1](%0) access [1, 1]
}

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice arena bytes 16
  // expected-error@+1 {{dispatch_c2: access is 1 (read), 2 (write) or 3 (both), found 4}}
  program.dispatch @k groups [1, 1, 1](%0) access [4]
}

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice arena bytes 16
  // expected-error@+1 {{dispatch_c3: groups is three counts of at least 1, found [1, 0, 1]}}
  program.dispatch @k groups [1, 0, 1](%0) access [1]
}

// -----

program.entry @e "forward" rows 1 {
  %0 = program.slice arena bytes 16
  // expected-error@+1 {{dispatch_c4: names no kernel: @absent}}
  program.dispatch @absent groups [1, 1, 1](%0) access [1]
}

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice weight "w" bytes 16
  // expected-error@+1 {{dispatch_c5: binding 0 of storage weight is only read}}
  program.dispatch @k groups [1, 1, 1](%0) access [2]
}

// -----

// expected-error@+1 {{expects parent op 'program.entry'}}
%0 = program.slice arena bytes 16

// -----

program.kernel @k "" workgroup [64, 1, 1] bindings 1 workgroup_memory 0
program.entry @e "forward" rows 1 {
  %0 = program.slice step bytes 64
  // expected-error@+1 {{dispatch_c6: binding 0 of storage step is written by an entry's last dispatch only}}
  program.dispatch @k groups [1, 1, 1](%0) access [2]
  program.dispatch @k groups [1, 1, 1](%0) access [1]
}
