// SPDX-License-Identifier: Apache-2.0
//
// Questions about the results of regions, which passes and lowering share.

#ifndef LLMC_DIALECTS_GRAPH_REGIONRESULTS_H
#define LLMC_DIALECTS_GRAPH_REGIONRESULTS_H

#include "dialects/Graph/Graph.h"

namespace llmc::graph {

/// The value that a chain of reshapes shows: these store nothing.
Value throughReshapes(Value value);

/// Whether a region's result is activations, stored as f32 or f16, that a host
/// can read: neither rows in a state nor a part of quantized activations.
bool isReadableResult(OpResult result);

} // namespace llmc::graph

#endif // LLMC_DIALECTS_GRAPH_REGIONRESULTS_H
