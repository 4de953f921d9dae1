// SPDX-License-Identifier: Apache-2.0
//
// Constants of the graph, for patterns.

#ifndef LLMC_COMPILER_FUSION_CONSTANTS_H
#define LLMC_COMPILER_FUSION_CONSTANTS_H

#include "dialects/Graph/Graph.h"

#include <cmath>
#include <optional>

namespace llmc::fusion {

/// The number of a `graph.constant`; none for other values.
inline std::optional<double> getConstant(Value value) {
  auto constant = value.getDefiningOp<graph::ConstantOp>();
  return constant ? std::optional(constant.getValue().convertToDouble())
                  : std::nullopt;
}

/// Whether `value` is `wanted` as far as half precision tells.
inline bool isAbout(double value, double wanted) {
  return std::abs(value - wanted) <= 1e-3 * std::abs(wanted);
}

/// The other operand of a commutative op of which one is the constant `wanted`;
/// null when none is.
template <typename OpT>
Value getBesideConstant(OpT op, double wanted) {
  if (!op)
    return {};
  Value lhs = op.getLhs(), rhs = op.getRhs();
  for (auto [constant, other] : {std::pair(rhs, lhs), std::pair(lhs, rhs)})
    if (std::optional<double> value = getConstant(constant);
        value && isAbout(*value, wanted))
      return other;
  return {};
}

} // namespace llmc::fusion

#endif // LLMC_COMPILER_FUSION_CONSTANTS_H
