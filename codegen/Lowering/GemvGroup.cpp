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
    Value weights = decoder.rowCodes(codes, half, row, input.stage != nullptr);
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
  Value number = b.add(state.first, quad);
  if (input.stage)
    return {input.stage->loadQuad(number)};
  if (!input.preloaded.empty()) {
    Value x = input.preloaded[input.firstPreloaded + quad];
    if (!input.preloadedGains.empty())
      x = b.mul(x, input.preloadedGains[input.firstPreloaded + quad]);
    return {x};
  }
  SmallVector<Value> inputs;
  for (ArrayRef<Value> own : state.ownInputs)
    inputs.push_back(input.exchange->vector(own, quad));
  if (input.exchange)
    return inputs;
  Value gain = input.input->loadGain(number);
  for (int64_t row = 0; row < input.numRows(); ++row) {
    Value x = input.input->load(state.rowQuads[row], b.index(quad));
    inputs.push_back(gain ? b.mul(x, gain) : x);
  }
  return inputs;
}

/// Staged input is divided by what its half's codes are too large by.
void GemvGroup::addToInputSum(State &state, Value part, int64_t half,
                              int64_t row) const {
  if (state.inputSums.empty())
    return;
  Value &sum = state.inputSums[input.stage ? 0 : half][row];
  double factor = input.stage ? decoders.front().codeFactor(half) : 1;
  sum = factor == 1 ? b.add(sum, part)
                    : b.fma(part, b.constant(part.getType(), factor), sum);
}

void GemvGroup::addColumns(State &state, const Units &units, int64_t quad,
                           int64_t half) const {
  SmallVector<Value> inputs = loadInputs(state, quad);
  for (auto [row, x] : llvm::enumerate(inputs))
    for (int64_t i = 0; i < 4; ++i)
      addToInputSum(state, b.extract(x, i), half, static_cast<int64_t>(row));
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

void GemvGroup::addHalfUnit(State &state, const Units &units,
                            int64_t unit) const {
  std::array<Value, 4> x = input.stage->loadPairs(b.add(state.first, unit));
  for (int64_t number = 0; number < 4; ++number)
    addToInputSum(state, x[number], number / 2, 0);
  for (auto [number, decoder] : llvm::enumerate(decoders))
    for (int64_t weightRow = 0; weightRow < 4; ++weightRow) {
      Value &sum = state.halfSums[number * 4 + weightRow];
      for (int64_t half = 0; half < 2; ++half) {
        std::array<Value, 2> codes =
            decoder.rowHalves(units[number].front(), half, weightRow);
        sum = b.fma(codes[0], x[2 * half], sum);
        sum = b.fma(codes[1], x[2 * half + 1], sum);
      }
    }
}

/// The sum of a vector<2xf16> as f32.
Value GemvGroup::widen(Value halves) const {
  return b.add(b.widen(b.extract(halves, 0)), b.widen(b.extract(halves, 1)));
}

/// From halfSums to sums, and the sums of inputs to f32.
void GemvGroup::widenSums(State &state) const {
  for (auto [number, sum] : llvm::enumerate(state.sums)) {
    SmallVector<Value> rows;
    for (int64_t weightRow = 0; weightRow < 4; ++weightRow)
      rows.push_back(widen(state.halfSums[number * 4 + weightRow]));
    sum = b.vector(rows);
  }
  for (SmallVector<Value> &sums : state.inputSums)
    sums.front() = widen(sums.front());
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
  int64_t numUnits = state.part ? state.part->count : any.unitsPerGroup();
  for (int64_t first = 0; first < numUnits; first += unitsAtOnce) {
    Units units;
    for (auto [number, decoder] : llvm::enumerate(decoders)) {
      units.emplace_back();
      for (int64_t place = 0; place < unitsAtOnce; ++place) {
        Value unit = b.index(first + place);
        if (state.part)
          unit = b.add(state.part->first, unit);
        units.back().push_back(
            decoder.loadUnit(state.places[number], state.data[number], unit));
      }
    }
    if (isHalf) {
      addHalfUnit(state, units, first);
      continue;
    }
    for (int64_t half = 0; half < numHalves(); ++half)
      addColumns(state, units, first * unitColumns / 4 + half, half);
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
      if (biased && any.bias(0) != 0)
        ofGroup = b.add(ofGroup, b.splat(biased));
      sum = b.fma(data.scale, ofGroup, sum);
      if (data.minimum)
        sum = b.fma(data.minimum, b.splat(total), sum);
    }
  }
}

/// Sums codes times inputs and, where it is needed, inputs.
void GemvGroup::addCodes(State &state) const {
  const WeightDecoder &any = decoders.front();
  Type element = isHalf ? Type(b.f16x2()) : b.getF32Type();
  if (any.hasMinimum() || any.bias(0) != 0)
    state.inputSums.assign(
        input.stage ? 1 : numHalves(),
        SmallVector<Value>(input.numRows(), b.constant(element, 0.0)));
  size_t numSums = decoders.size() * input.numRows();
  if (isHalf)
    state.halfSums.assign(4 * numSums, b.constant(element, 0.0));
  state.sums.assign(numSums, b.constant(b.f32x4(), 0.0));
  addUnits(state);
}

GemvGroup::Sums GemvGroup::add(ArrayRef<WeightDecoder::Place> places,
                               Value first, llvm::function_ref<Sums()> sums,
                               std::optional<Part> part) const {
  State state{places, {}, first, {}, {}, {}, {}, {}, part};
  auto loadScales = [&] {
    for (auto [number, decoder] : llvm::enumerate(decoders))
      decoder.loadScales(places[number], state.data[number]);
  };
  for (auto [number, decoder] : llvm::enumerate(decoders))
    state.data.push_back(decoder.loadHigh(places[number]));
  if (input.exchange)
    for (Value base : input.rowBases)
      state.ownInputs.push_back(input.exchange->load(
          base, first, decoders.front().columnsPerGroup() / 4));
  else if (!input.stage)
    for (Value base : input.rowBases)
      state.rowQuads.push_back(b.add(base, first));
  if (!sumsCodes()) {
    loadScales();
    state.sums = sums();
    addUnits(state);
    return state.sums;
  }
  addCodes(state);
  loadScales(); // as late as they are needed
  if (isHalf)
    widenSums(state);
  Sums all = sums();
  finish(state, all);
  return all;
}

/// A row at a time, so that few numbers are alive.
GemvGroup::Sums GemvGroup::addPair(WeightDecoder::Place place, Value first,
                                   int64_t elements,
                                   llvm::function_ref<Sums()> sums) const {
  WeightDecoder &decoder = decoders.front();
  std::array<WeightDecoder::Place, 2> places = {place,
                                                decoder.neighbour(place)};
  SmallVector<State, 2> states;
  for (int64_t group = 0; group < 2; ++group) {
    State &state = states.emplace_back(State{
        places[group], {}, b.add(first, group * elements), {}, {}, {}, {}, {}});
    state.data.push_back(decoder.loadHigh(places[group]));
    addCodes(state);
  }
  std::array<Value, 2> ofInputs;
  for (auto [state, ofInput] : llvm::zip_equal(states, ofInputs)) {
    Value sum = state.inputSums.front().front();
    ofInput = isHalf ? widen(sum) : sum;
  }
  auto scaled = [&](const std::array<Value, 2> &bytes, int64_t row,
                    std::array<Value, 2> numbers) {
    return b.fma(b.unsignedByteToF32(bytes[1], row), numbers[1],
                 b.mul(b.unsignedByteToF32(bytes[0], row), numbers[0]));
  };
  WeightDecoder::ScalePair scales = decoder.loadScalePair(place);
  Sums all = sums();
  SmallVector<Value> rows;
  for (int64_t row = 0; row < 4; ++row) {
    std::array<Value, 2> ofCodes;
    for (auto [state, ofCode] : llvm::zip_equal(states, ofCodes))
      ofCode = isHalf ? widen(state.halfSums[row])
                      : b.extract(state.sums.front(), row);
    Value factors = b.unpackHalf2(b.extract(scales.halves, row));
    Value sum =
        b.fma(b.extract(factors, 0), scaled(scales.scales, row, ofCodes),
              b.extract(all.front(), row));
    rows.push_back(b.fma(b.neg(b.extract(factors, 1)),
                         scaled(scales.minimums, row, ofInputs), sum));
  }
  return {b.vector(rows)};
}

} // namespace llmc::codegen
