// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHENUMS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHENUMS_TD

include "mlir/IR/EnumAttr.td"

class Encoding<string name, int value> : I32EnumAttrCase<name, value, !tolower(name)>;

// How a weight's bytes in its file encode numbers. The formulas are in dialects/Graph/Encoding.h.
def Graph_EncodingEnum : I32EnumAttr<"Encoding", "how a weight's bytes encode numbers", [
    Encoding<"F32", 0>, Encoding<"F16", 1>, Encoding<"BF16", 2>, Encoding<"Q8_0", 3>, Encoding<"Q4_0", 4>,
    Encoding<"Q4_K", 5>, Encoding<"Q5_K", 6>, Encoding<"Q6_K", 7>, Encoding<"Q2_K", 8>, Encoding<"Q3_K", 9>,
    Encoding<"IQ2_XXS", 10>]> {
  let cppNamespace = "::llmc::graph";
  let genSpecializedAttr = 0;
}

def Graph_RotaryPairsEnum : I32EnumAttr<"RotaryPairs", "which elements of a head one rotation turns", [
    I32EnumAttrCase<"Adjacent", 0, "adjacent">,   // (2i, 2i+1)
    I32EnumAttrCase<"Half", 1, "half">]> {        // (i, i + rotaryDim/2)
  let cppNamespace = "::llmc::graph";
  let genSpecializedAttr = 0;
}

def Graph_PoolingEnum : I32EnumAttr<"Pooling", "which rows of a text stand for it", [
    I32EnumAttrCase<"Mean", 0, "mean">, I32EnumAttrCase<"First", 1, "first">, I32EnumAttrCase<"Last", 2, "last">]> {
  let cppNamespace = "::llmc::graph";
  let genSpecializedAttr = 0;
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHENUMS_TD
