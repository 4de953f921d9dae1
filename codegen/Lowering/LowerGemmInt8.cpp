// SPDX-License-Identifier: Apache-2.0
//
// Linears for many rows on quantized activations: dot products of four bytes
// are summed in integers over the columns that share a scale, then scaled and
// added in f32. Offsets of weights meet the activations' sums.

#include "codegen/Lowering/GemmFrame.h"
#include "codegen/Lowering/GemmWeights.h"

#include <limits>

namespace llmc::codegen {

namespace {

/// Rows of the input that one 16-byte load holds: a row tile.
constexpr int64_t kTileOfRows = 4;

class GemmInt8Kernel {
public:
  GemmInt8Kernel(RegionContext &context, LinearRegion &parts)
      : context(context), parts(parts), frame(context, parts), b(frame.b),
        format(parts.layout().format), unitColumns(columnsPerUnit(format)),
        groupColumns(scaleGroupColumns(format)),
        rowTiles(frame.tileRows / kTileOfRows) {}

  LogicalResult emit();

private:
  /// Scalars, ordered [quad][row of the quad][row of the tile].
  using Sums = SmallVector<Value>;

  size_t indexOf(int64_t quad, int64_t lane, int64_t row) const {
    return (quad * 4 + lane) * frame.tileRows + row;
  }
  size_t numSums() const { return frame.tileQuads * 4 * frame.tileRows; }
  int64_t placesPer(int64_t columns) const {
    return columns / unitColumns * kQuadsPerTile;
  }

  LogicalResult verify();
  LogicalResult bindInput();
  void placeInput();
  SmallVector<Value> scalesOfRowTiles();
  RowCursors cursorsOver(int64_t elementsPerRowTile);
  SmallVector<Value> loadRowTiles(Value buffer, const RowCursors &cursors,
                                  Value cursor);
  SmallVector<Value> inputScales(Value cursor);
  SmallVector<Value> inputSums(Value cursor);
  Sums addStep(Value place, Value cursor, ArrayRef<Value> highOfGroup,
               ValueRange carried);
  Sums dotsOfGroup(Value place, Value cursor);
  Value after(Value index, Value dot);
  Sums addGroup(Value place, Value cursor, ValueRange carried);
  Sums addAll();
  SmallVector<Value> resultsOf(const Sums &total);
  SmallVector<Value> scalesOfRows();

  RegionContext &context;
  LinearRegion &parts;
  GemmFrame frame;
  KernelBuilder &b;
  WeightFormat format;
  int64_t unitColumns, groupColumns, rowTiles;
  /// Of the linear at hand.
  std::optional<GemmWeights> weights;
  Value codes, scales, sums;
  /// Whether a row of the input has one scale.
  bool hasRowScales = false;
  std::optional<RowCursors> codeCursors, blockCursors;
  /// Of the rows' scales, where a row has one and weights have offsets.
  SmallVector<Value> inverseScales;
};

LogicalResult GemmInt8Kernel::verify() {
  graph::RegionOp region = context.getRegion();
  if (frame.tileRows % kTileOfRows != 0)
    return region.emitOpError("has a tile of ")
           << frame.tileRows << " rows; quantized activations come in tiles of "
           << kTileOfRows;
  if (groupColumns == 0 || format == WeightFormat::I8G16Offset)
    return region.emitOpError("multiplies quantized activations with ")
           << formatName(format)
           << " weights; those have no scale, or offsets for less than "
           << graph::kQuantizedBlock << " columns";
  if (parts.select)
    return region.emitOpError("selects rows of quantized activations");
  return success();
}

/// Buffers of quantized activations hold whole row tiles.
RowCursors GemmInt8Kernel::cursorsOver(int64_t elementsPerRowTile) {
  int64_t numTiles = (frame.numRows + kTileOfRows - 1) / kTileOfRows;
  return RowCursors(b, b.div(frame.row(), kTileOfRows), rowTiles,
                    elementsPerRowTile, frame.rowsAreWhole() ? 0 : numTiles,
                    [this, elementsPerRowTile](Value tile) {
                      return b.mul(tile, elementsPerRowTile);
                    });
}

SmallVector<Value> GemmInt8Kernel::loadRowTiles(Value buffer,
                                                const RowCursors &cursors,
                                                Value cursor) {
  SmallVector<Value> loaded;
  for (int64_t tile = 0; tile < rowTiles; ++tile)
    loaded.push_back(b.load(buffer, cursors.at(cursor, tile)));
  return loaded;
}

LogicalResult GemmInt8Kernel::bindInput() {
  auto linear = cast<graph::QuantizedLinearOp>(parts.linears.front());
  FailureOr<View> scaleView = context.view(linear.getScales()),
                  sumView = context.view(linear.getSums());
  if (failed(scaleView) || failed(sumView))
    return failure();
  codes = frame.unit.bind(parts.input.slice, b.i32x4(), program::Access::Read);
  if (packedHasOffsets(format))
    sums = frame.unit.bind(sumView->slice, b.f32x4(), program::Access::Read);
  scales = frame.unit.bind(scaleView->slice, b.f32x4(), program::Access::Read);
  hasRowScales = scaleView->type.getRank() <= 1;
  return success();
}

/// Sets what follows from the frame's place.
void GemmInt8Kernel::placeInput() {
  int64_t columns = parts.layout().columns;
  codeCursors = cursorsOver(columns / 4);
  blockCursors = cursorsOver(columns / graph::kQuantizedBlock);
  inverseScales.clear();
  if (!hasRowScales || !sums)
    return;
  // The scale of a row of zeros is zero, and so are its sums.
  constexpr double kLeastScale = 1e-35;
  for (Value tile : scalesOfRowTiles())
    inverseScales.push_back(
        b.div(b.constant(b.f32x4(), 1.0),
              b.max(tile, b.constant(b.f32x4(), kLeastScale))));
}

SmallVector<Value> GemmInt8Kernel::scalesOfRowTiles() {
  RowCursors cursors = cursorsOver(1);
  return loadRowTiles(scales, cursors, cursors.start());
}

/// The factors of the dots of the block whose codes `cursor` is in: a vector's
/// lanes are rows. Empty where whole rows have one that is applied at the end.
SmallVector<Value> GemmInt8Kernel::inputScales(Value cursor) {
  return hasRowScales ? SmallVector<Value>()
                      : loadRowTiles(scales, *blockCursors,
                                     b.div(cursor, graph::kQuantizedBlock / 4));
}

/// What meets the weights' offsets: divided by the row's scale where that is
/// applied at the end, as sixteen multiplications fewer a group.
SmallVector<Value> GemmInt8Kernel::inputSums(Value cursor) {
  if (!sums)
    return {};
  SmallVector<Value> ofBlock = loadRowTiles(
      sums, *blockCursors, b.div(cursor, graph::kQuantizedBlock / 4));
  for (auto [sum, inverse] : llvm::zip(ofBlock, inverseScales))
    sum = b.mul(sum, inverse);
  return ofBlock;
}

/// kStep columns.
GemmInt8Kernel::Sums GemmInt8Kernel::addStep(Value place, Value cursor,
                                             ArrayRef<Value> highOfGroup,
                                             ValueRange carried) {
  Sums dots(carried);
  for (int64_t column = 0; column < frame.kStep; column += unitColumns) {
    Value at = b.add(place, placesPer(column));
    // A step that is a whole group knows its units' numbers.
    std::optional<int64_t> number;
    if (frame.kStep == groupColumns)
      number = column / unitColumns;
    SmallVector<Value> units = weights->loadUnits(at),
                       high = weights->highOfUnit(highOfGroup, at, number);
    for (int64_t half = 0; half < unitColumns / 4; ++half) {
      SmallVector<Value> inputs =
          loadRowTiles(codes, *codeCursors, b.add(cursor, column / 4 + half));
      for (int64_t quad = 0; quad < frame.tileQuads; ++quad)
        for (int64_t lane = 0; lane < 4; ++lane) {
          Value word = weights->packedCodes(units, high, quad, lane, half);
          for (int64_t row = 0; row < frame.tileRows; ++row) {
            Value &dot = dots[indexOf(quad, lane, row)];
            Value x = b.extract(inputs[row / kTileOfRows], row % kTileOfRows);
            dot = b.dotBytes(word, x, dot);
          }
        }
    }
  }
  return dots;
}

/// Dot products of the codes of the group of columns at `place`, whose inputs
/// begin at `cursor`.
GemmInt8Kernel::Sums GemmInt8Kernel::dotsOfGroup(Value place, Value cursor) {
  SmallVector<Value> high = weights->loadHigh(place);
  Sums zeros(numSums(), b.i32(0));
  place = weights->unitsOf(place);
  if (frame.kStep == groupColumns)
    return addStep(place, cursor, high, zeros);
  SmallVector<Value> initial{cursor};
  initial.append(zeros);
  Value end = b.add(place, b.opaqueIndex(placesPer(groupColumns)));
  SmallVector<Value> done = b.forLoop(
      place, end, b.index(placesPer(frame.kStep)), initial,
      [&](Value now, ValueRange values) {
        SmallVector<Value> next{b.add(values[0], frame.kStep / 4)};
        next.append(addStep(now, values[0], high, values.drop_front()));
        return next;
      });
  return Sums(llvm::drop_begin(done));
}

/// `index`, but so that what is loaded there waits for `dot`. Compilers load
/// the scales of a group early otherwise, and spill for them. Dot products are
/// never the least number there is, which compilers do not know.
Value GemmInt8Kernel::after(Value index, Value dot) {
  Value never = b.equal(dot, b.i32(std::numeric_limits<int32_t>::min()));
  return b.select(never, b.add(index, 1), index);
}

/// sum += (weight's scale * input's scale) * dot + offset * (sum of inputs)
GemmInt8Kernel::Sums GemmInt8Kernel::addGroup(Value place, Value cursor,
                                              ValueRange carried) {
  Sums dots = dotsOfGroup(place, cursor), next(carried);
  if (frame.kStep == groupColumns) {
    place = after(place, dots.back());
    cursor = after(cursor, dots.back());
  }
  SmallVector<Value> blockScales = inputScales(cursor),
                     blockSums = inputSums(cursor);
  GemmGroup scaling = weights->loadScales(place);
  for (int64_t quad = 0; quad < frame.tileQuads; ++quad)
    for (int64_t lane = 0; lane < 4; ++lane)
      for (int64_t row = 0; row < frame.tileRows; ++row) {
        size_t index = indexOf(quad, lane, row);
        int64_t tile = row / kTileOfRows, inTile = row % kTileOfRows;
        Value scale = b.extract(scaling.scales[quad], lane);
        if (!blockScales.empty())
          scale = b.mul(scale, b.extract(blockScales[tile], inTile));
        next[index] = b.fma(b.signedToF32(dots[index]), scale, next[index]);
        if (!blockSums.empty())
          next[index] = b.fma(b.extract(scaling.offsets[quad], lane),
                              b.extract(blockSums[tile], inTile), next[index]);
      }
  return next;
}

/// Over all groups of columns. The loop carries where they lie.
GemmInt8Kernel::Sums GemmInt8Kernel::addAll() {
  Value first = weights->firstGroup();
  int64_t groups = parts.layout().paddedColumns / groupColumns;
  SmallVector<Value> initial{codeCursors->start()};
  initial.append(numSums(), b.f32(0.0));
  SmallVector<Value> done = b.forLoop(
      first, frame.bound(first, groups * kQuadsPerTile), b.index(kQuadsPerTile),
      initial, [&](Value place, ValueRange carried) {
        SmallVector<Value> next{b.add(carried[0], groupColumns / 4)};
        next.append(addGroup(place, carried[0], carried.drop_front()));
        return next;
      });
  return Sums(llvm::drop_begin(done));
}

/// Vectors of four columns, ordered [quad][row].
SmallVector<Value> GemmInt8Kernel::resultsOf(const Sums &total) {
  SmallVector<Value> results;
  for (int64_t quad = 0; quad < frame.tileQuads; ++quad)
    for (int64_t row = 0; row < frame.tileRows; ++row) {
      SmallVector<Value> lanes;
      for (int64_t lane = 0; lane < 4; ++lane)
        lanes.push_back(total[indexOf(quad, lane, row)]);
      results.push_back(b.vector(lanes));
    }
  return results;
}

/// The scales of whole rows.
SmallVector<Value> GemmInt8Kernel::scalesOfRows() {
  SmallVector<Value> rowScales;
  if (!hasRowScales)
    return rowScales;
  for (Value tile : scalesOfRowTiles())
    for (int64_t row = 0; row < kTileOfRows; ++row)
      rowScales.push_back(b.extract(tile, row));
  return rowScales;
}

LogicalResult GemmInt8Kernel::emit() {
  if (failed(verify()) || failed(bindInput()))
    return failure();
  for (const WeightView &weight : parts.weights) {
    placeInput();
    weights.emplace(frame.unit, weight, frame.quadToRead(), frame.tileQuads,
                    CodeForm::Packed);
    frame.addResults(weights->withoutCodeFactor(resultsOf(addAll())));
  }
  frame.setRowScales(scalesOfRows());
  return frame.storeAndFinish();
}

} // namespace

LogicalResult lowerGemmInt8(RegionContext &context, LinearRegion &parts) {
  return GemmInt8Kernel(context, parts).emit();
}

} // namespace llmc::codegen
