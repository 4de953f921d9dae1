// SPDX-License-Identifier: Apache-2.0
//
// The steps of `llmc verify` for a language model, and what it has in common
// with that for an encoder.

#include "tools/llmc/ModelVerifier.h"

#include "tools/llmc/EncoderVerifier.h"
#include "tools/llmc/VisibleRun.h"

#include <algorithm>
#include <cstring>

namespace llmc::tool {

namespace {

size_t indexOfLargest(const double *row, size_t size) {
  return static_cast<size_t>(std::max_element(row, row + size) - row);
}

class LanguageModelVerifier {
public:
  explicit LanguageModelVerifier(const VerifyRequest &request)
      : request(request) {}
  StatusOr<VerifyReport> run(std::shared_ptr<const runtime::Module> module);

private:
  Status chooseTokens();
  Status compareStep(size_t first, size_t count);
  Status compareDispatches();
  Status compareLogits();
  Status compareRepeats();
  StatusOr<std::vector<float>> logitsOfFile();

  const VerifyRequest &request;
  std::unique_ptr<runtime::LanguageModel> file;
  std::vector<int32_t> tokens;
  size_t numPrefilled = 0;
  std::unique_ptr<VisibleRun> visible;
  std::vector<float> firstLogits;
  VerifyReport report;
};

/// Prefill is one step, so that it has one function to compare.
Status LanguageModelVerifier::chooseTokens() {
  tokens = tokensOf(request, file->vocabularySize());
  if (tokens.size() > file->contextLength())
    return Status(StatusCode::ContextFull,
                  std::to_string(tokens.size()) +
                      " tokens were given, the context has room for " +
                      std::to_string(file->contextLength()));
  const int64_t mostRows = bucketFor(file->module(), "forward", INT64_MAX);
  numPrefilled = static_cast<size_t>(std::clamp<int64_t>(
      static_cast<int64_t>(tokens.size()) - request.numDecoded, 1, mostRows));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Dispatch by dispatch
//===----------------------------------------------------------------------===//

Status LanguageModelVerifier::compareStep(size_t first, size_t count) {
  verify::Numbers ids{{static_cast<int64_t>(count)},
                      {tokens.begin() + static_cast<ptrdiff_t>(first),
                       tokens.begin() + static_cast<ptrdiff_t>(first + count)}};
  runtime::StepWords words;
  words.position = static_cast<int32_t>(first);
  words.rows = static_cast<int32_t>(count);
  auto forward = visible->compareFunction(
      "forward", words,
      {{"tokens", std::move(ids)},
       {"position", {{}, {static_cast<double>(first)}}}},
      report.dispatches);
  if (!forward.ok())
    return forward.status();
  runtime::StepWords last = words;
  last.rows = 1;
  last.firstRow = static_cast<int32_t>(count) - 1;
  return visible
      ->compareFunction("logits", last,
                        {{"hidden", std::move(forward->numbers["hidden"])},
                         {"first_row", {{}, {double(last.firstRow)}}}},
                        report.dispatches, forward->bound)
      .status();
}

Status LanguageModelVerifier::compareDispatches() {
  visible->reference().reset();
  LLMC_RETURN_IF_ERROR(compareStep(0, numPrefilled));
  for (size_t next = numPrefilled; next < tokens.size(); ++next)
    LLMC_RETURN_IF_ERROR(compareStep(next, 1));
  return okStatus();
}

//===----------------------------------------------------------------------===//
// The whole model
//===----------------------------------------------------------------------===//

StatusOr<std::vector<float>> LanguageModelVerifier::logitsOfFile() {
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
Status LanguageModelVerifier::compareLogits() {
  LLMC_ASSIGN_OR_RETURN(firstLogits, logitsOfFile());
  visible->reference().reset();
  std::vector<double> wanted;
  for (size_t first = 0; first < tokens.size();) {
    size_t count = first == 0 ? numPrefilled : 1;
    verify::Numbers ids{
        {static_cast<int64_t>(count)},
        {tokens.begin() + static_cast<ptrdiff_t>(first),
         tokens.begin() + static_cast<ptrdiff_t>(first + count)}};
    auto forward = visible->reference().run(
        "forward",
        bucketFor(file->module(), "forward", static_cast<int64_t>(count)),
        {{"tokens", std::move(ids)},
         {"position", {{}, {static_cast<double>(first)}}}});
    if (!forward.ok())
      return forward.status();
    auto rows = visible->reference().run(
        "logits", bucketFor(file->module(), "logits", 1),
        {{"hidden", std::move((*forward)["hidden"])},
         {"first_row", {{}, {0.0}}}});
    if (!rows.ok())
      return rows.status();
    const std::vector<double> &values = (*rows)["logits"].values;
    wanted.insert(wanted.end(), values.begin(), values.end());
    first += count;
  }
  std::vector<double> found(firstLogits.begin(), firstLogits.end());
  report.result = {"logits", relativeError(found, wanted),
                   report.boundOfResult()};
  report.numTokens = static_cast<int64_t>(tokens.size());
  const size_t size = file->vocabularySize();
  for (size_t row = 0; row < tokens.size(); ++row)
    report.numSameBest += indexOfLargest(&found[row * size], size) ==
                          indexOfLargest(&wanted[row * size], size);
  return okStatus();
}

Status LanguageModelVerifier::compareRepeats() {
  for (int64_t i = 1; i < request.repeats; ++i) {
    LLMC_ASSIGN_OR_RETURN(std::vector<float> again, logitsOfFile());
    report.addRepeat(firstLogits, again);
  }
  return okStatus();
}

StatusOr<VerifyReport>
LanguageModelVerifier::run(std::shared_ptr<const runtime::Module> module) {
  LLMC_ASSIGN_OR_RETURN(
      file, runtime::LanguageModel::create(std::move(module),
                                           toSessionOptions(request.device)));
  LLMC_RETURN_IF_ERROR(chooseTokens());
  LLMC_ASSIGN_OR_RETURN(
      visible,
      VisibleRun::create(request, file->module(),
                         {1, bucketFor(file->module(), "forward",
                                       static_cast<int64_t>(numPrefilled))}));
  LLMC_RETURN_IF_ERROR(compareDispatches());
  LLMC_RETURN_IF_ERROR(compareLogits());
  LLMC_RETURN_IF_ERROR(compareRepeats());
  report.target = file->module().variant().target().name();
  return std::move(report);
}

} // namespace

std::vector<int32_t> tokensOf(const VerifyRequest &request,
                              uint32_t vocabularySize) {
  std::vector<int32_t> tokens = request.tokens;
  uint32_t random = 1;
  for (int64_t i = 0; request.tokens.empty() && i < request.numTokens; ++i) {
    random = random * 1664525U + 1013904223U;
    tokens.push_back(static_cast<int32_t>((random >> 8) % vocabularySize));
  }
  return tokens;
}

double VerifyReport::boundOfResult() const {
  double bound = 5e-5;
  for (const Comparison &dispatch : dispatches)
    bound = std::max(bound, 2.5 * dispatch.bound);
  return bound;
}

void VerifyReport::addRepeat(const std::vector<float> &first,
                             const std::vector<float> &again) {
  ++numRepeats;
  if (std::memcmp(again.data(), first.data(), again.size() * sizeof(float)) !=
      0)
    ++numUnequalRepeats;
}

bool VerifyReport::isGood() const {
  return std::all_of(dispatches.begin(), dispatches.end(),
                     [](const Comparison &one) { return one.isGood(); }) &&
         result.isGood() && numUnequalRepeats == 0;
}

StatusOr<VerifyReport> verifyModel(const VerifyRequest &request) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<const runtime::Module> module,
                        loadModule(request.path, request.device));
  return runtime::EmbeddingModel::isIn(*module)
             ? verifyEncoder(request, std::move(module))
             : LanguageModelVerifier(request).run(std::move(module));
}

} // namespace llmc::tool
