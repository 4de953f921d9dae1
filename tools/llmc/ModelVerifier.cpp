// SPDX-License-Identifier: Apache-2.0
//
// The steps of `llmc verify`.

#include "tools/llmc/ModelVerifier.h"

#include "tools/llmc/Summary.h"

#include "compiler/Driver/Driver.h"
#include "compiler/Driver/RecordedOptions.h"
#include "compiler/Verify/ReferenceRun.h"
#include "runtime/session/Session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <unistd.h>

namespace llmc::tool {

namespace {

/// Of one dispatch, by the type in which its linear multiplies.
double boundOfDispatch(const std::string &arithmetic) {
  if (arithmetic == "i8")
    return 2e-2;
  return arithmetic == "f16" ? 5e-3 : 2e-5;
}

/// max |a - b| / max |b|; infinite when a number is none.
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

size_t indexOfLargest(const double *row, size_t size) {
  return static_cast<size_t>(std::max_element(row, row + size) - row);
}

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

class ModelVerifier {
public:
  explicit ModelVerifier(const VerifyRequest &request) : request(request) {}
  StatusOr<VerifyReport> run();

private:
  Status loadFile();
  Status chooseTokens();
  Status compileVisible();
  Status compareContents(const runtime::Module &visible) const;
  Status compareStep(size_t first, size_t count);
  StatusOr<verify::NamedNumbers>
  compareFunction(const std::string &function, const runtime::StepWords &words,
                  const verify::NamedNumbers &arguments);
  Status compareDispatches();
  Status compareLogits();
  Status compareRepeats();
  StatusOr<std::vector<float>> logitsOfFile();
  /// The fewest rows of the function's entries that hold |rows|, the most where
  /// none does.
  int64_t bucketFor(const std::string &function, int64_t rows) const;

  const VerifyRequest &request;
  std::unique_ptr<runtime::LanguageModel> file;
  std::vector<int32_t> tokens;
  size_t numPrefilled = 0;
  TemporaryFile visibleFile;
  std::unique_ptr<runtime::Session> session; // of the visible file
  std::unique_ptr<verify::ReferenceRun> reference;
  std::vector<float> firstLogits;
  VerifyReport report;
};

int64_t ModelVerifier::bucketFor(const std::string &function,
                                 int64_t rows) const {
  int64_t fitting = 0, most = 0;
  for (const format::Entry &entry : file->module().variant().entries()) {
    if (entry.function() != function)
      continue;
    most = std::max<int64_t>(most, entry.rows());
    if (entry.rows() >= rows && (fitting == 0 || entry.rows() < fitting))
      fitting = entry.rows();
  }
  return fitting != 0 ? fitting : most;
}

Status ModelVerifier::loadFile() {
  LLMC_ASSIGN_OR_RETURN(file, loadLanguageModel(request.path, request.device));
  report.target = file->module().variant().target().name();
  return okStatus();
}

/// Prefill is one step, so that it has one function to compare.
Status ModelVerifier::chooseTokens() {
  tokens = request.tokens;
  uint32_t random = 1;
  for (int64_t i = 0; request.tokens.empty() && i < request.numTokens; ++i) {
    random = random * 1664525U + 1013904223U;
    tokens.push_back(
        static_cast<int32_t>((random >> 8) % file->vocabularySize()));
  }
  if (tokens.size() > file->contextLength())
    return Status(StatusCode::ContextFull,
                  std::to_string(tokens.size()) +
                      " tokens were given, the context has room for " +
                      std::to_string(file->contextLength()));
  const int64_t mostRows = bucketFor("forward", INT64_MAX);
  numPrefilled = static_cast<size_t>(std::clamp<int64_t>(
      static_cast<int64_t>(tokens.size()) - request.numDecoded, 1, mostRows));
  return okStatus();
}

Status ModelVerifier::compileVisible() {
  const format::Manifest &manifest = file->module().manifest();
  driver::CompileOptions compile;
  compile.inputPath = request.modelPath;
  compile.targets = {report.target};
  LLMC_RETURN_IF_ERROR(driver::applyRecordedOptions(
      {manifest.compile_options().begin(), manifest.compile_options().end()},
      compile));
  compile.exposedRows = {
      1, bucketFor("forward", static_cast<int64_t>(numPrefilled))};
  compile.outputPath = visibleFile.path;
  std::string regions;
  LLMC_RETURN_IF_ERROR(driver::compileModel(compile, regions));
  compile.emit = driver::Emit::Regions;
  LLMC_RETURN_IF_ERROR(driver::compileModel(compile, regions));
  LLMC_ASSIGN_OR_RETURN(reference, verify::ReferenceRun::create(regions));
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> visible,
                        loadModule(visibleFile.path, request.device));
  LLMC_RETURN_IF_ERROR(compareContents(*visible));
  LLMC_ASSIGN_OR_RETURN(session,
                        runtime::Session::create(std::move(visible), {}));
  return okStatus();
}

/// The file has the kernels and the weights that the model gives today.
Status ModelVerifier::compareContents(const runtime::Module &visible) const {
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
  if (weightsOf(file->module()) != weightsOf(visible))
    return Status(StatusCode::InvalidFile, other + "weights differ");
  if (codeOf(file->module()) != codeOf(visible))
    return Status(StatusCode::InvalidFile, other + "kernels differ");
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Dispatch by dispatch
//===----------------------------------------------------------------------===//

/// Runs a function on the device and on the evaluator, which goes on with the
/// device's numbers after each dispatch.
StatusOr<verify::NamedNumbers>
ModelVerifier::compareFunction(const std::string &function,
                               const runtime::StepWords &words,
                               const verify::NamedNumbers &arguments) {
  LLMC_ASSIGN_OR_RETURN(
      const uint32_t entry,
      session->findEntry(function, static_cast<uint32_t>(words.rows)));
  const format::Entry &described =
      session->module().variant().entries(static_cast<int>(entry));
  const auto rows = static_cast<size_t>(words.rows);
  std::vector<int32_t> ids;
  std::vector<runtime::NamedInput> inputs;
  if (auto given = arguments.find("tokens"); given != arguments.end()) {
    ids.assign(given->second.values.begin(), given->second.values.end());
    inputs.push_back({"tokens", ids.data(), rows});
  }
  std::map<std::string, std::vector<float>> found;
  std::vector<runtime::NamedOutput> outputs;
  for (const format::Port &port : described.outputs()) {
    std::vector<float> &numbers = found[port.name()];
    numbers.resize(rows * port.row_elements());
    outputs.push_back({port.name(), numbers.data(), rows});
  }
  LLMC_RETURN_IF_ERROR(session->runFunction(function, words, inputs, outputs));
  std::string lastLabel, lastArithmetic;
  auto compare = [&](const verify::RegionResult &region) {
    lastLabel = region.label;
    lastArithmetic = region.arithmetic;
    auto visible = found.find(region.name);
    if (visible == found.end() ||
        visible->second.size() != region.numbers.values.size())
      return;
    std::vector<double> numbers(visible->second.begin(), visible->second.end());
    report.dispatches.push_back({function + " " + region.label,
                                 relativeError(numbers, region.numbers.values),
                                 boundOfDispatch(region.arithmetic)});
    region.numbers.values = std::move(numbers);
  };
  auto results = reference->run(function, described.rows(), arguments, compare);
  if (!results.ok())
    return results;
  // What the function returns anyway is its last dispatch's.
  for (const auto &[name, numbers] : *results)
    if (auto visible = found.find(name);
        visible != found.end() && name.rfind("region.", 0) != 0)
      report.dispatches.push_back(
          {function + " " + lastLabel,
           relativeError({visible->second.begin(), visible->second.end()},
                         numbers.values),
           boundOfDispatch(lastArithmetic)});
  return results;
}

Status ModelVerifier::compareStep(size_t first, size_t count) {
  verify::Numbers ids{{static_cast<int64_t>(count)},
                      {tokens.begin() + static_cast<ptrdiff_t>(first),
                       tokens.begin() + static_cast<ptrdiff_t>(first + count)}};
  runtime::StepWords words;
  words.position = static_cast<int32_t>(first);
  words.rows = static_cast<int32_t>(count);
  auto forward =
      compareFunction("forward", words,
                      {{"tokens", std::move(ids)},
                       {"position", {{}, {static_cast<double>(first)}}}});
  if (!forward.ok())
    return forward.status();
  runtime::StepWords last = words;
  last.rows = 1;
  last.firstRow = static_cast<int32_t>(count) - 1;
  return compareFunction("logits", last,
                         {{"hidden", std::move((*forward)["hidden"])},
                          {"first_row", {{}, {double(last.firstRow)}}}})
      .status();
}

Status ModelVerifier::compareDispatches() {
  reference->reset();
  LLMC_RETURN_IF_ERROR(compareStep(0, numPrefilled));
  for (size_t next = numPrefilled; next < tokens.size(); ++next)
    LLMC_RETURN_IF_ERROR(compareStep(next, 1));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The whole model
//===----------------------------------------------------------------------===//

StatusOr<std::vector<float>> ModelVerifier::logitsOfFile() {
  LLMC_RETURN_IF_ERROR(file->reset());
  const size_t size = file->vocabularySize();
  std::vector<float> logits;
  auto append = [&](const float *row) {
    logits.insert(logits.end(), row, row + size);
    return okStatus();
  };
  const auto middle = tokens.begin() + static_cast<ptrdiff_t>(numPrefilled);
  LLMC_RETURN_IF_ERROR(
      file->prefillWithAllLogits({tokens.begin(), middle}, append));
  std::vector<float> row(size);
  for (auto token = middle; token != tokens.end(); ++token) {
    LLMC_RETURN_IF_ERROR(file->decode(*token, row.data()));
    LLMC_RETURN_IF_ERROR(append(row.data()));
  }
  return logits;
}

/// Against the evaluator alone, whose prefill is that of the same function: it
/// quantizes activations where the file does.
Status ModelVerifier::compareLogits() {
  LLMC_ASSIGN_OR_RETURN(firstLogits, logitsOfFile());
  reference->reset();
  std::vector<double> wanted;
  for (size_t first = 0; first < tokens.size();) {
    size_t count = first == 0 ? numPrefilled : 1;
    verify::Numbers ids{
        {static_cast<int64_t>(count)},
        {tokens.begin() + static_cast<ptrdiff_t>(first),
         tokens.begin() + static_cast<ptrdiff_t>(first + count)}};
    auto forward = reference->run(
        "forward", bucketFor("forward", static_cast<int64_t>(count)),
        {{"tokens", std::move(ids)},
         {"position", {{}, {static_cast<double>(first)}}}});
    if (!forward.ok())
      return forward.status();
    auto rows = reference->run("logits", bucketFor("logits", 1),
                               {{"hidden", std::move((*forward)["hidden"])},
                                {"first_row", {{}, {0.0}}}});
    if (!rows.ok())
      return rows.status();
    const std::vector<double> &values = (*rows)["logits"].values;
    wanted.insert(wanted.end(), values.begin(), values.end());
    first += count;
  }
  std::vector<double> found(firstLogits.begin(), firstLogits.end());
  double bound = 5e-5;
  for (const Comparison &dispatch : report.dispatches)
    bound = std::max(bound, 2.5 * dispatch.bound);
  report.logits = {"logits", relativeError(found, wanted), bound};
  report.numTokens = static_cast<int64_t>(tokens.size());
  const size_t size = file->vocabularySize();
  for (size_t row = 0; row < tokens.size(); ++row)
    report.numSameBest += indexOfLargest(&found[row * size], size) ==
                          indexOfLargest(&wanted[row * size], size);
  return okStatus();
}

Status ModelVerifier::compareRepeats() {
  for (int64_t i = 1; i < request.repeats; ++i) {
    LLMC_ASSIGN_OR_RETURN(std::vector<float> again, logitsOfFile());
    ++report.numRepeats;
    if (std::memcmp(again.data(), firstLogits.data(),
                    again.size() * sizeof(float)) != 0)
      ++report.numUnequalRepeats;
  }
  return okStatus();
}

StatusOr<VerifyReport> ModelVerifier::run() {
  LLMC_RETURN_IF_ERROR(loadFile());
  LLMC_RETURN_IF_ERROR(chooseTokens());
  LLMC_RETURN_IF_ERROR(compileVisible());
  LLMC_RETURN_IF_ERROR(compareDispatches());
  LLMC_RETURN_IF_ERROR(compareLogits());
  LLMC_RETURN_IF_ERROR(compareRepeats());
  return std::move(report);
}

} // namespace

bool VerifyReport::isGood() const {
  return std::all_of(dispatches.begin(), dispatches.end(),
                     [](const Comparison &one) { return one.isGood(); }) &&
         logits.isGood() && numUnequalRepeats == 0;
}

StatusOr<VerifyReport> verifyModel(const VerifyRequest &request) {
  return ModelVerifier(request).run();
}

} // namespace llmc::tool
