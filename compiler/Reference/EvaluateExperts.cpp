// SPDX-License-Identifier: Apache-2.0
//
// Ops of mixtures of experts in the evaluator.

#include "compiler/Reference/Evaluator.h"

#include "dialects/Graph/Graph.h"

namespace llmc::reference {

void Evaluator::runRoute(Operation &op, Values &values) {
  auto routeOp = cast<graph::RouteOp>(op);
  auto type = cast<RankedTensorType>(routeOp.getExperts().getType());
  Routes routes = route(dense(routeOp.getScores(), values), type.getDimSize(1),
                        routeOp.getNormalized(), precision);
  if (precision == Precision::Single)
    for (double &weight : routes.weights.values)
      weight = static_cast<float>(weight);
  values[routeOp.getWeights()] = std::move(routes.weights);
  values[routeOp.getExperts()] = std::move(routes.experts);
}

Tensor Evaluator::evaluateExpertLinear(Operation &op, Values &values) {
  auto linearOp = cast<graph::ExpertLinearOp>(op);
  auto weight = std::get<graph::WeightOp>(values[linearOp.getWeight()]);
  return expertLinear(
      dense(linearOp.getInput(), values), dense(linearOp.getExperts(), values),
      linearOp.numExperts(), linearOp.numOutputs(),
      [&](int64_t row, float *result) { files.decodeRow(weight, row, result); },
      precision);
}

} // namespace llmc::reference
