// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHENUMS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHENUMS_TD

include "mlir/IR/EnumAttr.td"

class Encoding<string name, int value> : I32EnumAttrCase<name, value, !tolower(name)>;

// How a weight's bytes in its file encode numbers. The formulas are in dialects/Graph/Encoding.h.
def Graph_EncodingEnum : I32EnumAttr<"Encoding", "how a weight's bytes encode numbers", [
    Encoding<"F32", 0>, Encoding<"F16", 1>, Encoding<"BF16", 2>, Encoding<"Q8_0", 3>, Encoding<"Q4_0", 4>,
    Encoding<"Q4_K", 5>, Encoding<"Q5_K", 6>, Encoding<"Q6_K", 7>, Encoding<"Q2_K", 8>, Encoding<"Q3_K", 9>,
    Encoding<"IQ2_XXS", 10>, Encoding<"Q4_1", 11>, Encoding<"Q5_0", 12>, Encoding<"Q5_1", 13>, Encoding<"IQ2_XS", 14>,
    Encoding<"IQ2_S", 15>, Encoding<"IQ3_XXS", 16>, Encoding<"IQ3_S", 17>, Encoding<"IQ1_S", 18>, Encoding<"IQ1_M", 19>,
    Encoding<"IQ4_NL", 20>, Encoding<"IQ4_XS", 21>, Encoding<"MXFP4", 22>, Encoding<"TQ1_0", 23>, Encoding<"TQ2_0", 24>,
    // llmc's own, of no model file: what weights are quantized to, and what importers repack others to.
    Encoding<"I4_G32", 25>, Encoding<"I4_G64", 26>, Encoding<"I4_G128", 27>, Encoding<"I4_CHANNEL", 28>,
    Encoding<"I4_G32_ASYM", 29>, Encoding<"I4_G64_ASYM", 30>, Encoding<"I4_G128_ASYM", 31>,
    Encoding<"I4_CHANNEL_ASYM", 32>, Encoding<"I8_CHANNEL", 33>, Encoding<"I8_CHANNEL_ASYM", 34>]> {
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
