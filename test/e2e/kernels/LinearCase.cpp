// SPDX-License-Identifier: Apache-2.0
//
// LinearCase.h: modules as text, and what they compute.

#include "test/e2e/kernels/LinearCase.h"

#include "llvm/Support/raw_ostream.h"

namespace llmc::test {

std::vector<float> padRows(const std::vector<float> &x, int columns) {
  int width = padToFour(columns), rows = static_cast<int>(x.size()) / columns;
  std::vector<float> padded(size_t(rows) * width, 0.0F);
  for (int row = 0; row < rows; ++row)
    std::copy_n(&x[size_t(row) * columns], columns,
                &padded[size_t(row) * width]);
  return padded;
}

std::vector<double> multiply(const std::vector<float> &x,
                             const TestWeight &weight) {
  size_t rows = x.size() / weight.columns;
  std::vector<double> y;
  for (size_t row = 0; row < rows; ++row)
    for (int n = 0; n < weight.rows; ++n) {
      double sum = 0;
      for (int k = 0; k < weight.columns; ++k)
        sum += double(x[row * weight.columns + k]) *
               weight.values[size_t(n) * weight.columns + k];
      y.push_back(sum);
    }
  return y;
}

static std::string header(const TestWeight &weight) {
  return "module {\n" + declare("w", encoded(weight), weight.rows) +
         declare("v", encoded(weight), weight.rows) +
         declare("bias", encodedVector(weight.rows), weight.rows) +
         declare("gain", encodedVector(weight.columns), weight.columns);
}

std::string linearText(const TestWeight &weight, int maxRows) {
  std::string x = activations(weight.columns), y = activations(weight.rows),
              w = encoded(weight);
  return header(weight) + "  func.func @f(%x: " + x +
         " {graph.name = \"x\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %w = graph.load_weight @w : " + w +
         "\n    %y = graph.region (%a = %x : " + x + ", %b = %w : " + w +
         ") -> (" + y + ") {\n      %0 = graph.quantized_linear %a, %b : " + x +
         ", " + w + " -> " + y + "\n      graph.yield %0 : " + y +
         "\n    }\n    return %y : " + y + "\n  }\n}\n";
}

std::string epilogueText(const TestWeight &weight, int maxRows) {
  std::string x = activations(weight.columns), y = activations(weight.rows),
              w = encoded(weight);
  std::string b = encodedVector(weight.rows),
              bias = "tensor<" + std::to_string(weight.rows) + "xf32>";
  return header(weight) + "  func.func @f(%x: " + x +
         " {graph.name = \"x\"}, %r: " + y +
         " {graph.name = \"residual\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %w = graph.load_weight @w : " + w +
         "\n    %bias = graph.load_weight @bias : " + b +
         "\n    %y = graph.region (%a = %x : " + x + ", %b = %w : " + w +
         ", %c = %bias : " + b + ", %d = %r : " + y + ") -> (" + y +
         ") {\n      %0 = graph.quantized_linear %a, %b : " + x + ", " + w +
         " -> " + y + "\n      %1 = graph.dequantize %c : " + b + " -> " +
         bias + "\n      %2 = graph.add %0, %1 : " + y + ", " + bias + " -> " +
         y + "\n      %3 = graph.add %d, %2 : " + y + ", " + y + " -> " + y +
         "\n      graph.yield %3 : " + y + "\n    }\n    return %y : " + y +
         "\n  }\n}\n";
}

/// y = silu(n W^T) * (n V^T), n = rms_norm of x (with the norm) or x.
static std::string gateText(const TestWeight &weight, int maxRows,
                            bool hasNorm) {
  std::string x = activations(weight.columns), y = activations(weight.rows),
              w = encoded(weight);
  std::string g = encodedVector(weight.columns),
              gain = "tensor<" + std::to_string(weight.columns) + "xf32>";
  std::string norm =
      hasNorm ? "      %g = graph.dequantize %c : " + g + " -> " + gain +
                    "\n      %n = graph.rms_norm %a, %g epsilon 1.0e-5 : " + x +
                    ", " + gain + " -> " + x + "\n"
              : "";
  std::string input = hasNorm ? "%n" : "%a";
  return header(weight) + "  func.func @f(%x: " + x +
         " {graph.name = \"x\"}) -> (" + y +
         " {graph.name = \"y\"}) attributes {graph.rows = " +
         std::to_string(maxRows) +
         " : i64} {\n    %w = graph.load_weight @w : " + w +
         "\n    %v = graph.load_weight @v : " + w +
         "\n    %gain = graph.load_weight @gain : " + g +
         "\n    %y = graph.region (%a = %x : " + x + ", %b = %w : " + w +
         ", %e = %v : " + w + ", %c = %gain : " + g + ") -> (" + y + ") {\n" +
         norm + "      %0 = graph.quantized_linear " + input + ", %b : " + x +
         ", " + w + " -> " + y + "\n      %1 = graph.quantized_linear " +
         input + ", %e : " + x + ", " + w + " -> " + y +
         "\n      %2 = graph.silu %0 : " + y +
         "\n      %3 = graph.mul %2, %1 : " + y + ", " + y + " -> " + y +
         "\n      graph.yield %3 : " + y + "\n    }\n    return %y : " + y +
         "\n  }\n}\n";
}

std::string configuredText(std::string text, const std::string &config) {
  return text.insert(text.find("{\n", text.find("graph.region")),
                     "attributes {lowering_config = #graph.lowering_config<" +
                         config + ">} ");
}

static std::string configOf(const codegen::LinearTile &tile,
                            const std::string &choices, int64_t staged) {
  std::string config;
  llvm::raw_string_ostream(config)
      << "\"" << (tile.isGemv ? "gemv" : "gemm") << "\", workgroup = ["
      << tile.workgroup[0] << ", " << tile.workgroup[1] << ", 1], tile = ["
      << tile.rows << ", " << tile.columns << ", " << tile.kStep;
  for (int64_t size : {staged, tile.tileWorkgroups})
    if (staged + tile.tileWorkgroups != 0)
      llvm::raw_string_ostream(config) << ", " << size;
  llvm::raw_string_ostream(config) << "]" << choices;
  return config;
}

std::string tiledText(const std::string &text, const codegen::LinearTile &tile,
                      const std::string &choices, int64_t staged) {
  return configuredText(text, configOf(tile, choices, staged));
}

std::unique_ptr<ProgramRunner>
LinearTest::compileFor(const std::string &target, const std::string &text,
                       const std::string &config) {
  ProgramRunner::Options options;
  options.target = target;
  return compile(config.empty() ? text : configuredText(text, config), options);
}

void LinearTest::checkLinear(const TestWeight &weight, int maxRows, int rows,
                             double tolerance, const std::string &target,
                             float size, const std::string &config) {
  SCOPED_TRACE(
      target + " " + weight.encoding + " " + std::to_string(weight.rows) + "x" +
      std::to_string(weight.columns) + " rows " + std::to_string(rows) +
      " of " + std::to_string(maxRows) + " " + config);
  auto runner = compileFor(target, linearText(weight, maxRows), config);
  ASSERT_TRUE(runner);
  writeWeight(*runner, "w", weight);
  std::vector<float> x = Numbers(7).take(size_t(rows) * weight.columns);
  for (float &number : x)
    number *= size;
  runner->write("x", padRows(x, weight.columns));
  runner->run("f", 0, rows);
  expectClose(unpadRows(runner->read<float>("y"), rows, weight.rows),
              multiply(x, weight), tolerance);
}

void LinearTest::checkEpilogue(const TestWeight &weight, int rows,
                               double tolerance, const std::string &target,
                               const std::string &config) {
  SCOPED_TRACE(target + " " + weight.encoding + " " +
               std::to_string(weight.rows) + " outputs, rows " +
               std::to_string(rows) + " " + config);
  auto runner = compileFor(target, epilogueText(weight, rows), config);
  ASSERT_TRUE(runner);
  const int outputs = weight.rows;
  std::vector<float> x = Numbers(1).take(size_t(rows) * weight.columns),
                     bias = Numbers(2).take(outputs),
                     residual = Numbers(3).take(size_t(rows) * outputs);
  writeWeight(*runner, "w", weight);
  runner->write("x", padRows(x, weight.columns));
  runner->write("bias", padRows(bias, outputs));
  runner->write("residual", padRows(residual, outputs));
  runner->run("f", 0, rows);
  std::vector<double> expected = multiply(x, weight);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += double(bias[i % outputs]) + residual[i];
  expectClose(unpadRows(runner->read<float>("y"), rows, outputs), expected,
              tolerance);
}

static void normalize(std::vector<float> &x, const std::vector<float> &gain) {
  size_t columns = gain.size();
  for (size_t row = 0; row < x.size(); row += columns) {
    double squares = 0;
    for (size_t k = 0; k < columns; ++k)
      squares += double(x[row + k]) * x[row + k];
    double root = std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (size_t k = 0; k < columns; ++k)
      x[row + k] = static_cast<float>(x[row + k] * double(gain[k]) / root);
  }
}

void GateTest::checkConfig(const char *encoding, int rows, double tolerance,
                           const std::string &target, const std::string &config,
                           Shape shape) {
  SCOPED_TRACE(target + " " + encoding + " rows " + std::to_string(rows) + " " +
               config);
  TestWeight gate =
                 makeRandomWeight(encoding, shape.outputs, shape.columns, 12),
             up = makeRandomWeight(encoding, shape.outputs, shape.columns, 13);
  bool hasNorm = rows <= 8;
  auto runner = compileFor(target, gateText(gate, rows, hasNorm), config);
  ASSERT_TRUE(runner);
  std::vector<float> x = Numbers(4).take(size_t(rows) * shape.columns),
                     gain = Numbers(5).take(shape.columns);
  writeWeight(*runner, "w", gate);
  writeWeight(*runner, "v", up);
  runner->write("x", x);
  if (hasNorm)
    runner->write("gain", gain);
  runner->run("f", 0, rows);
  if (hasNorm)
    normalize(x, gain);
  std::vector<double> expected = multiply(x, gate), other = multiply(x, up);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = expected[i] / (1 + std::exp(-expected[i])) * other[i];
  expectClose(unpadRows(runner->read<float>("y"), rows, shape.outputs),
              expected, tolerance);
}

void GateTest::check(const char *encoding, int rows, double tolerance,
                     const std::string &target, const codegen::LinearTile *tile,
                     const std::string &choices, int64_t staged) {
  checkConfig(encoding, rows, tolerance, target,
              tile ? configOf(*tile, choices, staged) : "", {});
}

} // namespace llmc::test
