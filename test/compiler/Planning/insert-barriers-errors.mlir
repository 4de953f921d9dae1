// RUN: llmc-opt %s --verify-diagnostics --llmc-insert-barriers

program.entry @unplanned "forward" rows 1 {
  // expected-error@+1 {{has no offset; llmc-plan-memory runs before barriers are inserted}}
  %a = program.slice arena bytes 256
}
