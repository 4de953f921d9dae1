// SPDX-License-Identifier: Apache-2.0
//
// A small graph with its weights, compiled, loaded and run.

#ifndef LLMC_TEST_E2E_COMPILED_GRAPHFILE_H
#define LLMC_TEST_E2E_COMPILED_GRAPHFILE_H

#include "test/e2e/compiled/EndToEnd.h"

#include <map>
#include <utility>

namespace llmc::test {

/// Weights in the order they are added, and functions as text.
class GraphFile {
public:
  /// A weight of |columns| > 0 is a matrix, otherwise a vector; |bytes| is
  /// what a GGUF file would hold for |encoding| ("f32", "q4_0", …).
  void addWeight(const std::string &name, uint64_t rows, uint64_t columns,
                 const std::string &encoding, const std::string &bytes);
  void addWeight(const std::string &name, uint64_t rows, uint64_t columns,
                 const std::vector<float> &numbers);
  /// MLIR of functions and states.
  void addText(const std::string &mlir) { text += mlir; }

  /// @|function|(x: [rows, inputs]) -> y: [rows, outputs], y = x·Wᵀ (+ b).
  /// |rows| "?": any number. |bias| empty: none.
  void addLinear(const std::string &function, const std::string &rows,
                 uint64_t inputs, uint64_t outputs, const std::string &weight,
                 const std::string &encoding, const std::string &bias = "");

  /// Writes model.mlir and weights.bin into |folder|; gives the former's path.
  std::string write(const TemporaryFolder &folder) const;

private:
  std::string text;
  std::string weights;
};

using Inputs = std::map<std::string, std::vector<float>>;

/// A session of any module.
class GraphRunner {
public:
  static StatusOr<GraphRunner> open(const std::string &path);

  /// Runs |rows| rows of |function|; gives the rows of the output "y", of
  /// |width| numbers each. |tokens|: an input of that name, if there is one.
  StatusOr<std::vector<float>> run(const std::string &function, uint64_t rows,
                                   const Inputs &inputs, size_t width,
                                   int32_t position = 0,
                                   const std::vector<int32_t> &tokens = {});

private:
  explicit GraphRunner(std::unique_ptr<runtime::Session> session)
      : session(std::move(session)) {}
  std::unique_ptr<runtime::Session> session;
};

/// Compiles |graph| for lavapipe, to graph.llmc, and opens it. |limits|: of
/// lavapipe, to be lower than they are. |activations| as for compile.
StatusOr<GraphRunner>
compileAndOpen(const GraphFile &graph, const TemporaryFolder &folder,
               const std::vector<std::string> &limits = {},
               const std::string &activations = "");

/// The bytes of a plain struct or number, as a little-endian file holds them.
template <typename T>
std::string bytesOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof(T)};
}

} // namespace llmc::test

#endif // LLMC_TEST_E2E_COMPILED_GRAPHFILE_H
