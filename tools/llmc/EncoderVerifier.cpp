// SPDX-License-Identifier: Apache-2.0
//
// EncoderVerifier.h.

#include "tools/llmc/EncoderVerifier.h"

#include "tools/llmc/VisibleRun.h"

namespace llmc::tool {

namespace {

constexpr const char *kEncode = "encode";

/// One text in the first rows of a step.
verify::NamedNumbers argumentsOf(const runtime::TokenList &text,
                                 bool hasPooling) {
  const auto rows = static_cast<int64_t>(text.size());
  const auto end = static_cast<double>(rows);
  verify::Numbers tokens = {{rows}, {text.begin(), text.end()}};
  verify::Numbers positions = {{rows}, {}}, ranges = {{rows, 2}, {}};
  for (int64_t row = 0; row < rows; ++row) {
    positions.values.push_back(static_cast<double>(row));
    ranges.values.insert(ranges.values.end(), {0, end});
  }
  verify::NamedNumbers arguments = {{"tokens", std::move(tokens)},
                                    {"positions", std::move(positions)},
                                    {"ranges", std::move(ranges)}};
  if (hasPooling)
    arguments["spans"] = {{1, 2}, {0, end}};
  return arguments;
}

StatusOr<std::vector<float>> resultOf(runtime::EmbeddingModel &file,
                                      const runtime::TokenList &text) {
  std::vector<float> numbers(file.size() *
                             (file.hasPooling() ? 1 : text.size()));
  LLMC_RETURN_IF_ERROR(file.hasPooling() ? file.embed({text}, numbers.data())
                                         : file.encode(text, numbers.data()));
  return numbers;
}

} // namespace

StatusOr<VerifyReport>
verifyEncoder(const VerifyRequest &request,
              std::shared_ptr<const runtime::Module> module) {
  VerifyReport report;
  report.target = module->variant().target().name();
  const auto vocabularySize =
      static_cast<uint32_t>(module->manifest().model().vocabulary_size());
  const runtime::TokenList text = tokensOf(request, vocabularySize);
  LLMC_ASSIGN_OR_RETURN(const std::unique_ptr<runtime::EmbeddingModel> file,
                        runtime::EmbeddingModel::create(
                            module, toSessionOptions(request.device)));
  // First, since it refuses texts that don't fit the model.
  LLMC_ASSIGN_OR_RETURN(const std::vector<float> first, resultOf(*file, text));
  const int64_t bucket =
      bucketFor(*module, kEncode, static_cast<int64_t>(text.size()));
  LLMC_ASSIGN_OR_RETURN(const std::unique_ptr<VisibleRun> visible,
                        VisibleRun::create(request, *module, {bucket}));
  const verify::NamedNumbers arguments = argumentsOf(text, file->hasPooling());
  runtime::StepWords words;
  words.rows = static_cast<int32_t>(text.size());
  auto steps =
      visible->compareFunction(kEncode, words, arguments, report.dispatches);
  if (!steps.ok())
    return steps.status();
  auto wanted = visible->reference().run(kEncode, bucket, arguments);
  if (!wanted.ok())
    return wanted.status();
  const char *name = file->hasPooling() ? "embedding" : "hidden";
  report.result = {
      name, relativeError({first.begin(), first.end()}, (*wanted)[name].values),
      report.boundOfResult()};
  report.numTokens = static_cast<int64_t>(text.size());
  for (int64_t i = 1; i < request.repeats; ++i) {
    LLMC_ASSIGN_OR_RETURN(const std::vector<float> again,
                          resultOf(*file, text));
    report.addRepeat(first, again);
  }
  return report;
}

} // namespace llmc::tool
