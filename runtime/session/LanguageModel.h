// SPDX-License-Identifier: Apache-2.0
//
// A session of a language model: tokens in, logits out, a KV cache that grows.

#ifndef LLMC_RUNTIME_SESSION_LANGUAGEMODEL_H
#define LLMC_RUNTIME_SESSION_LANGUAGEMODEL_H

#include "runtime/session/Session.h"
#include "runtime/session/StateFile.h"
#include "runtime/session/TokenChoice.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llmc::runtime {

/// Takes one row of logits (vocabularySize floats), in the order of the tokens;
/// a failure ends the evaluation.
using LogitsSink = std::function<Status(const float *logits)>;

/// Takes a token; false ends the generation.
using TokenSink = std::function<StatusOr<bool>(int32_t token)>;

/// Used by one thread at a time, another gets Busy; `cancel` may come from any
/// thread. After a failure the position is what it was before the call, and
/// unless the device is lost or hangs the session goes on as if the call had
/// not been. A model that overwrites what it remembers (convolutions) can't go
/// back: when a step of the call had run, the position is 0 and everything is
/// forgotten.
class LanguageModel {
public:
  /// Unsupported when the file has no functions `forward` (input `tokens`) and
  /// `logits` (output `logits`).
  static StatusOr<std::unique_ptr<LanguageModel>>
  create(std::shared_ptr<const Module> module, const SessionOptions &options);

  const Module &module() const { return session->module(); }
  uint32_t vocabularySize() const { return numLogits; }
  uint32_t contextLength() const { return maxContext; }
  /// Tokens evaluated so far.
  uint32_t position() const { return numEvaluated; }

  /// Evaluates tokens in steps of many rows. `logits`: room for vocabularySize
  /// floats, those after the last token; null: not wanted. InvalidArgument: no
  /// token, or an id outside of the vocabulary; ContextFull: more than fit,
  /// with both numbers; NonFinite: a logit is NaN or infinite; Cancelled.
  Status prefill(const std::vector<int32_t> &tokens, float *logits);
  /// The same with the logits after every token.
  Status prefillWithAllLogits(const std::vector<int32_t> &tokens,
                              const LogitsSink &sink);
  /// One token, in one submission. Errors as for prefill.
  Status decode(int32_t token, float *logits);

  /// Most tokens of `decodeDraft`; 0: the model can't go back, or its file has
  /// no step of a few rows.
  uint32_t draftRows() const;
  /// A few tokens in one submission, with the logits after each. The kernels
  /// are those of a step of a few rows, whatever `count` is, so that the logits
  /// have the same bits however the tokens are dealt to calls (decision 0011).
  /// InvalidArgument: more than draftRows(); other errors as for prefill.
  Status decodeDraft(const int32_t *tokens, size_t count,
                     const LogitsSink &sink);

  /// Whether the device can choose tokens by these options.
  StatusOr<bool> canChoose(const ChoiceOptions &options);
  /// Evaluates `tokens`, at least one, and goes on with at most `mostTokens`
  /// that the device chooses, while `sink` takes them and the context has room.
  /// Of the tokens that `sink` was given all but the last are evaluated. Needs
  /// canChoose; errors as for prefill.
  Status generate(const std::vector<int32_t> &tokens,
                  const ChoiceOptions &options, uint64_t mostTokens,
                  const TokenSink &sink);

  /// Forgets everything.
  Status reset() { return truncate(0); }
  /// Forgets all but the first `numTokens` tokens. InvalidArgument: there are
  /// fewer; Unsupported: the model can't go back, and some are to be kept.
  Status truncate(uint32_t numTokens);
  /// See Session.
  std::vector<DispatchTime> dispatchTimes() const {
    return session->dispatchTimes();
  }
  void forgetDispatchTimes() { session->forgetDispatchTimes(); }
  /// Another session that has evaluated the same tokens; from then on each goes
  /// its own way.
  StatusOr<std::unique_ptr<LanguageModel>> fork();
  /// Writes all that later tokens depend on to the file at `path`, replacing a
  /// file of that name when it is whole. Io: the file can't be written.
  Status save(const std::string &path);
  /// Goes on from a saved session of the same .llmc file and variant, on this
  /// device or another. NotFound, Io; InvalidFile: damaged, or of another file,
  /// and then the session is as before.
  Status restore(const std::string &path);

  /// Ends an evaluation that is under way in another thread, between two of its
  /// steps, or else the next one.
  void cancel() { isCancelled = true; }

private:
  struct Bucket {
    uint32_t rows = 0;
    uint32_t entry = 0;
    uint32_t port = 0; // input `tokens` of forward, output `logits` of logits
  };

  explicit LanguageModel(std::unique_ptr<Session> session)
      : session(std::move(session)) {}
  Status findFunctions();
  StateIdentity stateIdentity() const;
  Status checkTokens(const int32_t *tokens, size_t count) const;
  Status evaluate(const int32_t *tokens, size_t count, bool wantsAll,
                  const LogitsSink &sink);
  Status evaluateSteps(const int32_t *tokens, uint32_t count, bool wantsAll,
                       const LogitsSink &sink);
  Status prepareForward(const int32_t *tokens, uint32_t rows,
                        const Bucket &forward);
  Status runStep(const int32_t *tokens, uint32_t rows, const Bucket &forward);
  Status runLastStep(const int32_t *tokens, uint32_t rows,
                     const Bucket &forward, const LogitsSink &sink);
  Status runLogits(uint32_t numRows, const LogitsSink &sink);
  /// The smallest of more than one row; null where logits have no such step.
  const Bucket *draftBucket() const;
  Status runDraft(const int32_t *tokens, uint32_t rows, const LogitsSink &sink);
  Status goOn(uint64_t mostTokens, const TokenSink &sink);
  Status deliver(const Bucket &bucket, uint32_t rows, const LogitsSink &sink);
  static const Bucket &smallestFor(uint32_t rows,
                                   const std::vector<Bucket> &buckets);

  std::unique_ptr<Session> session;
  std::unique_ptr<TokenChoice> choice; // once it was asked for, if there is one
  std::vector<Bucket> forwardBuckets;  // rows ascending
  std::vector<Bucket> logitsBuckets;   // rows ascending
  uint32_t numLogits = 0;
  uint32_t maxContext = 0;
  uint32_t numEvaluated = 0;
  uint32_t lastRows = 0; // of the step that ran last
  bool cannotGoBack = false;
  bool knowsChoice = false;
  std::atomic<bool> isCancelled{false};
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_LANGUAGEMODEL_H
