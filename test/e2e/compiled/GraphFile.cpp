// SPDX-License-Identifier: Apache-2.0
//
// GraphFile.h.

#include "test/e2e/compiled/GraphFile.h"

namespace llmc::test {

namespace {

std::string matrixType(const std::string &rows, uint64_t columns,
                       const std::string &element) {
  return "tensor<" + rows + "x" + std::to_string(columns) + "x" + element + ">";
}

std::string vectorType(uint64_t size, const std::string &element) {
  return "tensor<" + std::to_string(size) + "x" + element + ">";
}

std::string encoded(const std::string &encoding) {
  return "!graph.encoded<" + encoding + ">";
}

} // namespace

void GraphFile::addWeight(const std::string &name, uint64_t rows,
                          uint64_t columns, const std::string &encoding,
                          const std::string &bytes) {
  weights.resize((weights.size() + 31) / 32 * 32);
  const std::string type =
      columns ? matrixType(std::to_string(rows), columns, encoded(encoding))
              : vectorType(rows, encoded(encoding));
  text += "graph.weight @" + name + " : " + type +
          " from [#graph.source<file = 0, offset = " +
          std::to_string(weights.size()) + ", rows = " + std::to_string(rows) +
          ">]\n";
  weights += bytes;
}

void GraphFile::addWeight(const std::string &name, uint64_t rows,
                          uint64_t columns, const std::vector<float> &numbers) {
  addWeight(name, rows, columns, "f32",
            {reinterpret_cast<const char *>(numbers.data()),
             numbers.size() * sizeof(float)});
}

void GraphFile::addLinear(const std::string &function, const std::string &rows,
                          uint64_t inputs, uint64_t outputs,
                          const std::string &weight,
                          const std::string &encoding,
                          const std::string &bias) {
  const std::string in = matrixType(rows, inputs, "f32");
  const std::string out = matrixType(rows, outputs, "f32");
  const std::string stored =
      matrixType(std::to_string(outputs), inputs, encoded(encoding));
  const std::string decoded =
      matrixType(std::to_string(outputs), inputs, "f32");
  text += "func.func @" + function + "(%x: " + in +
          " {graph.name = \"x\"}) -> (" + out + " {graph.name = \"y\"}) {\n" +
          "%e = graph.load_weight @" + weight + " : " + stored + "\n" +
          "%w = graph.dequantize %e : " + stored + " -> " + decoded + "\n" +
          "%y = graph.matmul %x, %w transpose_rhs : " + in + ", " + decoded +
          " -> " + out + "\n";
  if (bias.empty()) {
    text += "return %y : " + out + "\n}\n";
    return;
  }
  const std::string storedBias = vectorType(outputs, encoded("f32"));
  const std::string biasType = vectorType(outputs, "f32");
  text += "%c = graph.load_weight @" + bias + " : " + storedBias + "\n" +
          "%b = graph.dequantize %c : " + storedBias + " -> " + biasType +
          "\n%z = graph.add %y, %b : " + out + ", " + biasType + " -> " + out +
          "\nreturn %z : " + out + "\n}\n";
}

std::string GraphFile::write(const TemporaryFolder &folder) const {
  writeFile(folder.file("weights.bin"), weights);
  const std::string path = folder.file("model.mlir");
  writeFile(path, "module attributes {graph.files = [\"weights.bin\"]} {\n" +
                      text + "}\n");
  return path;
}

StatusOr<GraphRunner> GraphRunner::open(const std::string &path) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module, load(path));
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Session> session,
                        runtime::Session::create(std::move(module), {}));
  return GraphRunner(std::move(session));
}

StatusOr<std::vector<float>>
GraphRunner::run(const std::string &function, uint64_t rows,
                 const Inputs &inputs, size_t width, int32_t position,
                 const std::vector<int32_t> &tokens) {
  std::vector<runtime::NamedInput> given;
  for (const auto &[name, numbers] : inputs)
    given.push_back({name, numbers.data(), rows});
  if (!tokens.empty())
    given.push_back({"tokens", tokens.data(), rows});
  std::vector<float> result(rows * width);
  runtime::StepWords words;
  words.position = position;
  words.rows = static_cast<int32_t>(rows);
  LLMC_RETURN_IF_ERROR(session->runFunction(function, words, given,
                                            {{"y", result.data(), rows}}));
  return result;
}

StatusOr<GraphRunner> compileAndOpen(const GraphFile &graph,
                                     const TemporaryFolder &folder,
                                     const std::vector<std::string> &limits,
                                     const std::string &activations) {
  const std::string file = folder.file("graph.llmc");
  LLMC_RETURN_IF_ERROR(compile(graph.write(folder), file, {"lavapipe"},
                               /*maxContext=*/0, limits, activations));
  return GraphRunner::open(file);
}

} // namespace llmc::test
