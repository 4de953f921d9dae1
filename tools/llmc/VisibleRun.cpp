// SPDX-License-Identifier: Apache-2.0
//
// VisibleRun.h.

#include "tools/llmc/VisibleRun.h"

#include "tools/llmc/Summary.h"

#include "compiler/Driver/Driver.h"
#include "compiler/Driver/RecordedOptions.h"
#include "dialects/Graph/Encoding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <unistd.h>

namespace llmc::tool {

double relativeError(const std::vector<double> &found,
                     const std::vector<double> &wanted) {
  double difference = 0, most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(found[i]))
      return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(found[i] - wanted[i]));
    most = std::max(most, std::abs(wanted[i]));
  }
  return difference == 0 ? 0 : difference / most;
}

int64_t bucketFor(const runtime::Module &module, const std::string &function,
                  int64_t rows) {
  int64_t fitting = 0, most = 0;
  for (const format::Entry &entry : module.variant().entries()) {
    if (entry.function() != function)
      continue;
    most = std::max<int64_t>(most, entry.rows());
    if (entry.rows() >= rows && (fitting == 0 || entry.rows() < fitting))
      fitting = entry.rows();
  }
  return fitting != 0 ? fitting : most;
}

namespace {

/// A file that is removed in the end.
class TemporaryFile {
public:
  TemporaryFile()
      : path((std::filesystem::temp_directory_path() /
              ("llmc-verify-" + std::to_string(::getpid()) + ".llmc"))
                 .string()) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  const std::string path;
};

/// The file has the kernels and the weights that the model gives today.
Status compareContents(const VerifyRequest &request,
                       const runtime::Module &file,
                       const runtime::Module &visible) {
  auto codeOf = [](const runtime::Module &module) {
    std::set<uint64_t> code;
    for (const format::Kernel &kernel : module.variant().kernels())
      code.insert(codeChecksum(module.reader(), kernel));
    return code;
  };
  auto weightsOf = [](const runtime::Module &module) {
    std::map<std::string, uint64_t> weights;
    for (const format::Section &section : module.manifest().sections())
      if (section.kind() == format::Section::WEIGHT)
        weights[section.name()] = section.checksum();
    return weights;
  };
  const std::string other = request.path +
                            " was compiled from another model "
                            "than " +
                            request.modelPath +
                            " or by another version of llmc: its ";
  if (weightsOf(file) != weightsOf(visible))
    return Status(StatusCode::InvalidFile, other + "weights differ");
  if (codeOf(file) != codeOf(visible))
    return Status(StatusCode::InvalidFile, other + "kernels differ");
  return okStatus();
}

/// What the host writes for a step: integers.
struct HostInput {
  std::string name;
  std::vector<int32_t> values;
  uint64_t rows = 0;
};

std::vector<HostInput> inputsOf(const format::Entry &entry,
                                const verify::NamedNumbers &arguments) {
  std::vector<HostInput> inputs;
  for (const format::Port &port : entry.inputs())
    if (auto given = arguments.find(port.name()); given != arguments.end())
      inputs.push_back(
          {port.name(),
           {given->second.values.begin(), given->second.values.end()},
           static_cast<uint64_t>(given->second.shape.front())});
  return inputs;
}

/// The numbers in |rows| rows of f16, which an output has as words of two with
/// padding at the end of a row.
std::vector<float> unpackHalves(const std::vector<float> &words, size_t rows,
                                size_t columns) {
  const size_t wordsOfRow = words.size() / rows;
  std::vector<float> numbers;
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column) {
      uint32_t word;
      std::memcpy(&word, &words[row * wordsOfRow + column / 2], sizeof(word));
      numbers.push_back(graph::halfToFloat(
          static_cast<uint16_t>(column % 2 == 0 ? word : word >> 16)));
    }
  return numbers;
}

/// The first numbers of |found|, as many as |wanted| has: a step may have less
/// results than rows.
double errorOfFirst(const std::vector<float> &found,
                    const std::vector<double> &wanted) {
  return relativeError(
      {found.begin(), found.begin() + ptrdiff_t(wanted.size())}, wanted);
}

} // namespace

StatusOr<std::unique_ptr<VisibleRun>>
VisibleRun::create(const VerifyRequest &request, const runtime::Module &file,
                   const std::vector<int64_t> &exposedRows) {
  const format::Manifest &manifest = file.manifest();
  const TemporaryFile visibleFile;
  driver::CompileOptions compile;
  compile.inputPath = request.modelPath;
  compile.targets = {file.variant().target().name()};
  LLMC_RETURN_IF_ERROR(driver::applyRecordedOptions(
      {manifest.compile_options().begin(), manifest.compile_options().end()},
      compile));
  compile.exposedRows = exposedRows;
  compile.outputPath = visibleFile.path;
  LLMC_RETURN_IF_ERROR(driver::compileModel(compile).status());
  compile.emit = driver::Emit::Regions;
  LLMC_ASSIGN_OR_RETURN(driver::CompileResult regions,
                        driver::compileModel(compile));
  std::unique_ptr<VisibleRun> run(new VisibleRun());
  LLMC_ASSIGN_OR_RETURN(run->evaluator,
                        verify::ReferenceRun::create(regions.text));
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> visible,
                        loadModule(visibleFile.path, request.device));
  LLMC_RETURN_IF_ERROR(compareContents(request, file, *visible));
  LLMC_ASSIGN_OR_RETURN(run->session,
                        runtime::Session::create(std::move(visible), {}));
  return run;
}

StatusOr<FunctionResult> VisibleRun::compareFunction(
    const std::string &function, const runtime::StepWords &words,
    const verify::NamedNumbers &arguments, std::vector<Comparison> &dispatches,
    double inputBound) {
  LLMC_ASSIGN_OR_RETURN(
      const uint32_t entry,
      session->findEntry(function, static_cast<uint32_t>(words.rows)));
  const format::Entry &described =
      session->module().variant().entries(static_cast<int>(entry));
  const auto rows = static_cast<size_t>(words.rows);
  const std::vector<HostInput> given = inputsOf(described, arguments);
  std::vector<runtime::NamedInput> inputs;
  for (const HostInput &input : given)
    inputs.push_back({input.name, input.values.data(), input.rows});
  std::map<std::string, std::vector<float>> found;
  std::vector<runtime::NamedOutput> outputs;
  for (const format::Port &port : described.outputs()) {
    std::vector<float> &numbers = found[port.name()];
    numbers.resize(rows * port.row_elements());
    outputs.push_back({port.name(), numbers.data(), rows});
  }
  LLMC_RETURN_IF_ERROR(session->runFunction(function, words, inputs, outputs));
  std::string lastLabel;
  double lastBound = 0;
  auto compare = [&](const verify::RegionResult &region) {
    lastLabel = region.label;
    lastBound = std::max(region.bound, inputBound);
    std::vector<double> &wanted = region.numbers.values;
    auto visible = found.find(region.name);
    if (visible == found.end())
      return;
    if (region.isHalf)
      visible->second = unpackHalves(
          visible->second, rows, wanted.size() / region.numbers.shape.front());
    if (visible->second.size() < wanted.size())
      return;
    dispatches.push_back({function + " " + region.label,
                          errorOfFirst(visible->second, wanted), lastBound});
    std::copy_n(visible->second.begin(), wanted.size(), wanted.begin());
    inputBound = 0;
  };
  auto results = evaluator->run(function, described.rows(), arguments, compare);
  if (!results.ok())
    return results.status();
  // What the function returns anyway: if one value, its last dispatch's.
  verify::NamedNumbers returned = std::move(*results);
  for (auto it = returned.begin(); it != returned.end();)
    it = it->first.rfind("region.", 0) == 0 ? returned.erase(it) : ++it;
  for (const auto &[name, numbers] : returned)
    if (auto visible = found.find(name);
        visible != found.end() &&
        visible->second.size() >= numbers.values.size())
      dispatches.push_back(
          {function + " " + (returned.size() == 1 ? lastLabel : name),
           errorOfFirst(visible->second, numbers.values), lastBound});
  return FunctionResult{std::move(returned), lastBound};
}

} // namespace llmc::tool
