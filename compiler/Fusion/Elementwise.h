// SPDX-License-Identifier: Apache-2.0
//
// Which graph ops work element by element, and so can join the op before or
// after them.

#ifndef LLMC_COMPILER_FUSION_ELEMENTWISE_H
#define LLMC_COMPILER_FUSION_ELEMENTWISE_H

#include "dialects/Graph/Graph.h"

namespace llmc::fusion {

/// Whether each element of |op|'s result depends on one element of each operand
/// only.
inline bool isElementwise(Operation *op) {
  return isa<graph::AddOp, graph::SubOp, graph::MulOp, graph::DivOp,
             graph::SiluOp, graph::GeluOp, graph::GeluTanhOp, graph::TanhOp>(
      op);
}

} // namespace llmc::fusion

#endif // LLMC_COMPILER_FUSION_ELEMENTWISE_H
