// SPDX-License-Identifier: Apache-2.0
//
// Ops of mixtures of experts: which experts a row goes to, their linears, and the sum of what they give.

#ifndef LLMC_DIALECTS_GRAPH_GRAPHEXPERTOPS_TD
#define LLMC_DIALECTS_GRAPH_GRAPHEXPERTOPS_TD

include "dialects/Graph/GraphOpBase.td"

def Graph_RouteOp : Graph_Op<"route", [Pure]> {
  let summary = "the experts with the highest scores of each row, the highest first, and their shares of softmax(scores)";
  let description = [{
    Of equal scores, the expert with the lower index comes first. With `normalized` the shares of the chosen experts
    are divided by their sum.

    - route_c1: scores are [rows, experts], experts static; weights and experts are [rows, chosen], chosen static and
      1 to the number of experts

    ```mlir
    %weights, %experts = graph.route %scores normalized : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$scores, UnitAttr:$normalized);
  let results = (outs Graph_Tensor:$weights, Graph_IndexTensor:$experts);
  let assemblyFormat = "$scores (`normalized` $normalized^)? attr-dict `:` type($scores) `->` type($weights) `,` type($experts)";
  let hasVerifier = 1;
}

def Graph_ExpertLinearOp : Graph_Op<"expert_linear", [Pure]> {
  let summary = "y[t, j, n] = sum over k of x[t, j, k] * decode(weight)[experts[t, j] * outputs + n, k]";
  let description = [{
    The weight holds the rows of expert 0, then those of expert 1, and so on. An input [rows, k] is the same for all
    experts of a row. An expert beyond the last one counts as the last one.

    - expert_linear_c1: experts are [rows, chosen], the input is [rows, k] or [rows, chosen, k], the weight [.., k]
    - expert_linear_c2: the result is [rows, chosen, outputs], and the weight's rows are a multiple of outputs

    ```mlir
    %y = graph.expert_linear %x, %w, %experts
      : tensor<?x256xf32>, tensor<4096x256x!graph.encoded<q4_k>>, tensor<?x2xi32> -> tensor<?x2x512xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_EncodedTensor:$weight, Graph_IndexTensor:$experts);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $experts attr-dict `:` type($input) `,` type($weight) `,` type($experts) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Chosen for each row, outputs of one expert, and experts of the weight.
    int64_t numChosen() { return getType().getDimSize(1); }
    int64_t numOutputs() { return getType().getDimSize(2); }
    int64_t numExperts() { return ::llvm::cast<::mlir::RankedTensorType>(getWeight().getType()).getDimSize(0) / numOutputs(); }
  }];
  let hasVerifier = 1;
}

def Graph_WeightedSumOp : Graph_Op<"weighted_sum", [Pure]> {
  let summary = "y[t, n] = sum over j of weights[t, j] * x[t, j, n]";
  let description = [{
    - weighted_sum_c1: the input is [rows, chosen, size], weights are [rows, chosen], the result is [rows, size]

    ```mlir
    %y = graph.weighted_sum %x, %weights : tensor<?x8x256xf32>, tensor<?x8xf32> -> tensor<?x256xf32>
    ```
  }];
  let arguments = (ins Graph_Tensor:$input, Graph_Tensor:$weights);
  let results = (outs Graph_Tensor:$result);
  let assemblyFormat = "$input `,` $weights attr-dict `:` type($input) `,` type($weights) `->` type($result)";
  let hasVerifier = 1;
}

#endif // LLMC_DIALECTS_GRAPH_GRAPHEXPERTOPS_TD
