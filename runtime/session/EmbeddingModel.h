// SPDX-License-Identifier: Apache-2.0
//
// A session of a text encoder: texts in, a vector for each or for each of their
// tokens out.

#ifndef LLMC_RUNTIME_SESSION_EMBEDDINGMODEL_H
#define LLMC_RUNTIME_SESSION_EMBEDDINGMODEL_H

#include "runtime/session/Session.h"
#include "runtime/session/TextPlan.h"

#include <functional>
#include <memory>
#include <vector>

namespace llmc::runtime {

using TokenList = std::vector<int32_t>;

/// Used by one thread at a time, another gets Busy. A text gives the same bits
/// whatever texts it is given with.
class EmbeddingModel {
public:
  /// Unsupported when the file has no function `encode`.
  static StatusOr<std::unique_ptr<EmbeddingModel>>
  create(std::shared_ptr<const Module> module, const SessionOptions &options);

  /// Whether the file of a module holds an encoder.
  static bool isIn(const Module &module);

  const Module &module() const { return session->module(); }
  /// Numbers of a vector.
  uint32_t size() const { return width; }
  /// Tokens of the longest text.
  uint32_t maxTokens() const { return steps.back().rows; }
  /// Whether the file says how rows become an embedding.
  bool hasPooling() const { return steps.front().spans.has_value(); }

  /// One vector of size() numbers for each text, in their order. Unsupported:
  /// there is no pooling; InvalidArgument: a text without tokens, or an id
  /// outside of the vocabulary; ContextFull: a text that is too long, with both
  /// numbers; NonFinite: a number is NaN or infinite.
  Status embed(const std::vector<TokenList> &texts, float *embeddings);
  /// The vectors of all tokens of a text. Errors as for embed.
  Status encode(const TokenList &text, float *rows);

private:
  /// One bucket's entry and ports.
  struct Step {
    uint32_t rows = 0;
    uint32_t entry = 0;
    uint32_t tokens = 0, positions = 0, ranges = 0; // inputs
    std::optional<uint32_t> spans;                  // input
    uint32_t hidden = 0, embedding = 0;             // outputs
  };
  /// What the host writes for a step.
  struct Inputs {
    std::vector<int32_t> tokens, positions, ranges, spans;
  };

  explicit EmbeddingModel(std::unique_ptr<Session> session)
      : session(std::move(session)) {}
  Status findSteps();
  StatusOr<Step> describe(uint32_t entry);
  Status checkTexts(const std::vector<TokenList> &texts) const;
  Status run(const Step &step, const TextStep &plan,
             const std::vector<TokenList> &texts);
  static Inputs inputsOf(const TextStep &plan,
                         const std::vector<TokenList> &texts);
  std::vector<TextStep> plan(const std::vector<TokenList> &texts) const;
  const Step &stepOf(const TextStep &plan) const;

  std::unique_ptr<Session> session;
  std::vector<Step> steps; // rows ascending
  uint32_t width = 0;
  uint32_t vocabularySize = 0;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_EMBEDDINGMODEL_H
