// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHTYPES_TD
#define LLMC_DIALECTS_GRAPH_GRAPHTYPES_TD

include "dialects/Graph/GraphDialect.td"
include "dialects/Graph/GraphEnums.td"
include "mlir/IR/AttrTypeBase.td"

def Graph_EncodedType : TypeDef<GraphDialect, "Encoded"> {
  let mnemonic = "encoded";
  let summary = "element type of a weight as its file holds it, for instance `!graph.encoded<q4_k>`";
  let parameters = (ins EnumParameter<Graph_EncodingEnum>:$encoding);
  let assemblyFormat = "`<` $encoding `>`";
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHTYPES_TD
