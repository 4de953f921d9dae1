// SPDX-License-Identifier: Apache-2.0
//
// llmc perplexity: how well a model predicts a text, alone or against another.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/RuntimeCommand.h"

#include "runtime/text/TextScore.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace llmc::tool {

namespace {

/// Tokens evaluated at once: so many rows of logits are kept.
constexpr size_t kPiece = 64;

/// Tokens |first| … |first| + |count| - 1 of |tokens|, the session going on;
/// a row of logits for each.
Status evaluate(runtime::LanguageModel &model, const int32_t *tokens,
                size_t count, std::vector<float> &logits) {
  logits.clear();
  const size_t size = model.vocabularySize();
  return model.prefillWithAllLogits(
      {tokens, tokens + count}, [&](const float *row) {
        logits.insert(logits.end(), row, row + size);
        return okStatus();
      });
}

/// Scores a text in chunks that know nothing of each other. Every token but a
/// chunk's first is predicted from those before it in the chunk.
class Scorer {
public:
  Scorer(runtime::LanguageModel &model, runtime::LanguageModel *other,
         size_t chunkSize)
      : model(model), other(other), chunkSize(chunkSize) {}

  Status run(const std::vector<int32_t> &tokens) {
    for (size_t first = 0; first + 1 < tokens.size(); first += chunkSize)
      LLMC_RETURN_IF_ERROR(
          addChunk(&tokens[first], std::min(chunkSize, tokens.size() - first)));
    return okStatus();
  }
  const text::TextScore &score() const { return sums; }

private:
  Status addChunk(const int32_t *tokens, size_t count) {
    LLMC_RETURN_IF_ERROR(model.reset());
    if (other)
      LLMC_RETURN_IF_ERROR(other->reset());
    const size_t size = model.vocabularySize();
    // The last token is predicted, and predicts nothing.
    for (size_t done = 0; done + 1 < count; done += kPiece) {
      const size_t piece = std::min(kPiece, count - 1 - done);
      LLMC_RETURN_IF_ERROR(evaluate(model, tokens + done, piece, logits));
      if (other)
        LLMC_RETURN_IF_ERROR(
            evaluate(*other, tokens + done, piece, otherLogits));
      for (size_t row = 0; row < piece; ++row) {
        const int32_t next = tokens[done + row + 1];
        if (other)
          sums.add(&logits[row * size], &otherLogits[row * size], size, next);
        else
          sums.add(&logits[row * size], size, next);
      }
    }
    return okStatus();
  }

  runtime::LanguageModel &model;
  runtime::LanguageModel *other;
  size_t chunkSize;
  std::vector<float> logits, otherLogits;
  text::TextScore sums;
};

void print(const text::TextScore &score, bool isCompared, bool asJson) {
  nlohmann::json json = {{"tokens", score.numTokens()},
                         {"perplexity", score.perplexity()}};
  if (isCompared) {
    json["against_perplexity"] = score.otherPerplexity();
    json["mean_divergence"] = score.meanDivergence();
    json["largest_divergence"] = score.largestDivergence();
    json["same_best"] = score.sameBest();
  }
  if (asJson) {
    std::puts(json.dump(2).c_str());
    return;
  }
  std::printf("tokens predicted    %zu\nperplexity          %.4f\n",
              score.numTokens(), score.perplexity());
  if (isCompared)
    std::printf("against             %.4f\nmean divergence     %.6f\nlargest "
                "divergence  %.6f\nsame best id        %.2f %%\n",
                score.otherPerplexity(), score.meanDivergence(),
                score.largestDivergence(), 100 * score.sameBest());
}

struct Request {
  std::string path, textPath, otherPath;
  bool holdsIds = false, asJson = false;
  int64_t chunkSize = 512;
  DeviceOptions device;
};

/// The ids of the text, with BOS where the model wants it.
StatusOr<std::vector<int32_t>> readTokens(const Request &request,
                                          const runtime::LanguageModel &model) {
  auto content = readTextFile(request.textPath);
  if (!content.ok())
    return content.status();
  if (request.holdsIds)
    return parseTokens(*content);
  auto tokenizer = createTokenizer(model.module().reader());
  if (!tokenizer.ok())
    return tokenizer.status();
  text::EncodeOptions options;
  options.addBos = true;
  return (*tokenizer)->encode(*content, /*parseSpecial=*/false, options);
}

Status scoreText(const Request &request) {
  auto model = loadLanguageModel(request.path, request.device);
  if (!model.ok())
    return model.status();
  std::unique_ptr<runtime::LanguageModel> other;
  if (!request.otherPath.empty()) {
    auto loaded = loadLanguageModel(request.otherPath, request.device);
    if (!loaded.ok())
      return loaded.status();
    other = std::move(*loaded);
    if (other->vocabularySize() != (*model)->vocabularySize())
      return Status(StatusCode::InvalidArgument,
                    request.otherPath + " has a vocabulary of " +
                        std::to_string(other->vocabularySize()) + ", " +
                        request.path + " has " +
                        std::to_string((*model)->vocabularySize()) +
                        "; only equal ones can be compared");
  }
  auto tokens = readTokens(request, **model);
  if (!tokens.ok())
    return tokens.status();
  if (tokens->size() < 2)
    return Status(StatusCode::InvalidArgument,
                  request.textPath + " has " + std::to_string(tokens->size()) +
                      " tokens, allowed are 2 or more");
  size_t chunkSize = std::min<size_t>(static_cast<size_t>(request.chunkSize),
                                      (*model)->contextLength());
  if (other)
    chunkSize = std::min<size_t>(chunkSize, other->contextLength());
  Scorer scorer(**model, other.get(), chunkSize);
  LLMC_RETURN_IF_ERROR(scorer.run(*tokens));
  print(scorer.score(), other != nullptr, request.asJson);
  return okStatus();
}

} // namespace

int runPerplexity(const Arguments &arguments) {
  Request request;
  Options options(
      "perplexity F TEXTFILE [--against=G]",
      "Says how well a model predicts a text: the exponential of the mean of "
      "-log p(token). With --against, also how\nfar its predictions are from "
      "those of another .llmc file: the mean of the Kullback-Leibler "
      "divergence from G to F.");
  options.positional("F", request.path, "a .llmc file");
  options.positional("TEXTFILE", request.textPath, "the text");
  options.text("against", "G", request.otherPath,
               "a .llmc file to compare with, of the same vocabulary");
  options.flag("ids", request.holdsIds,
               "TEXTFILE holds token ids, between commas or white space");
  options.integer("chunk", "N", request.chunkSize, 2, INT32_MAX,
                  "tokens of a chunk; a token is predicted from those before "
                  "it in its chunk (default: 512, at most the context)");
  options.flag("json", request.asJson, "print JSON");
  request.device.declare(options);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  Status status = scoreText(request);
  return status.ok() ? kExitOk : fail(status);
}

} // namespace llmc::tool
