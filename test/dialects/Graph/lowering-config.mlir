// RUN: llmc-opt %s | llmc-opt | FileCheck %s

// What has its default is not printed.
// CHECK-DAG: test.default = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32]>
// CHECK-DAG: test.chosen = #graph.lowering_config<"gemm", workgroup = [16, 4, 1], tile = [4, 4, 8], splits = 2, accumulators = 16, registers = 31, arithmetic = i8, reduction = subgroup, decode = bytes>
module attributes {
  test.default = #graph.lowering_config<"gemv", workgroup = [64, 1, 1], tile = [1, 4, 32], splits = 1, arithmetic = f32, reduction = workgroup, decode = convert>,
  test.chosen = #graph.lowering_config<"gemm", workgroup = [16, 4, 1], tile = [4, 4, 8], splits = 2, accumulators = 16, registers = 31, arithmetic = i8, reduction = subgroup, decode = bytes>
} {
}
