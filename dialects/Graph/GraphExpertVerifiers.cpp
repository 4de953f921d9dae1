// SPDX-License-Identifier: Apache-2.0
//
// The constraints of the ops of mixtures of experts. Labels as in
// GraphVerifiers.cpp.

#include "dialects/Graph/VerifierSupport.h"

namespace llmc::graph {

LogicalResult RouteOp::verify() {
  ArrayRef<int64_t> scores = shapeOf(getScores()),
                    weights = shapeOf(getWeights());
  if (scores.size() != 2 || weights.size() != 2 || scores[0] != weights[0] ||
      countDynamic({scores[1], weights[1]}) != 0 || weights[1] < 1 ||
      weights[1] > scores[1] || shapeOf(getExperts()) != weights)
    return emitOpError("route_c1: scores [rows, experts] must give weights and "
                       "experts [rows, 1 to the number of experts], got ")
           << getScores().getType() << ", " << getWeights().getType() << " and "
           << getExperts().getType();
  return success();
}

LogicalResult ExpertLinearOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), weight = shapeOf(getWeight()),
                    experts = shapeOf(getExperts());
  SmallVector<int64_t> leading(experts);
  if (input.size() == 2)
    leading.pop_back();
  if (experts.size() != 2 || weight.size() != 2 || input.empty() ||
      input.drop_back() != ArrayRef(leading) || input.back() != weight[1])
    return emitOpError("expert_linear_c1: experts [rows, chosen] and the "
                       "weight [.., k] must have an input [rows, k] or "
                       "[rows, chosen, k], got ")
           << getExperts().getType() << ", " << getWeight().getType() << " and "
           << getInput().getType();
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (result.size() != 3 || result.drop_back() != experts ||
      countDynamic(result.drop_front()) != 0 || result[2] < 1 ||
      weight[0] % result[2] != 0)
    return emitOpError("expert_linear_c2: the result must be [rows, chosen, "
                       "a divisor of the weight's rows], got ")
           << getType() << " and " << getWeight().getType();
  return success();
}

LogicalResult WeightedSumOp::verify() {
  ArrayRef<int64_t> input = shapeOf(getInput()), result = shapeOf(getResult());
  if (input.size() != 3 || shapeOf(getWeights()) != input.drop_back() ||
      result.size() != 2 || result[0] != input[0] || result[1] != input[2])
    return emitOpError("weighted_sum_c1: input [rows, chosen, size] and "
                       "weights [rows, chosen] must give [rows, size], got ")
           << getInput().getType() << ", " << getWeights().getType() << " and "
           << getType();
  return success();
}

} // namespace llmc::graph
