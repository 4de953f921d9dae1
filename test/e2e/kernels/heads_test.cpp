// SPDX-License-Identifier: Apache-2.0
//
// Heads on their way to attention: per-head norms, rotary embeddings at small
// and large positions, caches.

#include "test/e2e/kernels/KernelTest.h"

#include <cstdio>

namespace llmc::test {
namespace {

struct Rotary {
  bool half = true;
  double base = 10000;
  int dim = 0;
  double positionScale = 1;
  std::vector<float> factors = {};
};

std::string tensor(std::vector<int> sizes) {
  std::string result = "tensor<?";
  for (int size : sizes)
    result += "x" + std::to_string(size);
  return result + "xf32>";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.9e", value);
  return text;
}

/// A module whose region turns `heads` heads of `headDim` elements: the norm
/// with weight @gain where `norm`, then the rotary embedding.
std::string turnText(int heads, int headDim, const Rotary &rotary, int maxRows,
                     bool norm = false) {
  std::string type = tensor({heads, headDim}),
              vector = "tensor<" + std::to_string(rotary.factors.size()) + "x";
  std::string gain = "tensor<" + std::to_string(headDim) + "x";
  bool factors = !rotary.factors.empty();
  std::string text = "module {\n";
  if (norm)
    text += "  graph.weight @gain : " + gain +
            "!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, "
            "rows = " +
            std::to_string(headDim) + ">]\n";
  if (factors)
    text += "  graph.weight @factors : " + vector +
            "!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, "
            "rows = " +
            std::to_string(rotary.factors.size()) + ">]\n";
  text += "  func.func @f(%x: " + type +
          " {graph.name = \"x\"}, %pos: tensor<i32> {graph.name = "
          "\"position\"}) -> (" +
          type + " {graph.name = \"y\"}) attributes {graph.rows = " +
          std::to_string(maxRows) + " : i64} {\n";
  if (norm)
    text +=
        "    %g = graph.load_weight @gain : " + gain + "!graph.encoded<f32>>\n";
  if (factors)
    text += "    %f = graph.load_weight @factors : " + vector +
            "!graph.encoded<f32>>\n";
  text +=
      "    %y = graph.region (%a = %x : " + type + ", %p = %pos : tensor<i32>";
  if (norm)
    text += ", %gg = %g : " + gain + "!graph.encoded<f32>>";
  if (factors)
    text += ", %ff = %f : " + vector + "!graph.encoded<f32>>";
  text += ") -> (" + type + ") {\n";
  std::string value = "%a";
  if (norm) {
    text += "      %g32 = graph.dequantize %gg : " + gain +
            "!graph.encoded<f32>> -> " + gain + "f32>\n" +
            "      %n = graph.rms_norm %a, %g32 epsilon 1.0e-6 : " + type +
            ", " + gain + "f32> -> " + type + "\n";
    value = "%n";
  }
  if (factors)
    text += "      %f32 = graph.dequantize %ff : " + vector +
            "!graph.encoded<f32>> -> " + vector + "f32>\n";
  if (rotary.dim) {
    text += "      %r = graph.rotary " + value + ", %p ";
    if (factors)
      text += "factors %f32 : " + vector + "f32> ";
    text += std::string("pairs ") + (rotary.half ? "half" : "adjacent") +
            " base " + number(rotary.base) + "  dim " +
            std::to_string(rotary.dim) +
            " {position_scale = " + number(rotary.positionScale) +
            " : f32} : " + type + " -> " + type + "\n";
    value = "%r";
  }
  return text + "      graph.yield " + value + " : " + type +
         "\n    }\n    return %y : " + type + "\n  }\n}\n";
}

/// Turns one head in place.
void turn(double *head, const Rotary &rotary, double position) {
  for (int i = 0; i < rotary.dim / 2; ++i) {
    double frequency =
        std::pow(rotary.base, -2.0 * i / rotary.dim) * rotary.positionScale;
    if (!rotary.factors.empty())
      frequency /= rotary.factors[i];
    double sine = std::sin(position * frequency),
           cosine = std::cos(position * frequency);
    double &a = head[rotary.half ? i : 2 * i],
           &b = head[rotary.half ? i + rotary.dim / 2 : 2 * i + 1];
    double turned = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = turned;
  }
}

class HeadsTest : public KernelTest {
protected:
  /// Random heads against the formula; tolerance relative to the largest
  /// element.
  void checkRotary(int heads, int headDim, const Rotary &rotary,
                   const std::vector<int> &positions, double tolerance) {
    constexpr int kRows = 3;
    auto runner = compile(turnText(heads, headDim, rotary, kRows));
    ASSERT_TRUE(runner);
    int width = padToFour(heads * headDim);
    if (!rotary.factors.empty())
      runner->write("factors", rotary.factors);
    for (int position : positions) {
      SCOPED_TRACE(position);
      std::vector<float> x = Numbers(position).take(size_t(kRows) * width);
      std::vector<double> expected(x.begin(), x.end());
      for (int row = 0; row < kRows; ++row)
        for (int head = 0; head < heads; ++head)
          turn(&expected[size_t(row) * width + size_t(head) * headDim], rotary,
               position + row);
      runner->write("x", x);
      runner->run("f", position, kRows);
      std::vector<float> y = runner->read<float>("y");
      for (int row = 0; row < kRows; ++row) // padding is not compared
        for (int i = heads * headDim; i < width; ++i)
          y[size_t(row) * width + i] = x[size_t(row) * width + i];
      expectClose(y, expected, tolerance);
    }
  }

  std::vector<float> runOnce(const std::string &text,
                             const std::vector<float> &x, int position,
                             const std::vector<float> &gain = {}) {
    auto runner = compile(text);
    if (!runner)
      return {};
    runner->write("x", x);
    if (!gain.empty())
      runner->write("gain", gain);
    runner->run("f", position, 1);
    return runner->read<float>("y");
  }
};

TEST_F(HeadsTest, rotaryPairsHalf) {
  std::vector<double> expected = {-1.69559, 0.13755, 2.78868, 3.97598,
                                  -4.80884, 6.32306, 7.08684, 8.01196};
  expectClose(
      runOnce(turnText(1, 8, {true, 10000, 8}, 1), {1, 2, 3, 4, 5, 6, 7, 8}, 3),
      expected, 1e-6);
}

TEST_F(HeadsTest, rotaryPairsAdjacent) {
  std::vector<double> expected = {-1.27223, -1.83886, 1.68393, 4.70791,
                                  4.81778,  6.14728,  6.97597, 8.02096};
  expectClose(runOnce(turnText(1, 8, {false, 10000, 8}, 1),
                      {1, 2, 3, 4, 5, 6, 7, 8}, 3),
              expected, 1e-6);
}

TEST_F(HeadsTest, partialRotaryPassesTheRestThrough_B12) {
  std::vector<double> expected = {-3.14404, 1.91961, -0.33914, 4.0392, 5,
                                  6,        7,       8,        9,      10};
  std::vector<float> y = runOnce(turnText(1, 10, {true, 10000, 4}, 1),
                                 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0}, 2);
  expectClose(y, expected, 1e-6);
  for (int i = 4; i < 10; ++i)
    EXPECT_EQ(y[i], float(i + 1));
}

TEST_F(HeadsTest, normOfAHead_B14) {
  expectClose(
      runOnce(turnText(1, 2, {}, 1, true), {3, 4, 0, 0}, 0, {2, 2, 0, 0}),
      {1.69706, 2.26274}, 3e-6);
}

TEST_F(HeadsTest, largePositions) {
  for (bool half : {true, false})
    for (double base : {10000.0, 500000.0})
      checkRotary(2, 128, {half, base, 128}, {0, 1, 2000, 32000, 131000}, 1e-6);
}

TEST_F(HeadsTest, headAndRotaryDimensions) {
  checkRotary(3, 64, {true, 10000, 32}, {0, 777}, 1e-6);
  checkRotary(3, 64, {false, 10000, 32}, {777}, 1e-6);
  checkRotary(5, 80, {true, 10000, 20}, {777}, 1e-6); // vectors of two
  checkRotary(5, 12, {true, 10000, 6}, {777}, 1e-6);  // of one
  checkRotary(3, 20, {false, 10000, 8}, {777},
              1e-6); // an odd number of vectors
  checkRotary(2, 256, {true, 10000, 256}, {777}, 1e-6);
  checkRotary(70, 8, {true, 10000, 8}, {777}, 1e-6); // several workgroups
}

TEST_F(HeadsTest, positionScaleAndFactors) {
  Rotary rotary = {true, 500000, 64, 0.25};
  checkRotary(2, 64, rotary, {3, 32000}, 1e-6);
  rotary.positionScale = 1;
  for (int i = 0; i < 32; ++i)
    rotary.factors.push_back(i < 15   ? 1.0F
                             : i < 19 ? float(i - 13) * 1.7F
                                      : 32.0F);
  // A quotient of f32 is known to 2.5 ulp: 1.5e-7 of the 32000 / 64 radians or
  // less that divided frequencies reach.
  checkRotary(2, 64, rotary, {0, 3, 2000}, 2e-6);
  checkRotary(2, 64, rotary, {32000}, 2e-5);
}

/// q, k and v out of one linear's rows, with norms and rotary on q and k, as a
/// model has them.
std::string projectionText(int heads, int kvHeads, int headDim, int context,
                           int maxRows) {
  std::string width = std::to_string((heads + 2 * kvHeads) * headDim),
              flat = "tensor<?x" + width + "xf32>";
  std::string q = tensor({heads, headDim}), k = tensor({kvHeads, headDim});
  std::string gain = "tensor<" + std::to_string(headDim) + "x",
              encoded = gain + "!graph.encoded<f32>>";
  auto cut = [&](std::string name, int offset, int count,
                 const std::string &type) {
    std::string part = "tensor<?x" + std::to_string(count * headDim) + "xf32>";
    return "      %" + name + "0 = graph.slice %a dim 1 offset " +
           std::to_string(offset * headDim) + " size " +
           std::to_string(count * headDim) + " : " + flat + " -> " + part +
           "\n      %" + name + "1 = graph.reshape %" + name + "0 : " + part +
           " -> " + type + "\n";
  };
  auto normAndTurn = [&](std::string name, const std::string &type) {
    return "      %" + name + "2 = graph.rms_norm %" + name +
           "1, %g32 epsilon 1.0e-6 : " + type + ", " + gain + "f32> -> " +
           type + "\n      %" + name + "3 = graph.rotary %" + name +
           "2, %p pairs half base 1.0e4  dim " + std::to_string(headDim) +
           " : " + type + " -> " + type + "\n";
  };
  std::string cache = "tensor<" + std::to_string(kvHeads) + "x" +
                      std::to_string(context) + "x" + std::to_string(headDim) +
                      "xf32>";
  return "module {\n  graph.state @k : " + cache +
         "\n  graph.state @v : " + cache +
         "\n  graph.weight @gain : " + encoded +
         " from [#graph.source<file = 0, offset = 0, rows = " +
         std::to_string(headDim) + ">]\n  func.func @f(%x: " + flat +
         " {graph.name = \"x\"}, %pos: tensor<i32> {graph.name = "
         "\"position\"}) -> (" +
         q + " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %g = graph.load_weight @gain : " + encoded +
         "\n    %y:3 = graph.region (%a = %x : " + flat +
         ", %p = %pos : tensor<i32>, %gg = %g : " + encoded + ") -> (" + q +
         ", " + k + ", " + k +
         ") {\n      %g32 = graph.dequantize %gg : " + encoded + " -> " + gain +
         "f32>\n" + cut("q", 0, heads, q) + cut("k", heads, kvHeads, k) +
         cut("v", heads + kvHeads, kvHeads, k) + normAndTurn("q", q) +
         normAndTurn("k", k) +
         "      %kc = graph.kv_append @k, %k3, %p : " + k + " -> " + k +
         "\n      %vc = graph.kv_append @v, %v1, %p : " + k + " -> " + k +
         "\n      graph.yield %q3, %kc, %vc : " + q + ", " + k + ", " + k +
         "\n    }\n    return %y#0 : " + q + "\n  }\n}\n";
}

struct Projection {
  int heads = 4, kvHeads = 2, headDim = 64, context = 40, maxRows = 8;
  int width() const { return (heads + 2 * kvHeads) * headDim; }
  std::string text() const {
    return projectionText(heads, kvHeads, headDim, context, maxRows);
  }
};

/// The head as the region gives it: normed and turned where `turned`.
std::vector<double> expectedHead(const float *x, const std::vector<float> &gain,
                                 int position, bool turned) {
  std::vector<double> head(x, x + gain.size());
  if (!turned)
    return head;
  double squares = 0;
  for (double value : head)
    squares += value * value;
  for (size_t i = 0; i < head.size(); ++i)
    head[i] *= gain[i] / std::sqrt(squares / double(head.size()) + 1e-6);
  turn(head.data(), {true, 10000, int(head.size())}, position);
  return head;
}

class ProjectionTest : public HeadsTest {
protected:
  /// Runs 5 of 8 rows at position 33 of 40 and compares queries and both
  /// caches, unwritten places included.
  void check(const std::string &cacheType,
             const std::string &target = "lavapipe", int headDim = 64) {
    Projection projection;
    projection.headDim = headDim;
    auto runner = compile(projection.text(), {target, cacheType});
    ASSERT_TRUE(runner);
    constexpr int kPosition = 33, kRows = 5;
    Numbers numbers(1);
    std::vector<float> x =
        numbers.take(size_t(projection.maxRows) * projection.width());
    std::vector<float> gain = numbers.take(projection.headDim);
    runner->write("x", x);
    runner->write("gain", gain);
    runner->run("f", kPosition, kRows);
    auto rowHead = [&](int row, int head) {
      return &x[size_t(row) * projection.width() +
                size_t(head) * projection.headDim];
    };

    std::vector<double> queries;
    for (int row = 0; row < kRows; ++row)
      for (int head = 0; head < projection.heads; ++head) {
        std::vector<double> one =
            expectedHead(rowHead(row, head), gain, kPosition + row, true);
        queries.insert(queries.end(), one.begin(), one.end());
      }
    expectClose(runner->read<float>("y"), queries, 2e-6);
    // Half a step of 127, and what the numbers themselves are off by.
    const double tolerance = cacheType == "f32"   ? 2e-6
                             : cacheType == "f16" ? 5e-4
                                                  : 0.5 / 127 + 1e-5;
    for (bool isKey : {true, false}) {
      std::vector<float> cache =
          readCache(*runner, isKey ? "k" : "v", cacheType, headDim);
      for (int head = 0; head < projection.kvHeads; ++head)
        for (int position = 0; position < projection.context; ++position) {
          float *place = &cache[(size_t(head) * projection.context + position) *
                                projection.headDim];
          std::vector<float> found(place, place + projection.headDim);
          int row = position - kPosition;
          if (row < 0 || row >= kRows) {
            ASSERT_TRUE(
                std::all_of(found.begin(), found.end(),
                            [](float number) { return std::isnan(number); }))
                << "position " << position << " was written";
            continue;
          }
          int source =
              projection.heads + (isKey ? 0 : projection.kvHeads) + head;
          expectClose(found,
                      expectedHead(rowHead(row, source), gain, position, isKey),
                      tolerance);
        }
    }
  }

  /// Codes times the scales behind them; NaN where there is no scale.
  static std::vector<float> readCodes(ProgramRunner &runner,
                                      const std::string &name, int headDim) {
    std::vector<int8_t> codes = runner.read<int8_t>(name);
    std::vector<float> words = runner.read<float>(name);
    size_t numRows = codes.size() / size_t(headDim + 4);
    const float *scales = words.data() + words.size() - numRows;
    std::vector<float> result;
    for (size_t i = 0; i < numRows * size_t(headDim); ++i)
      result.push_back(float(codes[i]) * scales[i / size_t(headDim)]);
    return result;
  }

  static std::vector<float> readCache(ProgramRunner &runner,
                                      const std::string &name,
                                      const std::string &cacheType,
                                      int headDim) {
    if (cacheType == "f32")
      return runner.read<float>(name);
    if (cacheType == "i8")
      return readCodes(runner, name, headDim);
    std::vector<float> result;
    for (uint16_t bits : runner.read<uint16_t>(name))
      result.push_back((bits & 0x7fff) > 0x7c00 ? NAN : fromHalf(bits));
    return result;
  }
};

TEST_F(ProjectionTest, appendsOnlyTheRowsOfTheStep) { check("f32"); }
TEST_F(ProjectionTest, halfPrecisionCaches) { check("f16"); }
TEST_F(ProjectionTest, cachesOfCodes) {
  for (int headDim : {64, 80, 256})
    check("i8", "lavapipe", headDim);
}
// Vectors of two elements.
TEST_F(ProjectionTest, kernelsOfATargetOfFewRegisters) {
  check("f16", "mali-g76");
  for (int headDim : {64, 80, 256})
    check("i8", "mali-g76", headDim);
}

// Codes and scales as the formula says: halves go to the even code, a row of
// zeros has scale 0, and rows of any size are scaled.
TEST_F(HeadsTest, codesOfACache) {
  const std::string type = "tensor<?x1x8xf32>";
  auto runner =
      compile("module {\n  graph.state @k : tensor<1x8x8xf32>\n"
              "  func.func @f(%x: " +
                  type +
                  " {graph.name = \"x\"}, %p: tensor<i32> "
                  "{graph.name = \"position\"}) attributes "
                  "{graph.rows = 4 : i64} {\n"
                  "    %y = graph.region (%a = %x : " +
                  type + ", %q = %p : tensor<i32>) -> (" + type +
                  ") {\n      %0 = graph.kv_append @k, %a, %q : " + type +
                  " -> " + type + "\n      graph.yield %0 : " + type +
                  "\n    }\n    return\n  }\n}\n",
              {"lavapipe", "i8"});
  ASSERT_TRUE(runner);
  runner->write(
      "x", std::vector<float>{
               127,      0.5,    1.5,      -2.5,  -127, 2.5, -0.5, 0, // scale 1
               0,        0,      0,        0,     0,    0,   0,    0, //
               1e30F,    -1e30F, 6e29F,    1e20F, 0,    0,   0,    0,
               2.54e-5F, 8e-8F,  -1.5e-7F, 0,     0,    0,   0,    0});
  runner->run("f", /*position=*/2, 4);
  std::vector<int8_t> codes = runner->read<int8_t>("k");
  const std::vector<int8_t> wanted = {127, 0,    2,  -2, -127, 2, 0, 0, //
                                      0,   0,    0,  0,  0,    0, 0, 0, //
                                      127, -127, 76, 0,  0,    0, 0, 0,
                                      127, 0,    -1, 0,  0,    0, 0, 0};
  EXPECT_EQ(std::vector<int8_t>(codes.begin() + 16, codes.begin() + 48),
            wanted);
  std::vector<float> words = runner->read<float>("k");
  ASSERT_EQ(words.size(), 24u);
  const float *scales = &words[16];
  EXPECT_TRUE(std::isnan(scales[1]));
  EXPECT_EQ(scales[2], 1);
  EXPECT_EQ(scales[3], 0);
  EXPECT_FLOAT_EQ(scales[4], 1e30F / 127);
  EXPECT_FLOAT_EQ(scales[5], 2e-7F);
  EXPECT_TRUE(std::isnan(scales[6]));
}

// The runtime never asks for it; the kernel holds all the same.
TEST_F(ProjectionTest, nothingIsWrittenBeyondTheContext) {
  Projection projection;
  auto runner = compile(projection.text());
  ASSERT_TRUE(runner);
  runner->write(
      "x", Numbers(1).take(size_t(projection.maxRows) * projection.width()));
  runner->write("gain", Numbers(2).take(projection.headDim));
  runner->run("f", projection.context - 2, 8);
  std::vector<float> cache = runner->read<float>("v");
  int tail = (projection.context - 2) * projection.headDim,
      size = projection.context * projection.headDim;
  for (int i = 0; i < 2 * size; ++i)
    ASSERT_EQ(std::isnan(cache[i]), i % size < tail) << i;
}

// Texts behind one another: each row says where it stands in its own.
TEST_F(HeadsTest, positionsOfRows) {
  auto runner = compile(R"mlir(
module {
  func.func @f(%x: tensor<?x2x8xf32> {graph.name = "x"}, %p: tensor<?xi32> {graph.name = "positions"})
      -> (tensor<?x2x8xf32> {graph.name = "y"}) attributes {graph.rows = 8 : i64} {
    %y = graph.region (%a = %x : tensor<?x2x8xf32>, %q = %p : tensor<?xi32>) -> (tensor<?x2x8xf32>) {
      %0 = graph.rotary %a positions %q : tensor<?xi32> pairs half base 1.0e4 dim 8
          : tensor<?x2x8xf32> -> tensor<?x2x8xf32>
      graph.yield %0 : tensor<?x2x8xf32>
    }
    return %y : tensor<?x2x8xf32>
  }
}
)mlir");
  ASSERT_TRUE(runner);
  const std::vector<int32_t> positions = {0, 1, 2, 0, 5000};
  std::vector<float> x = Numbers(1).take(positions.size() * 16);
  Rotary rotary;
  rotary.dim = 8;
  std::vector<double> expected(x.begin(), x.end());
  for (size_t row = 0; row < positions.size(); ++row)
    for (int head = 0; head < 2; ++head)
      turn(&expected[row * 16 + size_t(head) * 8], rotary, positions[row]);
  runner->write("x", x);
  runner->write("positions", positions);
  runner->run("f", /*position=*/77, int(positions.size()));
  expectClose(runner->read<float>("y"), expected, 1e-6);
}

} // namespace
} // namespace llmc::test
