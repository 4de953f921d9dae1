// SPDX-License-Identifier: Apache-2.0
//
// llmc logits: the numbers, for comparison with other implementations.

#include "tools/llmc/Commands.h"
#include "tools/llmc/RowFile.h"
#include "tools/llmc/RuntimeCommand.h"

#include <algorithm>

namespace llmc::tool {

namespace {

struct LogitsOptions {
  std::string path;
  std::string tokens;
  std::string tokensFile;
  std::string output;
  int64_t stepwise = -1;
  bool isPooled = false;
  DeviceOptions device;
};

Status writeLogits(runtime::LanguageModel &model,
                   const std::vector<int32_t> &tokens, size_t numPrefilled,
                   RowFile &file) {
  const auto middle = tokens.begin() + static_cast<ptrdiff_t>(numPrefilled);
  const auto append = [&](const float *row) { return file.append(row); };
  if (numPrefilled)
    LLMC_RETURN_IF_ERROR(
        model.prefillWithAllLogits({tokens.begin(), middle}, append));
  std::vector<float> row(model.vocabularySize());
  for (auto token = middle; token != tokens.end(); ++token) {
    LLMC_RETURN_IF_ERROR(model.decode(*token, row.data()));
    LLMC_RETURN_IF_ERROR(file.append(row.data()));
  }
  return file.finish();
}

/// The rows of an encoder's text, or its embedding.
Status writeEncoded(std::shared_ptr<runtime::Module> module,
                    const LogitsOptions &options,
                    const std::vector<int32_t> &tokens) {
  LLMC_ASSIGN_OR_RETURN(
      const std::unique_ptr<runtime::EmbeddingModel> model,
      runtime::EmbeddingModel::create(std::move(module),
                                      toSessionOptions(options.device)));
  const size_t size = model->size(),
               numRows = options.isPooled ? 1 : tokens.size();
  std::vector<float> rows(numRows * size);
  LLMC_RETURN_IF_ERROR(options.isPooled ? model->embed({tokens}, rows.data())
                                        : model->encode(tokens, rows.data()));
  RowFile file(options.output, size);
  for (size_t row = 0; row < numRows; ++row)
    LLMC_RETURN_IF_ERROR(file.append(rows.data() + row * size));
  return file.finish();
}

Status writeDecoded(std::shared_ptr<runtime::Module> module,
                    const LogitsOptions &options,
                    const std::vector<int32_t> &tokens) {
  if (options.isPooled)
    return Status(StatusCode::Unsupported,
                  "--pooled is for text encoders; the file has none");
  LLMC_ASSIGN_OR_RETURN(
      const std::unique_ptr<runtime::LanguageModel> model,
      runtime::LanguageModel::create(std::move(module),
                                     toSessionOptions(options.device)));
  // All or nothing: told before the first step.
  if (tokens.size() > model->contextLength())
    return Status(StatusCode::ContextFull,
                  std::to_string(tokens.size()) +
                      " tokens were given, the context has room for " +
                      std::to_string(model->contextLength()));
  const size_t numPrefilled =
      options.stepwise < 0
          ? tokens.size()
          : std::min<size_t>(static_cast<size_t>(options.stepwise),
                             tokens.size());
  RowFile file(options.output, model->vocabularySize());
  return writeLogits(*model, tokens, numPrefilled, file);
}

Status writeRows(const LogitsOptions &options) {
  if (options.output.empty())
    return Status(StatusCode::InvalidArgument, "-o is missing");
  std::string tokenText = options.tokens;
  if (!options.tokensFile.empty()) {
    LLMC_ASSIGN_OR_RETURN(tokenText, readTextFile(options.tokensFile));
  }
  LLMC_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                        parseTokens(tokenText));
  if (tokens.empty())
    return Status(StatusCode::InvalidArgument, "there is no token to evaluate");
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        loadModule(options.path, options.device));
  return runtime::EmbeddingModel::isIn(*module)
             ? writeEncoded(std::move(module), options, tokens)
             : writeDecoded(std::move(module), options, tokens);
}

} // namespace

int runLogits(const Arguments &arguments) {
  LogitsOptions logits;
  Options options("logits F --tokens=IDS -o OUT.f32",
                  "Writes the logits after every token (of a text encoder, the "
                  "hidden states): fp32, little\nendian, one row a token.");
  options.positional("F", logits.path, "a .llmc file");
  options.text("tokens", "IDS", logits.tokens, "token ids, between commas");
  options.text("tokens-file", "FILE", logits.tokensFile,
               "token ids in FILE, between commas or white space");
  options.text("output,o", "FILE", logits.output, "where the numbers go");
  options.integer("stepwise", "K", logits.stepwise, 0, INT32_MAX,
                  "prefill the first K tokens, decode the rest one by one "
                  "(default: prefill all)");
  options.flag("pooled", logits.isPooled,
               "of a text encoder, write the text's embedding instead");
  logits.device.declare(options);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (Status status = writeRows(logits); !status.ok())
    return fail(status);
  return kExitOk;
}

} // namespace llmc::tool
