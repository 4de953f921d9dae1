// SPDX-License-Identifier: Apache-2.0

#include "test/e2e/kernels/SdpaCase.h"

#include <cmath>
#include <cstdio>

namespace llmc::test::sdpa {

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9e", value);
  return text;
}

std::string text(const Shape &shape) {
  auto dims = [](std::vector<int> sizes) {
    std::string result = "tensor<?";
    for (int size : sizes)
      result += "x" + std::to_string(size);
    return result + "xf32>";
  };
  std::string cache = "tensor<" + std::to_string(shape.kvHeads) + "x" +
                      std::to_string(shape.context) + "x" +
                      std::to_string(shape.headDim) + "xf32>";
  std::string flat = dims({shape.width()}),
              query = dims({shape.heads, shape.headDim});
  std::string keys = dims({shape.kvHeads, shape.headDim}),
              flatKeys = dims({shape.kvHeads * shape.headDim});
  std::string tile = shape.tile;
  if (shape.splits && tile.empty())
    tile = "workgroup = [32, 1, 1], tile = [8, 1, 4, 32, 4]";
  std::string config;
  if (!tile.empty())
    config =
        " attributes {lowering_config = #graph.lowering_config<\"sdpa\", " +
        tile + ", splits = " + std::to_string(std::max(shape.splits, 1)) + ">}";
  // Names and types of what only some attentions read.
  std::string arguments, operands, extras;
  auto addOperand = [&](std::string name, std::string type) {
    arguments +=
        ", %" + name + ": " + type + " {graph.name = \"" + name + "\"}";
    operands += ", %a" + name + " = %" + name + " : " + type;
    extras += " " + name + " %a" + name + " : " + type;
  };
  if (shape.biasHeads)
    addOperand("bias", dims({shape.biasHeads, shape.context}));
  if (shape.hasRanges)
    addOperand("ranges", "tensor<?x2xi32>");
  std::string rule = shape.causal ? " causal" : "";
  if (shape.window)
    rule += " window " + std::to_string(shape.window);
  if (shape.softCap != 0)
    rule += " soft_cap " + number(shape.softCap);
  auto append = [&](std::string name) {
    return "    %" + name + "c = graph.region (%x = %" + name + " : " +
           flatKeys + ", %p = %pos : tensor<i32>) -> (" + keys +
           ") {\n      %0 = graph.reshape %x : " + flatKeys + " -> " + keys +
           "\n      %1 = graph.kv_append @" + name + ", %0, %p : " + keys +
           " -> " + keys + "\n      graph.yield %1 : " + keys + "\n    }\n";
  };
  std::string all = keys + ", " + keys;
  return "module {\n  graph.state @k : " + cache +
         "\n  graph.state @v : " + cache + "\n  func.func @f(%q: " + flat +
         " {graph.name = \"q\"}, %k: " + flatKeys +
         " {graph.name = \"new_k\"}, %v: " + flatKeys +
         " {graph.name = \"new_v\"}, %pos: tensor<i32> {graph.name = "
         "\"position\"}" +
         arguments + ") -> (" + flat +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(shape.maxRows) + " : i64} {\n" + append("k") +
         append("v") + "    %y = graph.region (%x = %q : " + flat +
         ", %kk = %kc : " + keys + ", %vv = %vc : " + keys +
         ", %p = %pos : tensor<i32>" + operands + ") -> (" + flat + ")" +
         config + " {\n      %0 = graph.reshape %x : " + flat + " -> " + query +
         "\n      %1 = graph.sdpa %0, %kk, %vv, %p" + extras + " scale " +
         number(shape.scale()) + rule + " : " + query + ", " + all + " -> " +
         query + "\n      %2 = graph.reshape %1 : " + query + " -> " + flat +
         "\n      graph.yield %2 : " + flat +
         "\n    }\n    return %y : " + flat + "\n  }\n}\n";
}

Step makeStep(const Shape &shape, int position, int rows) {
  Numbers numbers(uint32_t(position * 64 + rows));
  Step step = {};
  step.position = position;
  step.rows = rows;
  size_t kvWidth = size_t(shape.kvHeads) * shape.headDim;
  step.q = numbers.take(size_t(rows) * shape.width());
  step.newK = numbers.take(rows * kvWidth);
  step.newV = numbers.take(rows * kvWidth);
  step.k.assign(shape.cacheElements(), NAN);
  step.v.assign(shape.cacheElements(), NAN);
  for (int head = 0; head < shape.kvHeads; ++head)
    for (int key = 0; key < position + rows; ++key)
      for (int i = 0; i < shape.headDim; ++i) {
        size_t place = (size_t(head) * shape.context + key) * shape.headDim + i;
        size_t fresh =
            size_t(key - position) * kvWidth + size_t(head) * shape.headDim + i;
        step.k[place] = key < position ? numbers.next() : step.newK[fresh];
        step.v[place] = key < position ? numbers.next() : step.newV[fresh];
      }
  step.bias = numbers.take(size_t(rows) * shape.biasHeads * shape.context);
  // Sequences of 1, 2, 3 … rows behind one another, each of which sees itself.
  for (int length = 1, first = 0; first < rows && shape.hasRanges;
       first += length++)
    for (int row = first; row < std::min(first + length, rows); ++row)
      step.ranges.insert(step.ranges.end(),
                         {position + first, position + first + length});
  return step;
}

namespace {

/// A row of a head as an i8 cache keeps it: its scale, and codes of at most
/// 127, x times 127 / max |x| in f32.
struct QuantizedRow {
  float scale = 0;
  std::vector<int8_t> codes;
};

QuantizedRow quantizeRow(const float *row, int size) {
  float largest = 0;
  for (int i = 0; i < size; ++i)
    largest = std::max(largest, std::abs(row[i]));
  QuantizedRow result;
  result.scale = largest / 127;
  const float inverse = largest == 0 ? 0 : 127 / largest;
  for (int i = 0; i < size; ++i)
    result.codes.push_back(
        static_cast<int8_t>(std::nearbyint(row[i] * inverse)));
  return result;
}

} // namespace

std::vector<uint8_t> quantizedCache(const Shape &shape,
                                    const std::vector<float> &cache) {
  std::vector<uint8_t> bytes;
  std::vector<float> scales;
  for (size_t first = 0; first < cache.size(); first += shape.headDim) {
    if (std::isnan(cache[first])) {
      bytes.insert(bytes.end(), shape.headDim, 0xff);
      scales.push_back(NAN);
      continue;
    }
    QuantizedRow row = quantizeRow(&cache[first], shape.headDim);
    bytes.insert(bytes.end(), row.codes.begin(), row.codes.end());
    scales.push_back(row.scale);
  }
  auto *begin = reinterpret_cast<const uint8_t *>(scales.data());
  bytes.insert(bytes.end(), begin, begin + 4 * scales.size());
  return bytes;
}

void keepAsCodes(const Shape &shape, std::vector<float> &cache) {
  for (size_t first = 0; first < cache.size(); first += shape.headDim) {
    if (std::isnan(cache[first]))
      continue;
    QuantizedRow row = quantizeRow(&cache[first], shape.headDim);
    for (int i = 0; i < shape.headDim; ++i)
      cache[first + size_t(i)] = row.scale * float(row.codes[size_t(i)]);
  }
}

/// The score of a key for a row and head, from the product; -infinity where the
/// key is hidden.
static double finish(const Shape &shape, const Step &step, double product,
                     int row, int head, int key) {
  double score = product * shape.scale();
  if (shape.softCap != 0)
    score = shape.softCap * std::tanh(score / shape.softCap);
  if (shape.biasHeads) {
    int biasHead = shape.biasHeads == 1 ? 0 : head;
    score +=
        step.bias[(size_t(row) * shape.biasHeads + biasHead) * shape.context +
                  key];
  }
  int last = step.position + row;
  bool isSeen = !shape.causal ||
                (key <= last && (!shape.window || key > last - shape.window));
  if (shape.hasRanges)
    isSeen &= key >= step.ranges[size_t(row) * 2] &&
              key < step.ranges[size_t(row) * 2 + 1];
  return isSeen ? score : -INFINITY;
}

std::vector<double> expected(const Shape &shape, const Step &step) {
  std::vector<double> result;
  int numKeys = step.position + step.rows;
  for (int row = 0; row < step.rows; ++row)
    for (int head = 0; head < shape.heads; ++head) {
      size_t base =
          size_t(head / shape.group()) * shape.context * shape.headDim;
      std::vector<double> weights(numKeys);
      double largest = -INFINITY, sum = 0;
      for (int key = 0; key < numKeys; ++key) {
        double product = 0;
        for (int i = 0; i < shape.headDim; ++i)
          product +=
              double(step.q[(size_t(row) * shape.heads + head) * shape.headDim +
                            i]) *
              step.k[base + size_t(key) * shape.headDim + i];
        weights[key] = finish(shape, step, product, row, head, key);
        largest = std::max(largest, weights[key]);
      }
      for (double &weight : weights)
        sum += weight = largest == -INFINITY ? 0 : std::exp(weight - largest);
      std::vector<double> out(shape.headDim);
      for (int key = 0; key < numKeys && sum > 0; ++key)
        for (int i = 0; i < shape.headDim; ++i)
          out[i] += weights[key] / sum *
                    step.v[base + size_t(key) * shape.headDim + i];
      result.insert(result.end(), out.begin(), out.end());
    }
  return result;
}

} // namespace llmc::test::sdpa
