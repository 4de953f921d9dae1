// SPDX-License-Identifier: Apache-2.0
//
// The graph dialect's enums alone, for plain C++ that needs no MLIR context.

#ifndef LLMC_DIALECTS_GRAPH_GRAPHENUMS_H
#define LLMC_DIALECTS_GRAPH_GRAPHENUMS_H

#include "mlir/IR/OpImplementation.h"

#include "dialects/Graph/GraphEnums.h.inc"

#endif // LLMC_DIALECTS_GRAPH_GRAPHENUMS_H
