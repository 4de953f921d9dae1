// SPDX-License-Identifier: Apache-2.0
//
// short_conv with element-wise neighbours. An invocation takes four channels of
// some rows and carries the inputs before the row in registers. The one with
// the step's first rows reads the state and, when its rows are done, writes the
// step's last inputs there: nobody else touches these channels of it, so that
// one dispatch does both.

#include "codegen/Lowering/Elementwise.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace llmc::codegen {

namespace {

/// Emits the kernel of one region.
class ShortConvKernel {
public:
  ShortConvKernel(RegionContext &context, graph::ShortConvOp conv)
      : context(context), conv(conv),
        unit(context, context.getConfig().getWorkgroup()), b(unit.builder()) {}

  LogicalResult emit();

private:
  LogicalResult bindOperands();
  void emitPlace();
  Value inputAt(Value atRow);
  SmallVector<Value> loadTaps();
  SmallVector<Value> pastOfStep();
  SmallVector<Value> pastOfRows();
  Value clamped(Value row, int64_t back);
  SmallVector<Value> past();
  void emitRows(ArrayRef<Value> before);
  void storeRow(Value row, ArrayRef<Value> inputs, ArrayRef<Value> taps);
  void storePast(ArrayRef<Value> before);

  int64_t threads() { return context.getConfig().getWorkgroup().front(); }
  int64_t ahead() { return static_cast<int64_t>(conv.getAhead()); }
  int64_t rowsPerInvocation() { return context.getConfig().getTile().front(); }
  Value statePlace(int64_t index) { return b.add(quad, index * numQuads); }

  RegionContext &context;
  graph::ShortConvOp conv;
  KernelUnit unit;
  KernelBuilder &b;
  int64_t numTaps = 0, numQuads = 0;
  /// Of what is emitted into loops and branches.
  bool ok = true;
  Value quad, firstRow, endRow, numRows;
  Value taps, state, position;
  std::optional<View> ranges;
};

LogicalResult ShortConvKernel::bindOperands() {
  auto type = cast<RankedTensorType>(conv.getType());
  int64_t channels = type.getDimSize(1);
  if (channels % 4 != 0)
    return conv.emitOpError("has ") << channels << " channels, no multiple of "
                                    << "four";
  numQuads = channels / 4;
  numTaps =
      cast<RankedTensorType>(conv.getTaps().getType()).getDimSize(0) / channels;
  if (rowsPerInvocation() < numTaps - 1)
    return context.getRegion().emitOpError("of kind short_conv needs tile = "
                                           "[rows of an invocation, at least ")
           << numTaps - 1 << "]; found " << rowsPerInvocation();
  FailureOr<Value> bound = unit.bindVector(conv.getTaps(), b.f32x4());
  if (failed(bound))
    return failure();
  taps = *bound;
  if (conv.getRanges()) {
    FailureOr<View> view = context.view(conv.getRanges());
    if (failed(view))
      return failure();
    ranges = *view;
    return success();
  }
  FailureOr<StepWord> word = context.word(conv.getPosition());
  if (failed(word))
    return failure();
  position = b.toIndex(unit.stepWord(*word));
  auto stateType =
      RankedTensorType::get({numTaps - 1, channels}, b.getF32Type());
  Value slice =
      context.getEntry().stateSlice(conv.getLoc(), *conv.getState(),
                                    4 * stateType.getNumElements(), stateType);
  state = unit.bind(slice, b.f32x4(), program::Access::ReadWrite);
  return success();
}

void ShortConvKernel::emitPlace() {
  quad = b.add(b.mul(b.groupId(gpu::Dimension::x), threads()), b.localId());
  firstRow = b.mul(b.groupId(gpu::Dimension::y), rowsPerInvocation());
  numRows = unit.numRows(cast<RankedTensorType>(conv.getType()));
  endRow = b.min(b.add(firstRow, rowsPerInvocation()), numRows);
}

/// The convolution's input at the invocation's channels of a row.
Value ShortConvKernel::inputAt(Value atRow) {
  ElementwiseEmitter emitter(unit, atRow, quad);
  FailureOr<Value> x = emitter.evaluate(conv.getInput());
  ok &= succeeded(x);
  return ok ? *x : b.constant(b.f32x4(), 0.0);
}

/// By tap, its weights of the four channels: a channel's taps lie together.
SmallVector<Value> ShortConvKernel::loadTaps() {
  SmallVector<Value> words, byTap;
  for (int64_t i = 0; i < numTaps; ++i)
    words.push_back(b.load(taps, b.add(b.mul(quad, numTaps), i)));
  for (int64_t tap = 0; tap < numTaps; ++tap) {
    SmallVector<Value> lanes;
    for (int64_t channel = 0; channel < 4; ++channel) {
      int64_t element = channel * numTaps + tap;
      lanes.push_back(b.extract(words[element / 4], element % 4));
    }
    byTap.push_back(b.vector(lanes));
  }
  return byTap;
}

/// What the state holds, the latest last; zeros for positions below 0.
SmallVector<Value> ShortConvKernel::pastOfStep() {
  SmallVector<Value> inputs;
  Value zero = b.constant(b.f32x4(), 0.0);
  for (int64_t i = 0; i < numTaps - 1; ++i) {
    Value exists = b.less(b.index(numTaps - 2 - i), position);
    inputs.push_back(b.select(exists, b.load(state, statePlace(i)), zero));
  }
  return inputs;
}

/// Row `row` - `back`; with ranges, which leave out what does not exist, the
/// closest row that does.
Value ShortConvKernel::clamped(Value row, int64_t back) {
  if (!ranges)
    return b.sub(row, b.index(back));
  Value place = b.sub(b.max(row, b.index(back)), b.index(back));
  return ahead() == 0 ? place : b.min(place, b.sub(numRows, b.index(1)));
}

/// The inputs before the one that comes in with the first row, the latest last.
SmallVector<Value> ShortConvKernel::pastOfRows() {
  SmallVector<Value> inputs;
  for (int64_t i = 0; i < numTaps - 1; ++i)
    inputs.push_back(
        inputAt(clamped(b.add(firstRow, ahead()), numTaps - 1 - i)));
  return inputs;
}

SmallVector<Value> ShortConvKernel::past() {
  if (ranges)
    return pastOfRows();
  SmallVector<Type> types(numTaps - 1, b.f32x4());
  return b.ifElse(
      types, b.equal(firstRow, b.index(0)), [&] { return pastOfStep(); },
      [&] { return pastOfRows(); });
}

/// One row of the result. `inputs` are those under the taps.
void ShortConvKernel::storeRow(Value row, ArrayRef<Value> inputs,
                               ArrayRef<Value> tapValues) {
  Value zero = b.constant(b.f32x4(), 0.0), sum = zero, begin, end;
  if (ranges) {
    Value memref =
        unit.bind(ranges->slice, b.getI32Type(), program::Access::Read);
    Value place = b.add(b.mul(row, ranges->rowStride), ranges->offset);
    begin = b.toIndex(b.load(memref, place));
    if (ahead() != 0)
      end = b.toIndex(b.load(memref, b.add(place, 1)));
  }
  for (auto [tap, input] : llvm::enumerate(inputs)) {
    Value x = input;
    int64_t back = numTaps - 1 - ahead() - static_cast<int64_t>(tap);
    if (begin && back > 0)
      x = b.select(b.less(row, b.add(begin, back)), zero, x);
    if (back < 0)
      x = b.select(b.less(b.add(row, -back), end), x, zero);
    sum = b.fma(x, tapValues[tap], sum);
  }
  ElementwiseEmitter emitter(unit, row, quad);
  emitter.map(conv.getResult(), sum);
  ok &= succeeded(emitter.storeResults());
}

void ShortConvKernel::emitRows(ArrayRef<Value> before) {
  SmallVector<Value> tapValues = loadTaps();
  b.forLoop(
      firstRow, endRow, b.index(1), before, [&](Value row, ValueRange carried) {
        SmallVector<Value> inputs(carried);
        inputs.push_back(
            inputAt(ahead() == 0 ? row : clamped(b.add(row, ahead()), 0)));
        storeRow(row, inputs, tapValues);
        inputs.erase(inputs.begin());
        return inputs;
      });
}

/// The last inputs of the step, or of the steps before where it has too few.
void ShortConvKernel::storePast(ArrayRef<Value> before) {
  for (int64_t i = 0; i < numTaps - 1; ++i) {
    // Row numRows - (taps - 1) + i, counted from the state's first: of `before`
    // when it is below taps - 1.
    Value place = b.add(numRows, i);
    Value isNew = b.less(b.index(numTaps - 2), place);
    Value fromRow =
        b.sub(b.max(place, b.index(numTaps - 1)), b.index(numTaps - 1));
    Value input = inputAt(fromRow);
    Value old = before.front();
    for (int64_t k = 1; k < numTaps - 1; ++k)
      old = b.select(b.equal(place, b.index(k)), before[k], old);
    b.store(b.select(isNew, input, old), state, statePlace(i));
  }
}

LogicalResult ShortConvKernel::emit() {
  if (failed(bindOperands()))
    return failure();
  emitPlace();
  int64_t rows = context.rowsOf(cast<RankedTensorType>(conv.getType()));
  Value isActive =
      b.logicalAnd(b.less(quad, b.index(numQuads)), b.less(firstRow, numRows));
  b.ifThen(isActive, [&] {
    SmallVector<Value> before = past();
    emitRows(before);
    if (state)
      b.ifThen(b.equal(firstRow, b.index(0)), [&] { storePast(before); });
  });
  if (!ok)
    return failure();
  int64_t groups = llvm::divideCeil(numQuads, threads()),
          blocks = llvm::divideCeil(rows, rowsPerInvocation());
  unit.finish(llvm::formatv("short_conv {0} taps {1} rows {2}", numQuads * 4,
                            numTaps, rows)
                  .str(),
              {groups, blocks, 1});
  return success();
}

} // namespace

LogicalResult lowerShortConv(RegionContext &context) {
  auto convs = context.getRegion().getBody().getOps<graph::ShortConvOp>();
  if (!llvm::hasSingleElement(convs))
    return context.getRegion().emitOpError(
        "of kind short_conv needs one short_conv");
  return ShortConvKernel(context, *convs.begin()).emit();
}

} // namespace llmc::codegen
