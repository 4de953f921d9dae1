// RUN: llmc-opt %s --verify-diagnostics --llmc-add-sampling

// expected-error @+1 {{has no target.device to sample on}}
module {
}
