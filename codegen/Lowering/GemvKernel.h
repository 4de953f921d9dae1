// SPDX-License-Identifier: Apache-2.0
//
// The kernel of linears for few rows, while it is emitted. Its loops and tiles
// are in LowerGemv.cpp, its input's norm and range in GemvNorm.cpp, its results
// in GemvResults.cpp.

#ifndef LLMC_CODEGEN_LOWERING_GEMVKERNEL_H
#define LLMC_CODEGEN_LOWERING_GEMVKERNEL_H

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/ExpertPlace.h"
#include "codegen/Lowering/GemvConfig.h"
#include "codegen/Lowering/GemvGroup.h"
#include "codegen/Lowering/GemvStage.h"

namespace llmc::codegen {

class GemvKernel : GemvConfig {
public:
  GemvKernel(RegionContext &context, LinearRegion &parts)
      : GemvConfig(context, parts), context(context), parts(parts),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()),
        numRows(context.rowsOf(parts.resultType()) * parts.placesPerRow()),
        partialLanes(subgroup ? lanes / subgroup * quadsAtOnce : lanes) {
    if (parts.experts)
      experts.emplace(unit, parts);
  }

  LogicalResult emit();

private:
  /// Some linears that are computed by one loop.
  using Pass = MutableArrayRef<WeightDecoder>;
  /// Ordered [linear][row], a vector over the quad's rows each.
  using Sums = SmallVector<Value>;

  /// Of one linear in the workgroup's tiles, vectors over the rows of a quad.
  int64_t numResults() const { return tilesAtOnce * tileRows * quadsAtOnce; }
  // LowerGemv.cpp
  void bindTile(Value ofWeight);
  LogicalResult emitTile();
  LogicalResult emitTilesInTurn();
  void bindWeights(int64_t first);
  void makePartials();
  void runPasses();
  void runPass(Pass pass, int64_t firstSum);
  Value elementOf(Value group, const WeightDecoder &decoder);
  int64_t sharesPerGroup(const WeightDecoder &decoder) const {
    return std::max<int64_t>(decoder.columnsPerGroup() / kStep, 1);
  }
  std::optional<GemvGroup::Part> partOfGroup(const WeightDecoder &decoder);
  Value firstGroup(const WeightDecoder &decoder);
  SmallVector<Value> runGroups(Pass pass, int64_t firstSum, Value first,
                               Value last, ValueRange start);
  SmallVector<Value> runStages(Pass pass, int64_t firstSum, ValueRange start);
  bool sumsWait(const WeightDecoder &decoder) const;
  Sums loadSums(Pass pass, int64_t firstSum);
  void keepPartials(const Sums &sums, int64_t firstSum);
  Value sumOverShares(int64_t section, Value result);
  void reducePass();
  void fillStage(Value firstQuad, Value numQuads);
  void preloadInput();
  Value overRow(Value base, Value initial,
                llvm::function_ref<Value(Value x, Value total)> add);
  Value inverseRoot(Value base);
  Value scaleStage();
  void prepareStage();
  void takePlace();
  void setBegin(Value tileOfWeight);
  void normalize();
  LogicalResult preloadOperands();
  LogicalResult reduceAndStore();
  std::pair<Value, Value> partialOf(Value result);
  std::pair<Value, Value> placeOf(Value result);
  LogicalResult storeResult(Value result, int64_t ofLane);

  RegionContext &context;
  LinearRegion &parts;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t numRows;
  /// Sums of a row that meet in workgroup memory.
  int64_t partialLanes;
  /// [linear][tile].
  std::vector<WeightDecoder> decoders;
  std::optional<LinearInput> input;
  std::optional<GemvStage> stage;
  std::optional<GemvExchange> exchange;
  /// What the input is multiplied by when it is staged; null for nothing.
  Value stageFactor;
  GemvInput rows;
  /// What the sums of each row are multiplied by in the end; empty for nothing.
  SmallVector<Value> resultFactors;
  /// Of the linears whose sums were added up before those of the next took
  /// their place: the results of this lane, number lane, lane + lanes, ….
  SmallVector<SmallVector<Value>> earlierResults;
  /// Set where what follows the linears is loaded before them.
  std::optional<ElementwiseEmitter> epilogue;
  /// Set for expert_linears.
  std::optional<ExpertPlaces> experts;
  /// The lane's number, its quad of the weight and its share of the columns;
  /// the workgroup's first quad of the result and its first row.
  Value lane, quad, share, firstQuad, firstRow;
  /// [linear][tile][row][lane] in workgroup memory.
  Value partials;
  /// The first group and behind the last one.
  Value begin, groups;
  /// Whether another dispatch may have the workgroup's expert, where `begin` is
  /// `groups`.
  bool mayBeElsewhere = false;
  /// Workgroup memory: what is needed after the loops only.
  Value waitingPlace, waitingFactors;
};

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_GEMVKERNEL_H
