// RUN: not llmc-opt %s -llmc-quantize-weights='weights=int5' 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: the weights' type is 'int5', allowed is one of f16, int8, int8-asym, int4-g32,
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=narrow=q4_k' 2>&1 | FileCheck %s --check-prefix=RULETYPE
// RULETYPE: the rule for weights 'narrow=q4_k' has type 'q4_k', allowed is one of f16, {{.*}}, keep
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=narrow' 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: the rule for weights 'narrow' is not of the form REGEX=TYPE
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=(=int8' 2>&1 | FileCheck %s --check-prefix=REGEX
// REGEX: the rule for weights '(=int8' has a bad expression: parentheses not balanced
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=narrow=int4-g64' 2>&1 | FileCheck %s --check-prefix=FIT
// FIT: weight 'narrow' has rows of 32 numbers, allowed by the rule 'narrow=int4-g64' are multiples of 64
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=nowhere=int8' 2>&1 | FileCheck %s --check-prefix=UNUSED
// UNUSED: the rule for weights 'nowhere=int8' matches none of the model's matrices
// RUN: not llmc-opt %s -llmc-quantize-weights='weights-for=packed=int8' 2>&1 | FileCheck %s --check-prefix=PACKED
// PACKED: weight 'packed' is packed as 'gptq', whose codes are not quantized again

graph.weight @narrow : tensor<16x32x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 16>]
graph.weight @packed : tensor<16x32x!graph.encoded<i4_g32>> from [#graph.source<file = 0, offset = 0, rows = 16, packing = <form = "gptq", encoding = f16, group = 32, scales = <file = 0, offset = 4096>>>]

func.func @f(%x: tensor<?x32xf32>) -> (tensor<?x16xf32>, tensor<?x16xf32>) {
  %0 = graph.load_weight @narrow : tensor<16x32x!graph.encoded<f32>>
  %1 = graph.dequantize %0 : tensor<16x32x!graph.encoded<f32>> -> tensor<16x32xf32>
  %2 = graph.matmul %x, %1 transpose_rhs : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  %3 = graph.load_weight @packed : tensor<16x32x!graph.encoded<i4_g32>>
  %4 = graph.dequantize %3 : tensor<16x32x!graph.encoded<i4_g32>> -> tensor<16x32xf32>
  %5 = graph.matmul %x, %4 transpose_rhs : tensor<?x32xf32>, tensor<16x32xf32> -> tensor<?x16xf32>
  return %2, %5 : tensor<?x16xf32>, tensor<?x16xf32>
}
