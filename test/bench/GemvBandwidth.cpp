// SPDX-License-Identifier: Apache-2.0
//
// How fast GEMVs stream their weights, beside a copy, for `bandwidth`: a
// program that compiles both for a target, runs them on the machine's Vulkan
// device and tells as JSON what they took by the device's clock.
//
// A linear is run on so many weights of one shape that no cache holds them,
// each behind a barrier, as decoding runs it. Codes and scales are whatever the
// buffers hold: no device's time depends on them.

#include "test/e2e/kernels/LinearText.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace llmc::test {
namespace {

constexpr int kRepeats = 10;
constexpr std::chrono::milliseconds kWarmUp{400};
constexpr int kCopiedColumns = 4096;
/// Weights of a linear at most, for shapes so small that more would take long
/// to compile.
constexpr size_t kMostWeights = 200;

struct Arguments {
  std::string target;
  /// Of a copy, and of the weights of a linear together.
  size_t bytes;
};

struct Shape {
  std::string encoding;
  int outputs, columns;
};

std::string module(const std::string &weights, const std::string &rows,
                   const std::string &x, const std::string &results,
                   const std::string &body) {
  return "module {\n" + weights + "  func.func @f(%x: " + x +
         " {graph.name = \"x\"}) -> (" + results +
         ") attributes {graph.rows = " + rows + " : i64} {\n" + body +
         "  }\n}\n";
}

/// The least seconds of several runs, after some that end a GPU's rest: between
/// linears it waits for their compilation, and lowers its clock.
double leastSeconds(ProgramRunner &runner, int rows) {
  using Clock = std::chrono::steady_clock;
  for (auto end = Clock::now() + kWarmUp; Clock::now() < end;)
    runner.run("f", 0, rows);
  double least = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    least = std::min(least, runner.run("f", 0, rows));
  return least;
}

nlohmann::json figures(double seconds, size_t bytes) {
  return {
      {"microseconds", seconds * 1e6},
      {"gigabytes_per_second", static_cast<double>(bytes) / seconds * 1e-9}};
}

std::unique_ptr<ProgramRunner> compile(const Arguments &arguments,
                                       const std::string &text) {
  ProgramRunner::Options options;
  options.target = arguments.target;
  return ProgramRunner::compile(*ProgramRunner::sharedDevice(), text, options);
}

/// Reads as many bytes as it writes: y = x + x.
bool measureCopy(const Arguments &arguments, nlohmann::json &report) {
  auto rows = static_cast<int>(arguments.bytes / (4 * kCopiedColumns));
  std::string x = activations(kCopiedColumns);
  auto runner =
      compile(arguments,
              module("", std::to_string(rows), x, x + " {graph.name = \"y\"}",
                     "    %y = graph.region (%a = %x : " + x + ") -> (" + x +
                         ") {\n      %0 = graph.add %a, %a : " + x + ", " + x +
                         " -> " + x + "\n      graph.yield %0 : " + x +
                         "\n    }\n    return %y : " + x + "\n"));
  if (!runner)
    return false;
  report["copy"] = figures(leastSeconds(*runner, rows),
                           runner->bytesOf("x") + runner->bytesOf("y"));
  return true;
}

/// A linear for each weight, all on one input.
std::string linears(const Shape &shape, size_t count) {
  std::string x = activations(shape.columns), y = activations(shape.outputs);
  TestWeight type;
  type.encoding = shape.encoding;
  type.rows = shape.outputs;
  type.columns = shape.columns;
  std::string w = encoded(type), weights, body, results, names, types;
  for (size_t i = 0; i < count; ++i) {
    std::string number = std::to_string(i), comma = i ? ", " : "";
    weights += declare("w" + number, w, shape.outputs);
    body += "    %w" + number + " = graph.load_weight @w" + number + " : " + w +
            "\n    %y" + number + " = graph.region (%a = %x : " + x +
            ", %b = %w" + number + " : " + w + ") -> (" + y +
            ") {\n      %0 = graph.quantized_linear %a, %b : " + x + ", " + w +
            " -> " + y + "\n      graph.yield %0 : " + y + "\n    }\n";
    results += comma + y + " {graph.name = \"y" + number + "\"}";
    names += comma + "%y" + number;
    types += comma + y;
  }
  return module(weights, "1", x, results,
                body + "    return " + names + " : " + types + "\n");
}

bool measureGemv(const Arguments &arguments, const Shape &shape,
                 nlohmann::json &report) {
  auto one = compile(arguments, linears(shape, 1));
  if (!one)
    return false;
  size_t bytes = one->bytesOf("w0");
  one.reset();
  size_t count =
      std::clamp<size_t>(arguments.bytes / bytes + 1, 2, kMostWeights);
  auto runner = compile(arguments, linears(shape, count));
  if (!runner)
    return false;
  nlohmann::json found =
      figures(leastSeconds(*runner, 1) / static_cast<double>(count), bytes);
  found["of_copy"] = found["gigabytes_per_second"].get<double>() /
                     report["copy"]["gigabytes_per_second"].get<double>();
  found["encoding"] = shape.encoding;
  found["rows"] = shape.outputs;
  found["columns"] = shape.columns;
  report["gemv"].push_back(found);
  return true;
}

/// ENCODING:ROWSxCOLUMNS
bool parseShape(const char *text, Shape &shape) {
  const char *colon = std::strchr(text, ':');
  if (!colon ||
      std::sscanf(colon + 1, "%dx%d", &shape.outputs, &shape.columns) != 2)
    return false;
  shape.encoding.assign(text, colon);
  return shape.outputs > 0 && shape.columns > 0;
}

int run(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: GemvBandwidth TARGET MIB ENCODING:ROWSxCOLUMNS"
                         "...\n");
    return 2;
  }
  Arguments arguments = {argv[1], size_t(std::atoi(argv[2])) << 20};
  if (arguments.bytes == 0) {
    std::fprintf(stderr, "GemvBandwidth: MIB is '%s', allowed is 1 and more\n",
                 argv[2]);
    return 2;
  }
  if (!ProgramRunner::sharedDevice()) {
    std::fprintf(stderr, "GemvBandwidth: this machine has no Vulkan device\n");
    return 77;
  }
  nlohmann::json report = {{"device", ProgramRunner::sharedDevice()->name()},
                           {"target", arguments.target},
                           {"gemv", nlohmann::json::array()}};
  bool isDone = measureCopy(arguments, report);
  for (int i = 3; isDone && i < argc; ++i) {
    Shape shape;
    if (!parseShape(argv[i], shape)) {
      std::fprintf(stderr, "GemvBandwidth: '%s' is no ENCODING:ROWSxCOLUMNS\n",
                   argv[i]);
      return 2;
    }
    isDone = measureGemv(arguments, shape, report);
  }
  std::printf("%s\n", report.dump(2).c_str());
  return isDone ? 0 : 1;
}

} // namespace
} // namespace llmc::test

int main(int argc, char **argv) { return llmc::test::run(argc, argv); }
