// SPDX-License-Identifier: Apache-2.0
//
// What every file of graph ops begins with: their class and the types of their operands.

#ifndef LLMC_DIALECTS_GRAPH_GRAPHOPBASE_TD
#define LLMC_DIALECTS_GRAPH_GRAPHOPBASE_TD

include "dialects/Graph/GraphAttrs.td"
include "dialects/Graph/GraphDialect.td"
include "dialects/Graph/GraphEnums.td"
include "dialects/Graph/GraphTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits>;

def Graph_IsScalar : CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), 32))">;
def Graph_Tensor : RankedTensorOf<[F32, F16]>;
// What a state keeps of numbers.
def Graph_StateTensor : RankedTensorOf<[F32, F16, I8]>;
def Graph_EncodedTensor : RankedTensorOf<[Graph_EncodedType]>;
def Graph_IndexTensor : RankedTensorOf<[I32]>;
def Graph_CodeTensor : RankedTensorOf<[I8]>;
// Each element of the result depends on one element of each operand only.
def Graph_WorksByElement : NativeOpTrait<"WorksByElement"> {
  let cppNamespace = "::llmc::graph";
}
// A run-time integer of a step, such as the position.
def Graph_Scalar : Type<Graph_IsScalar, "tensor<i32>", "::mlir::RankedTensorType">,
    BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI32Type())">;

#endif // LLMC_DIALECTS_GRAPH_GRAPHOPBASE_TD
