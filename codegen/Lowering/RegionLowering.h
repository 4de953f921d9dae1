// SPDX-License-Identifier: Apache-2.0
//
// What the lowering of one `graph.region` sees: the device, the chosen config,
// where operands and results lie, and kernels to build. One function per kind
// of lowering config, found in a table.

#ifndef LLMC_CODEGEN_LOWERING_REGIONLOWERING_H
#define LLMC_CODEGEN_LOWERING_REGIONLOWERING_H

#include "codegen/Lowering/EntryKernel.h"
#include "codegen/Lowering/WeightParts.h"
#include "codegen/Lowering/WeightType.h"
#include "dialects/Graph/Graph.h"

namespace llmc::codegen {

/// A tensor in memory: row r of `type` begins `offset + r * rowStride` elements
/// into the slice.
struct View {
  Value slice;
  int64_t offset = 0;
  int64_t rowStride = 0;
  /// As the graph has it; the leading dimension is dynamic for the rows of the
  /// step.
  RankedTensorType type;
  /// Set when the slice is a state: its type [KV heads, context, head
  /// dimension]; offset and rowStride mean nothing.
  RankedTensorType stateType;
  /// Whether the numbers lie in memory as f16, whatever `type` says of them.
  bool isHalf = false;

  /// Elements in a row: the product of all dimensions but the first.
  int64_t columns() const;
};

/// A weight in memory.
struct WeightView {
  WeightLayout layout;
  /// Parallel to layout.planes.
  SmallVector<Value> planes;
  Value plane(PlaneKind kind) const { return planes[layout.planeIndex(kind)]; }
};

class KernelUnit;

class RegionContext {
public:
  /// The outer maps are owned by the pass that walks the function.
  struct Values {
    /// Tensors computed or read by now, by their SSA value outside of regions.
    DenseMap<Value, View> views;
    /// Scalars of the step.
    DenseMap<Value, StepWord> words;
    /// Symbols of encoded weights.
    DenseMap<Value, StringAttr> weights;
  };

  RegionContext(EntryBuilder &entry, Values &values, graph::RegionOp region,
                target::DeviceAttr device, int64_t rows)
      : entry(entry), values(values), region(region), device(device),
        rows(rows) {}

  graph::RegionOp getRegion() { return region; }
  Location getLoc() { return region.getLoc(); }
  target::DeviceAttr getDevice() const { return device; }
  graph::LoweringConfigAttr getConfig() { return *region.getLoweringConfig(); }
  /// The most rows that the entry is recorded for.
  int64_t getRows() const { return rows; }
  /// Rows of a tensor: its static leading dimension, or the entry's rows.
  int64_t rowsOf(RankedTensorType type) const;
  EntryBuilder &getEntry() { return entry; }

  /// The value outside of the region that a block argument stands for; null for
  /// other values.
  Value outside(Value inBody);
  /// Where a value in the body lies: a block argument, or a chain of reshapes,
  /// conversions and slices (of columns, at multiples of four) on one, or a
  /// cache that the region appends to. An error at the defining op otherwise.
  FailureOr<View> view(Value inBody);
  /// Whether `view` would give one.
  bool hasView(Value inBody);
  /// Where result `number` is to be written.
  View resultView(unsigned number);
  /// The step word that a scalar operand of the body stands for.
  FailureOr<StepWord> word(Value inBody);
  /// The planes of an encoded operand of the body; of a matrix, those of the
  /// rows that `selectPart` named.
  FailureOr<WeightView> weight(Value inBody);

  /// The parts, by rows, in which the device can bind the region's matrices:
  /// one unless they are too large. The lowering is asked once for each. An
  /// error when there are no such parts.
  FailureOr<std::vector<RowRange>> weightParts();
  /// What follows is about these rows of the region's matrices.
  void selectPart(RowRange rows) { part = rows; }
  RowRange getPart() const { return part; }
  /// The column of a quantized_linear's result that the part's first row
  /// computes; 0 for other roots.
  int64_t firstColumn();
  /// Memory of the step for the region's own use.
  Value workspace(int64_t bytes);

private:
  EntryBuilder &entry;
  Values &values;
  graph::RegionOp region;
  target::DeviceAttr device;
  int64_t rows;
  /// No rows: the whole.
  RowRange part;
};

/// A view of `producer` through reshape, convert and slice ops; fails (with an
/// error at `op`) for what a row offset and stride cannot express.
FailureOr<View> viewThrough(Operation *op, const View &producer);

/// Elements between rows of `columns` elements.
inline int64_t paddedRow(int64_t columns) { return (columns + 3) / 4 * 4; }

/// A kernel of a region.
class KernelUnit : public EntryKernel {
public:
  /// `workgroup` has three sizes. The dispatch is of the region unless another
  /// location is given.
  KernelUnit(RegionContext &context, ArrayRef<int64_t> workgroup);
  KernelUnit(RegionContext &context, ArrayRef<int64_t> workgroup, Location loc);

  RegionContext &getContext() { return context; }

  /// The kernel's argument for a dequantized 1-D weight of the body (a gain, a
  /// bias), whose numbers are f32 and padded to four; an error when it is none.
  FailureOr<Value> bindVector(Value inBody, Type element);
  /// Rows of a tensor in this step, as an index: static, or the step's.
  Value numRows(RankedTensorType type);
  /// Rows of this step as an index: at most the entry's rows.
  Value rowsInStep() { return builder().toIndex(stepWord(StepWord::Rows)); }

  /// Ends the kernel and emits its dispatch. `registers` is its estimate, if
  /// that differs from the one of the region's config; `kernelLabel` see
  /// EntryKernel.
  void finish(StringRef label, ArrayRef<int64_t> groups,
              std::optional<int64_t> registers = std::nullopt,
              StringRef kernelLabel = "");

private:
  RegionContext &context;
};

/// Emits the kernels and dispatches of a region whose config has the kind;
/// errors are emitted at the region.
using RegionLowering = LogicalResult (*)(RegionContext &);

/// The lowering for a config's kind, or null.
RegionLowering findRegionLowering(StringRef kind);

LogicalResult lowerGemv(RegionContext &context);
LogicalResult lowerGemm(RegionContext &context);
LogicalResult lowerGemmMatrix(RegionContext &context);
LogicalResult lowerEmbedding(RegionContext &context);
LogicalResult lowerElementwise(RegionContext &context);
LogicalResult lowerHeads(RegionContext &context);
LogicalResult lowerNorm(RegionContext &context);
LogicalResult lowerRoute(RegionContext &context);
LogicalResult lowerSdpa(RegionContext &context);
LogicalResult lowerSdpaMatrix(RegionContext &context);
LogicalResult lowerSdpaRow(RegionContext &context);
LogicalResult lowerShortConv(RegionContext &context);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_REGIONLOWERING_H
