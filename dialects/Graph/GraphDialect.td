// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_GRAPH_GRAPHDIALECT_TD
#define LLMC_DIALECTS_GRAPH_GRAPHDIALECT_TD

include "mlir/IR/OpBase.td"

def GraphDialect : Dialect {
  let name = "graph";
  let cppNamespace = "::llmc::graph";
  let summary = "The meaning of a transformer model, as ops on tensors.";
  let description = [{
    Values are tensors. A leading dynamic dimension is the number of rows (tokens) of one step; every other
    dimension is static, except the number of visible keys (see `kv_append`). Weights and states are symbols:
    a weight names bytes of a model file, never literal data. Tiling, buffers and devices do not appear here.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHDIALECT_TD
