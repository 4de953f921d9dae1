// SPDX-License-Identifier: Apache-2.0
//
// Ops that take parts of tensors and put them together: embeddings, slices of
// position tables, and parts of activations.

#include "compiler/Import/ONNX/NodeImporter.h"

namespace llmc::onnx {

namespace {

/// Known numbers have few elements, but an index list may repeat them.
constexpr int64_t kMaxElements = int64_t{1} << 20;

int64_t product(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      return -1;
  return count;
}

//===----------------------------------------------------------------------===//
// Parts of known numbers
//===----------------------------------------------------------------------===//

/// Element `from[i]` of every line along `axis`, in order.
HostTensor takeAlong(const HostTensor &host, size_t axis,
                     ArrayRef<int64_t> from) {
  HostTensor result;
  result.isReal = host.isReal;
  result.shape = host.shape;
  result.shape[axis] = static_cast<int64_t>(from.size());
  int64_t inner = product(ArrayRef(host.shape).drop_front(axis + 1));
  int64_t outer = product(ArrayRef(host.shape).take_front(axis));
  for (int64_t o = 0; o != outer; ++o)
    for (int64_t place : from)
      for (int64_t i = 0; i != inner; ++i) {
        int64_t index = (o * host.shape[axis] + place) * inner + i;
        if (host.isReal)
          result.reals.push_back(host.reals[index]);
        else
          result.integers.push_back(host.integers[index]);
      }
  return result;
}

/// The place an index means; none when it is out of range.
std::optional<int64_t> placeOf(SymbolicInt index, int64_t size) {
  if (!index.isNumber() || index.coefficient < -size ||
      index.coefficient >= size)
    return std::nullopt;
  return index.coefficient < 0 ? index.coefficient + size : index.coefficient;
}

llvm::Error gatherHost(NodeImporter &n, const HostTensor &data, size_t axis,
                       const HostTensor &indices) {
  SmallVector<int64_t> places;
  for (SymbolicInt index : indices.integers) {
    std::optional<int64_t> place = placeOf(index, data.shape[axis]);
    if (!place)
      return n.fail("has an index out of range");
    places.push_back(*place);
  }
  int64_t others = product(data.shape) / std::max<int64_t>(1, data.shape[axis]);
  if (others * static_cast<int64_t>(places.size()) > kMaxElements)
    return n.fail("gives too many known numbers");
  HostTensor result = takeAlong(data, axis, places);
  result.shape.erase(result.shape.begin() + axis);
  result.shape.insert(result.shape.begin() + axis, indices.shape.begin(),
                      indices.shape.end());
  return n.set(std::move(result));
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Rows of a matrix from `first` on.
Constant rowsFrom(const Constant &table, int64_t first) {
  Constant result = table;
  result.firstElement += first * table.shape[1];
  result.shape[0] -= first;
  return result;
}

llvm::Error importEmbedding(NodeImporter &n, const Constant &table,
                            const Index &index) {
  llvm::Expected<Activation> rows = embed(n, table, index);
  return rows ? n.set(*rows) : rows.takeError();
}

llvm::Error gatherConstant(NodeImporter &n, const Constant &table,
                           size_t axis) {
  if (axis != 0 || table.shape.size() != 2 || table.isTransposed)
    return n.fail("of " + describe(n.operand(0)) + " along axis " +
                  Twine(axis) +
                  " is not supported, allowed are rows of a "
                  "matrix");
  if (const auto *index = n.as<Index>(1))
    return importEmbedding(n, table, *index);
  // One row for all tokens: token types, which are 0.
  std::optional<double> row = toScalar(n.operand(1));
  if (const auto *uniform = n.as<Uniform>(1))
    row = uniform->visible;
  if (!row || *row < 0 || *row >= static_cast<double>(table.shape[0]))
    return n.fail("by " + describe(n.operand(1)) +
                  " is not supported, or out of range");
  if (table.quantization)
    return n.fail("of one row of a quantized matrix is not supported");
  Constant result = rowsFrom(table, static_cast<int64_t>(*row));
  result.shape = {table.shape[1]};
  return n.set(std::move(result));
}

/// One part of an activation along an axis that is known.
llvm::Error gatherActivation(NodeImporter &n, const Activation &input,
                             size_t axis) {
  std::optional<int64_t> size = input.dims[axis].number();
  std::optional<HostTensor> index = toHost(n.operand(1));
  std::optional<int64_t> place =
      size && index && !index->isReal && index->size() == 1
          ? placeOf(index->integers.front(), *size)
          : std::nullopt;
  if (!place)
    return n.fail("of " + describe(n.operand(0)) + " along axis " +
                  Twine(axis) +
                  " is not supported, allowed is one known "
                  "index into a known dimension");
  Dims dims = input.dims;
  dims.erase(dims.begin() + axis);
  for (int64_t one : index->shape)
    dims.insert(dims.begin() + axis, Dim::of(one));
  llvm::Expected<SmallVector<int64_t>> shape = n.stored(dims);
  if (!shape)
    return shape.takeError();
  SmallVector<int64_t> kept = storedDims(input.dims);
  int64_t dim = llvm::find(kept, static_cast<int64_t>(axis)) - kept.begin();
  Value part = n.emit.slice(input.value, dim, *place, 1);
  return n.setActivation(n.emit.reshape(part, *shape), std::move(dims));
}

llvm::Error importGather(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(2))
    return error;
  Dims dims = dimsOf(n.operand(0));
  llvm::Expected<size_t> axis = n.axis(n.integer("axis", 0), dims.size());
  if (!axis)
    return axis.takeError();
  if (const auto *input = n.as<Activation>(0))
    return gatherActivation(n, *input, *axis);
  std::optional<HostTensor> indices = toHost(n.operand(1));
  if (const auto *distances = n.as<Distances>(1))
    if (std::optional<HostTensor> table = toHost(n.operand(0));
        table && *axis == 0)
      return gatherBiases(n, *table, *distances);
  if (const auto *host = n.as<HostTensor>(0))
    if (indices && !indices->isReal)
      return gatherHost(n, *host, *axis, *indices);
  if (const auto *table = n.as<Constant>(0))
    return gatherConstant(n, *table, *axis);
  return n.fail("of " + describe(n.operand(0)) + " by " +
                describe(n.operand(1)) + " is not supported");
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// One axis of a slice.
struct Range {
  size_t axis;
  SymbolicInt begin, end;
  int64_t step = 1;
};

/// Reads starts, ends, axes and steps.
llvm::Expected<SmallVector<Range>> readRanges(NodeImporter &n, size_t rank) {
  std::optional<HostTensor> begin = toHost(n.operand(1));
  std::optional<HostTensor> end = toHost(n.operand(2));
  auto axes = n.integers("axes", 3);
  if (!axes)
    return axes.takeError();
  auto steps = n.integers("steps", 4);
  if (!steps)
    return steps.takeError();
  if (!begin || !end || begin->isReal || end->isReal ||
      begin->size() != end->size() ||
      (*axes && (*axes)->size() != begin->size()) ||
      (*steps && (*steps)->size() != begin->size()))
    return n.fail(
        "starts, ends, axes and steps must be known integers, as many "
        "of each");
  SmallVector<Range> ranges;
  for (size_t i = 0; i != begin->size(); ++i) {
    llvm::Expected<size_t> axis =
        n.axis(*axes ? (**axes)[i] : static_cast<int64_t>(i), rank);
    if (!axis)
      return axis.takeError();
    ranges.push_back({*axis, begin->integers[i], end->integers[i],
                      *steps ? (**steps)[i] : 1});
  }
  return ranges;
}

/// [first, first + count) of a dimension of known size.
struct Part {
  int64_t first, count;
};

std::optional<Part> partOf(const Range &range, int64_t size) {
  if (!range.begin.isNumber() || !range.end.isNumber() || range.step != 1)
    return std::nullopt;
  auto clamp = [&](int64_t place) {
    place = place < 0 ? place + size : place;
    return std::clamp(place, int64_t{0}, size);
  };
  int64_t begin = clamp(range.begin.coefficient);
  int64_t end = clamp(range.end.coefficient);
  return Part{begin, std::max(int64_t{0}, end - begin)};
}

/// From a known start up to the sequence: a table by position.
bool isSequencePart(const Range &range) {
  return range.end == SymbolicInt{1, 0, 1} && range.begin.isNumber() &&
         range.begin.coefficient == 0 && range.step == 1;
}

/// Whether a range leaves the dimension as it is.
bool isWhole(const Range &range, const Dim &dim) {
  bool toEnd = range.end.isNumber() && range.end.coefficient >= INT32_MAX;
  return range.step == 1 && range.begin == SymbolicInt{0, 0, 0} &&
         (toEnd || range.end == dim.size());
}

/// position_ids[:, :sequence], where the table counts up.
llvm::Error slicePositions(NodeImporter &n, const HostTensor &host,
                           const Range &range) {
  bool isLine = !host.isReal && !host.integers.empty() &&
                host.shape[range.axis] == static_cast<int64_t>(host.size());
  for (auto [index, value] : llvm::enumerate(host.integers))
    isLine = isLine && value.isNumber() &&
             value.coefficient - host.integers.front().coefficient ==
                 static_cast<int64_t>(index);
  if (!isLine)
    return n.fail("up to the sequence is supported for integers that count up");
  Dims dims = dimsOf(Operand(host));
  dims[range.axis] = Dim::of(Symbol::Sequence);
  n.graph.limitSequence(host.shape[range.axis]);
  return n.set(Index{n.graph.positions, std::move(dims), true,
                     host.integers.front().coefficient});
}

/// table[:sequence] or table[:, :sequence] of [.., positions, size].
llvm::Error sliceTable(NodeImporter &n, const Constant &table,
                       const Range &range) {
  auto rank = table.shape.size();
  bool isTable =
      rank >= 2 && range.axis == rank - 2 && !table.isTransposed &&
      product(table.shape) == table.shape[rank - 2] * table.shape[rank - 1];
  if (!isTable)
    return n.fail("up to the sequence of " + describe(n.operand(0)) +
                  " is not supported, allowed is a table [positions, size]");
  Constant matrix = table;
  matrix.shape = {table.shape[rank - 2], table.shape[rank - 1]};
  Dims dims(rank - 2);
  dims.push_back(Dim::of(Symbol::Sequence));
  return importEmbedding(n, matrix, Index{n.graph.positions, dims, true, 0});
}

llvm::Error sliceActivation(NodeImporter &n, const Activation &input,
                            const Range &range, Activation &result) {
  std::optional<int64_t> size = input.dims[range.axis].number();
  std::optional<Part> part = size ? partOf(range, *size) : std::nullopt;
  if (!part || part->count == 0)
    return n.fail(
        "along axis " + Twine(range.axis) + " of " + describe(n.operand(0)) +
        " is not supported, allowed are known parts that aren't empty");
  SmallVector<int64_t> kept = storedDims(input.dims);
  int64_t dim =
      llvm::find(kept, static_cast<int64_t>(range.axis)) - kept.begin();
  result = input;
  result.value = n.emit.slice(input.value, dim, part->first, part->count);
  result.dims[range.axis] = Dim::of(part->count);
  result.isBlockDiagonal = false;
  return llvm::Error::success();
}

llvm::Error sliceHost(NodeImporter &n, HostTensor host,
                      ArrayRef<Range> ranges) {
  for (const Range &range : ranges) {
    int64_t size = host.shape[range.axis];
    if (isSequencePart(range))
      return slicePositions(n, host, range);
    std::optional<Part> part = partOf(range, size);
    if (!part)
      return n.fail("of known numbers needs known bounds and steps of 1");
    SmallVector<int64_t> places;
    for (int64_t i = 0; i != part->count; ++i)
      places.push_back(part->first + i);
    host = takeAlong(host, range.axis, places);
  }
  return n.set(std::move(host));
}

/// Of masks: the parts of known dimensions; whole dimensions stay.
llvm::Error sliceUniform(NodeImporter &n, Uniform mask,
                         ArrayRef<Range> ranges) {
  for (const Range &range : ranges) {
    Dim &dim = mask.dims[range.axis];
    std::optional<int64_t> size = dim.number();
    std::optional<Part> part = size ? partOf(range, *size) : std::nullopt;
    if (part)
      dim = Dim::of(part->count);
    else if (isSequencePart(range))
      dim = Dim::of(Symbol::Sequence);
    else if (!isWhole(range, dim))
      return n.fail("of " + describe(n.operand(0)) + " along axis " +
                    Twine(range.axis) + " is not supported");
  }
  return n.set(std::move(mask));
}

llvm::Error importSlice(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(3))
    return error;
  Dims dims = dimsOf(n.operand(0));
  auto ranges = readRanges(n, dims.size());
  if (!ranges)
    return ranges.takeError();
  llvm::erase_if(*ranges,
                 [&](const Range &r) { return isWhole(r, dims[r.axis]); });
  if (ranges->empty())
    return n.set(n.operand(0));
  if (const auto *mask = n.as<Uniform>(0))
    return sliceUniform(n, *mask, *ranges);
  const auto *table = n.as<Constant>(0);
  if (table && ranges->size() == 1 && isSequencePart(ranges->front()))
    return sliceTable(n, *table, ranges->front());
  if (std::optional<HostTensor> host = toHost(n.operand(0)))
    return sliceHost(n, std::move(*host), *ranges);
  const auto *input = n.as<Activation>(0);
  if (!input)
    return n.fail("of " + describe(n.operand(0)) + " is not supported");
  llvm::Expected<Activation> current = n.activation(0);
  if (!current)
    return current.takeError();
  for (const Range &range : *ranges) {
    Activation next;
    if (llvm::Error error = sliceActivation(n, *current, range, next))
      return error;
    *current = std::move(next);
  }
  return n.set(std::move(*current));
}

//===----------------------------------------------------------------------===//
// Split and Concat
//===----------------------------------------------------------------------===//

llvm::Error importSplit(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(1))
    return error;
  llvm::Expected<Activation> input = n.activation(0);
  if (!input)
    return input.takeError();
  llvm::Expected<size_t> axis =
      n.axis(n.integer("axis", 0), input->dims.size());
  if (!axis)
    return axis.takeError();
  auto sizes = n.integers("split", 1);
  if (!sizes)
    return sizes.takeError();
  std::optional<int64_t> size = input->dims[*axis].number();
  auto parts = static_cast<int64_t>(n.node.outputs.size());
  if (!size || parts == 0)
    return n.fail("along axis " + Twine(*axis) + " of " +
                  describe(n.operand(0)) + " is not supported");
  if (!*sizes) // equal parts, the last one smaller
    *sizes = std::vector<int64_t>(parts, (*size + parts - 1) / parts);
  if (static_cast<int64_t>((*sizes)->size()) != parts)
    return n.fail("has " + Twine((*sizes)->size()) + " sizes for " +
                  Twine(parts) + " outputs");
  int64_t offset = 0;
  for (auto [index, wanted] : llvm::enumerate(**sizes)) {
    int64_t count = std::min(wanted, *size - offset);
    Activation part;
    Range range{*axis, {offset, 0, 0}, {offset + count, 0, 0}, 1};
    if (llvm::Error error = sliceActivation(n, *input, range, part))
      return error;
    (void)n.set(std::move(part), index);
    offset += count;
  }
  if (offset != *size)
    return n.fail("splits " + Twine(offset) + " of " + Twine(*size) +
                  " elements");
  return llvm::Error::success();
}

llvm::Error concatHost(NodeImporter &n, ArrayRef<HostTensor> parts,
                       size_t axis) {
  HostTensor result = parts.front();
  result.tensor = nullptr;
  for (const HostTensor &part : parts.drop_front()) {
    if (axis != 0 || part.isReal != result.isReal ||
        ArrayRef(part.shape).drop_front(1) !=
            ArrayRef(result.shape).drop_front(1))
      return n.fail("of known numbers along axis " + Twine(axis) +
                    " is not supported");
    result.shape[0] += part.shape[0];
    llvm::append_range(result.integers, part.integers);
    llvm::append_range(result.reals, part.reals);
  }
  return n.set(std::move(result));
}

llvm::Error importConcat(NodeImporter &n) {
  if (llvm::Error error = n.requireInputs(n.node.inputs.size()))
    return error;
  if (n.node.inputs.empty())
    return n.fail("has no input");
  std::vector<HostTensor> known;
  size_t rank = dimsOf(n.operand(0)).size();
  llvm::Expected<size_t> axis = n.axis(n.integer("axis", 0), rank);
  if (!axis)
    return axis.takeError();
  for (size_t i = 0; i != n.node.inputs.size(); ++i)
    if (std::optional<HostTensor> host = toHost(n.operand(i));
        host && host->shape.size() == rank)
      known.push_back(std::move(*host));
  if (known.size() == n.node.inputs.size())
    return concatHost(n, known, *axis);
  SmallVector<Value> values;
  Dims dims;
  int64_t total = 0;
  for (size_t i = 0; i != n.node.inputs.size(); ++i) {
    llvm::Expected<Activation> part = n.activation(i);
    if (!part)
      return part.takeError();
    std::optional<int64_t> size =
        part->dims.size() == rank ? part->dims[*axis].number() : std::nullopt;
    Dims others = part->dims;
    if (size)
      others[*axis] = Dim::of(1);
    if (!size || (i != 0 && others != dims))
      return n.fail("of " + describe(n.operand(i)) + " along axis " +
                    Twine(*axis) + " is not supported");
    dims = others;
    total += *size;
    values.push_back(part->value);
  }
  SmallVector<int64_t> kept = storedDims(dims);
  int64_t dim = llvm::find(kept, static_cast<int64_t>(*axis)) - kept.begin();
  dims[*axis] = Dim::of(total);
  return n.setActivation(n.emit.concat(values, dim), std::move(dims));
}

constexpr OpEntry kOps[] = {{"", "Gather", importGather},
                            {"", "Slice", importSlice},
                            {"", "Split", importSplit},
                            {"", "Concat", importConcat}};

} // namespace

llvm::Expected<Activation> embed(NodeImporter &n, const Constant &table,
                                 const Index &index) {
  if (index.offset < 0 || index.offset >= table.shape[0])
    return n.fail("positions begin at row " + Twine(index.offset) +
                  " of a table of " + Twine(table.shape[0]));
  if (table.quantization && index.offset != 0)
    return n.fail("of a quantized table from row " + Twine(index.offset) +
                  " on is not supported");
  Constant rows = rowsFrom(table, index.offset);
  if (index.isPosition)
    n.graph.limitSequence(rows.shape[0]);
  llvm::Expected<Value> weight = n.emit.weight(rows);
  if (!weight)
    return n.fail(llvm::toString(weight.takeError()));
  Dims dims = index.dims;
  dims.push_back(Dim::of(table.shape[1]));
  llvm::Expected<SmallVector<int64_t>> shape = n.stored(dims);
  if (!shape)
    return shape.takeError();
  Value value = n.emit.embedding(index.value, *weight);
  return Activation{n.emit.reshape(value, *shape), std::move(dims), false,
                    std::nullopt};
}

ArrayRef<OpEntry> selectionOps() { return kOps; }

} // namespace llmc::onnx
