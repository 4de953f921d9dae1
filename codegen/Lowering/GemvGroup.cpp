// SPDX-License-Identifier: Apache-2.0
//
// The body of the GEMV kernel's loop. Everything is unrolled: the drivers'
// compilers keep the order, so that what is emitted late is alive for a short
// time.

#include "codegen/Lowering/GemvGroup.h"

namespace llmc::codegen {

double GemvGroup::halfFactor(const WeightDecoder &decoder) {
  double factor = 1;
  while (factor * static_cast<double>(decoder.largestCode() *
                                      decoder.columnsPerGroup()) >
         8)
    factor /= 2;
  return factor;
}

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

void GemvGroup::addRowCodes(State &state, unsigned number,
                            const WeightDecoder::Unit &codes, int64_t half,
                            ArrayRef<Value> inputs) const {
  WeightDecoder &decoder = decoders[number];
  const WeightDecoder::Group &data = state.data[number];
  Value offset = sumsCodes() ? Value() : decoder.offset(data, half);
  for (int64_t row = 0; row < 4; ++row) {
    Value weights = decoder.rowCodes(codes, half, row);
    if (!sumsCodes()) {
      Value scale = b.splat(b.extract(data.scale, row));
      weights = offset ? b.fma(weights, scale, b.splat(b.extract(offset, row)))
                       : b.mul(weights, scale);
    }
    for (auto [place, x] : llvm::enumerate(inputs)) {
      Value &sum = state.sums[number * input.numRows() + place];
      Value scalar = b.extract(sum, row);
      for (int64_t column = 0; column < 4; ++column)
        scalar =
            b.fma(b.extract(weights, column), b.extract(x, column), scalar);
      sum = b.insert(scalar, sum, row);
    }
  }
}

/// A vector of x for each row.
SmallVector<Value> GemvGroup::loadInputs(State &state, int64_t quad) const {
  Value gain = input.input->loadGain(b.add(state.firstQuad, quad));
  SmallVector<Value> inputs;
  for (int64_t row = 0; row < input.numRows(); ++row) {
    Value x = input.input->load(state.rowQuads[row], b.index(quad));
    if (!input.factors.empty())
      x = b.mul(x, b.splat(input.factors[row]));
    inputs.push_back(gain ? b.mul(x, gain) : x);
  }
  return inputs;
}

void GemvGroup::addColumns(State &state, const Units &units, int64_t quad,
                           int64_t half) const {
  SmallVector<Value> inputs = loadInputs(state, quad);
  for (auto [row, x] : llvm::enumerate(inputs))
    for (int64_t i = 0; !state.inputSums.empty() && i < 4; ++i)
      state.inputSums[half][row] =
          b.add(state.inputSums[half][row], b.extract(x, i));
  for (auto [number, decoder] : llvm::enumerate(decoders)) {
    if (decoder.takesRows()) {
      addRowCodes(state, number, units[number].front(), half, inputs);
      continue;
    }
    SmallVector<Value> columns = decoder.columnCodes(units[number], half);
    if (!sumsCodes() && decoder.hasScale()) {
      const WeightDecoder::Group &data = state.data[number];
      Value offset = decoder.offset(data, half);
      for (Value &column : columns)
        column = offset ? b.fma(column, data.scale, offset)
                        : b.mul(column, data.scale);
    }
    for (auto [row, x] : llvm::enumerate(inputs)) {
      Value &sum = state.sums[number * input.numRows() + row];
      sum = accumulate(b, columns, x, sum);
    }
  }
}

//===----------------------------------------------------------------------===//
// f16
//===----------------------------------------------------------------------===//

/// x (vector<4xf32>) as two vector<2xf16>, divided by the factor of the codes
/// that it meets; added to the sum of inputs.
std::array<Value, 2> GemvGroup::toHalves(State &state, Value x, int64_t row,
                                         int64_t half) const {
  const WeightDecoder &any = decoders.front();
  double factor = input.factors.empty() ? halfFactor(any) : 1,
         forCodes = factor / any.codeFactor(half);
  std::array<Value, 2> halves;
  for (int64_t number = 0; number < 2; ++number) {
    Value raw = b.toHalf2(b.pair(x, 2 * number));
    Value &scaled = halves[number];
    scaled = forCodes == 1 ? raw : b.mul(raw, b.constant(b.f16x2(), forCodes));
    if (state.inputSums.empty())
      continue;
    Value &sum = state.inputSums[0][row];
    if (factor == forCodes)
      sum = b.add(sum, scaled);
    else if (factor == 1)
      sum = b.add(sum, raw);
    else
      sum = b.fma(raw, b.constant(b.f16x2(), factor), sum);
  }
  return halves;
}

void GemvGroup::addHalfColumns(State &state, const Units &units, int64_t quad,
                               int64_t half) const {
  SmallVector<std::array<Value, 2>> inputs;
  for (auto [row, x] : llvm::enumerate(loadInputs(state, quad)))
    inputs.push_back(toHalves(state, x, static_cast<int64_t>(row), half));
  for (auto [number, decoder] : llvm::enumerate(decoders))
    for (int64_t weightRow = 0; weightRow < 4; ++weightRow) {
      std::array<Value, 2> codes =
          decoder.rowHalves(units[number].front(), half, weightRow);
      for (auto [row, x] : llvm::enumerate(inputs)) {
        Value &sum =
            state.halfSums[(number * input.numRows() + row) * 4 + weightRow];
        sum = b.fma(codes[0], x[0], sum);
        sum = b.fma(codes[1], x[1], sum);
      }
    }
}

/// From halfSums to sums, without the bias, and the sums of inputs to f32.
void GemvGroup::widenSums(State &state) const {
  double bias = decoders.front().bias(0);
  for (auto [place, sum] : llvm::enumerate(state.sums)) {
    SmallVector<Value> rows;
    for (int64_t weightRow = 0; weightRow < 4; ++weightRow) {
      Value halves = state.halfSums[place * 4 + weightRow];
      if (bias != 0)
        halves = b.fma(state.inputSums[0][place % input.numRows()],
                       b.constant(b.f16x2(), -bias), halves);
      rows.push_back(
          b.widen(b.add(b.extract(halves, 0), b.extract(halves, 1))));
    }
    sum = b.vector(rows);
  }
  for (SmallVector<Value> &ofRows : state.inputSums)
    for (Value &sum : ofRows)
      sum = b.add(b.widen(b.extract(sum, 0)), b.widen(b.extract(sum, 1)));
}

//===----------------------------------------------------------------------===//
// A group
//===----------------------------------------------------------------------===//

/// Half of a unit's columns are taken before the other half's x are loaded, so
/// that only four of them are alive.
void GemvGroup::addUnits(State &state) const {
  const WeightDecoder &any = decoders.front();
  int64_t unitColumns = any.unitColumns(),
          unitsAtOnce = std::max<int64_t>(4 / unitColumns, 1);
  for (int64_t first = 0; first < any.unitsPerGroup(); first += unitsAtOnce) {
    Units units;
    for (auto [number, decoder] : llvm::enumerate(decoders)) {
      units.emplace_back();
      for (int64_t place = 0; place < unitsAtOnce; ++place)
        units.back().push_back(decoder.loadUnit(
            state.places[number], state.data[number], b.index(first + place)));
    }
    for (int64_t half = 0; half < numHalves(); ++half) {
      int64_t quad = first * unitColumns / 4 + half;
      if (isHalf)
        addHalfColumns(state, units, quad, half);
      else
        addColumns(state, units, quad, half);
    }
  }
}

/// sum += scale * (codes · x - biases · x) + minimum * (sum of x)
void GemvGroup::finish(State &state, Sums &sums) const {
  const WeightDecoder &any = decoders.front();
  for (int64_t row = 0; row < input.numRows(); ++row) {
    Value total, biased;
    for (auto [half, ofRows] : llvm::enumerate(state.inputSums)) {
      Value sum = ofRows[row],
            part = b.mul(sum, b.f32(-any.bias(static_cast<int64_t>(half))));
      total = total ? b.add(total, sum) : sum;
      biased = biased ? b.add(biased, part) : part;
    }
    for (unsigned number = 0; number < decoders.size(); ++number) {
      const WeightDecoder::Group &data = state.data[number];
      Value ofGroup = state.sums[number * input.numRows() + row];
      Value &sum = sums[number * input.numRows() + row];
      if (biased && any.bias(0) != 0 && !isHalf)
        ofGroup = b.add(ofGroup, b.splat(biased));
      sum = b.fma(data.scale, ofGroup, sum);
      if (data.minimum)
        sum = b.fma(data.minimum, b.splat(total), sum);
    }
  }
}

GemvGroup::Sums GemvGroup::add(ArrayRef<WeightDecoder::Place> places,
                               Value firstQuad, Sums sums) const {
  State state{places, {}, firstQuad, {}, sums, {}, {}};
  auto loadScales = [&] {
    for (auto [number, decoder] : llvm::enumerate(decoders))
      decoder.loadScales(places[number], state.data[number]);
  };
  for (auto [number, decoder] : llvm::enumerate(decoders))
    state.data.push_back(decoder.loadHigh(places[number]));
  for (Value base : input.rowBases)
    state.rowQuads.push_back(b.add(base, firstQuad));
  if (!sumsCodes()) {
    loadScales();
    addUnits(state);
    return state.sums;
  }
  const WeightDecoder &any = decoders.front();
  Type element = isHalf ? Type(b.f16x2()) : b.getF32Type();
  if (any.hasMinimum() || any.bias(0) != 0)
    state.inputSums.assign(
        isHalf ? 1 : numHalves(),
        SmallVector<Value>(input.numRows(), b.constant(element, 0.0)));
  if (isHalf)
    state.halfSums.assign(4 * sums.size(), b.constant(element, 0.0));
  else
    state.sums.assign(sums.size(), b.constant(b.f32x4(), 0.0));
  addUnits(state);
  loadScales(); // as late as they are needed
  if (isHalf)
    widenSums(state);
  finish(state, sums);
  return sums;
}

} // namespace llmc::codegen
