// SPDX-License-Identifier: Apache-2.0
//
// LanguageModel.h.

#include "runtime/session/LanguageModel.h"

#include "runtime/session/Finite.h"
#include "runtime/session/PrefillPlan.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace llmc::runtime {

namespace {

constexpr const char *kForward = "forward";
constexpr const char *kLogits = "logits";
constexpr const char *kTokens = "tokens";
// Submissions: the device works on one while the host looks at the tokens of
// the one before and submits the one behind.
constexpr uint32_t kMostInFlight = 3;

} // namespace

StatusOr<std::unique_ptr<LanguageModel>>
LanguageModel::create(std::shared_ptr<const Module> module,
                      const SessionOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        Session::create(std::move(module), options));
  std::unique_ptr<LanguageModel> model(new LanguageModel(std::move(session)));
  if (Status status = model->findFunctions(); !status.ok())
    return status.withContext(model->module().reader().path());
  return model;
}

Status LanguageModel::findFunctions() {
  const format::Variant &variant = module().variant();
  for (int i = 0; i < variant.entries_size(); ++i) {
    const format::Entry &entry = variant.entries(i);
    const uint32_t index = static_cast<uint32_t>(i);
    if (entry.function() == kForward) {
      LLMC_ASSIGN_OR_RETURN(const uint32_t port,
                            session->findInput(index, kTokens));
      forwardBuckets.push_back({entry.rows(), index, port});
    } else if (entry.function() == kLogits) {
      LLMC_ASSIGN_OR_RETURN(const uint32_t port,
                            session->findOutput(index, kLogits));
      logitsBuckets.push_back({entry.rows(), index, port});
      const uint32_t width = static_cast<uint32_t>(
          entry.outputs(static_cast<int>(port)).row_elements());
      if (numLogits && width != numLogits)
        return Status(
            StatusCode::InvalidFile,
            "the functions 'logits' differ in their number of logits");
      numLogits = width;
    }
  }
  if (forwardBuckets.empty() || logitsBuckets.empty())
    return Status(StatusCode::Unsupported,
                  "the file has no language model: functions 'forward' and "
                  "'logits' are needed");
  const auto byRows = [](const Bucket &a, const Bucket &b) {
    return a.rows < b.rows;
  };
  std::sort(forwardBuckets.begin(), forwardBuckets.end(), byRows);
  std::sort(logitsBuckets.begin(), logitsBuckets.end(), byRows);
  const format::Model &model = module().manifest().model();
  if (model.vocabulary_size() != numLogits)
    return Status(StatusCode::InvalidFile,
                  "model.vocabulary_size is " +
                      std::to_string(model.vocabulary_size()) +
                      ", the port 'logits' has " + std::to_string(numLogits));
  cannotGoBack = model.cannot_go_back();
  maxContext =
      static_cast<uint32_t>(std::min<uint64_t>(model.max_context(), INT32_MAX));
  return okStatus();
}

Status LanguageModel::prefill(const std::vector<int32_t> &tokens,
                              float *logits) {
  const auto copyOut = [&](const float *row) {
    std::memcpy(logits, row, size_t{numLogits} * sizeof(float));
    return okStatus();
  };
  return evaluate(tokens.data(), tokens.size(), /*wantsAll=*/false,
                  logits ? LogitsSink(copyOut) : LogitsSink());
}

Status LanguageModel::prefillWithAllLogits(const std::vector<int32_t> &tokens,
                                           const LogitsSink &sink) {
  return evaluate(tokens.data(), tokens.size(), /*wantsAll=*/true, sink);
}

Status LanguageModel::decode(int32_t token, float *logits) {
  const auto copyOut = [&](const float *row) {
    std::memcpy(logits, row, size_t{numLogits} * sizeof(float));
    return okStatus();
  };
  return evaluate(&token, 1, /*wantsAll=*/false,
                  logits ? LogitsSink(copyOut) : LogitsSink());
}

const LanguageModel::Bucket *LanguageModel::draftBucket() const {
  for (const Bucket &bucket : forwardBuckets)
    if (bucket.rows > 1)
      return bucket.rows <= logitsBuckets.back().rows ? &bucket : nullptr;
  return nullptr;
}

uint32_t LanguageModel::draftRows() const {
  const Bucket *bucket = cannotGoBack ? nullptr : draftBucket();
  return bucket ? bucket->rows : 0;
}

Status LanguageModel::decodeDraft(const int32_t *tokens, size_t count,
                                  const LogitsSink &sink) {
  if (count > draftRows())
    return Status(StatusCode::InvalidArgument,
                  std::to_string(count) +
                      " tokens were to be decoded in one step, most are " +
                      std::to_string(draftRows()));
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_RETURN_IF_ERROR(checkTokens(tokens, count));
  const uint32_t rows = static_cast<uint32_t>(count);
  const uint32_t start = numEvaluated;
  Status status = runDraft(tokens, rows, sink);
  if (!status.ok())
    numEvaluated = start;
  return status;
}

/// The same two entries for any number of rows: what a row gives depends on the
/// entry, not on the rows beside it.
Status LanguageModel::runDraft(const int32_t *tokens, uint32_t rows,
                               const LogitsSink &sink) {
  const Bucket &forward = *draftBucket();
  const Bucket &logits = smallestFor(forward.rows, logitsBuckets);
  const StepWords words{static_cast<int32_t>(numEvaluated),
                        static_cast<int32_t>(rows), 0};
  LLMC_RETURN_IF_ERROR(prepareForward(tokens, rows, forward));
  // Both have the same step words, so that they may share the place.
  session->writeStep(logits.entry, words);
  LLMC_RETURN_IF_ERROR(session->submit({forward.entry, logits.entry}));
  numEvaluated += rows;
  return deliver(logits, rows, sink);
}

/// A model that can't go back has one token in flight: a step behind a token
/// that ends the text could not be taken back.
StatusOr<bool> LanguageModel::canChoose(const ChoiceOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  if (!knowsChoice && forwardBuckets.front().rows == 1) {
    const uint32_t forward = forwardBuckets.front().entry;
    LLMC_ASSIGN_OR_RETURN(
        choice, TokenChoice::create(*session, forward,
                                    cannotGoBack ? 1 : kMostInFlight));
  }
  knowsChoice = true;
  return choice && choice->has(options);
}

Status LanguageModel::generate(const std::vector<int32_t> &tokens,
                               const ChoiceOptions &options,
                               uint64_t mostTokens, const TokenSink &sink) {
  LLMC_RETURN_IF_ERROR(evaluate(tokens.data(), tokens.size(),
                                /*wantsAll=*/false, LogitsSink()));
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  if (!choice)
    return Status(StatusCode::Unsupported,
                  "the device was not asked whether it can choose tokens");
  if (mostTokens == 0)
    return okStatus();
  LLMC_RETURN_IF_ERROR(choice->begin(options));
  LLMC_ASSIGN_OR_RETURN(const int32_t first,
                        choice->chooseFirst(numEvaluated - 1, lastRows - 1));
  LLMC_ASSIGN_OR_RETURN(const bool goesOn, sink(first));
  if (!goesOn)
    return okStatus();
  const Status status = goOn(mostTokens - 1, sink);
  // Steps behind the last one that counts; their rows are overwritten.
  LLMC_RETURN_IF_ERROR(choice->drain());
  return status;
}

Status LanguageModel::goOn(uint64_t mostTokens, const TokenSink &sink) {
  uint64_t numSubmitted = 0;
  while (true) {
    while (!choice->isFull()) {
      const uint32_t position = numEvaluated + choice->inFlight();
      const uint64_t most =
          std::min<uint64_t>(mostTokens - numSubmitted, maxContext - position);
      if (most == 0)
        break;
      if (isCancelled.exchange(false))
        return Status(StatusCode::Cancelled, "the generation was cancelled");
      LLMC_ASSIGN_OR_RETURN(const uint32_t numSteps,
                            choice->submit(position, most));
      numSubmitted += numSteps;
    }
    if (choice->inFlight() == 0)
      return okStatus();
    LLMC_ASSIGN_OR_RETURN(const int32_t token, choice->wait(numEvaluated));
    ++numEvaluated;
    LLMC_ASSIGN_OR_RETURN(const bool goesOn, sink(token));
    if (!goesOn)
      return okStatus();
  }
}

Status LanguageModel::truncate(uint32_t numTokens) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  if (cannotGoBack && numTokens != 0 && numTokens != numEvaluated)
    return Status(StatusCode::Unsupported,
                  "the model overwrites what it remembers: a session can "
                  "forget all of its tokens or none, not keep " +
                      std::to_string(numTokens) + " of " +
                      std::to_string(numEvaluated));
  if (numTokens > numEvaluated)
    return Status(StatusCode::InvalidArgument,
                  "the session was to keep " + std::to_string(numTokens) +
                      " tokens, it has " + std::to_string(numEvaluated));
  numEvaluated = numTokens;
  return okStatus();
}

StateIdentity LanguageModel::stateIdentity() const {
  return {module().reader().contentHash(), module().variant().target().name(),
          session->stateBytes()};
}

StatusOr<std::unique_ptr<LanguageModel>> LanguageModel::fork() {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<Session> copy, session->fork());
  std::unique_ptr<LanguageModel> model(new LanguageModel(std::move(copy)));
  LLMC_RETURN_IF_ERROR(model->findFunctions());
  model->numEvaluated = numEvaluated;
  return model;
}

Status LanguageModel::save(const std::string &path) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_ASSIGN_OR_RETURN(
      std::unique_ptr<StateFileWriter> writer,
      StateFileWriter::create(path, stateIdentity(), numEvaluated));
  LLMC_RETURN_IF_ERROR(session->readStates(
      [&](format::ByteSpan piece) { return writer->write(piece); }));
  return writer->commit();
}

Status LanguageModel::restore(const std::string &path) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<StateFileReader> reader,
                        StateFileReader::open(path, stateIdentity()));
  if (reader->position() > maxContext)
    return Status(StatusCode::InvalidFile,
                  path + ": holds " + std::to_string(reader->position()) +
                      " tokens, the context has room for " +
                      std::to_string(maxContext));
  numEvaluated = 0;
  LLMC_RETURN_IF_ERROR(session->writeStates(
      [&](uint8_t *data, size_t size) { return reader->read(data, size); }));
  numEvaluated = reader->position();
  return okStatus();
}

Status LanguageModel::checkTokens(const int32_t *tokens, size_t count) const {
  if (count == 0)
    return Status(StatusCode::InvalidArgument, "there is no token to evaluate");
  if (count > maxContext - numEvaluated)
    return Status(StatusCode::ContextFull,
                  std::to_string(count) + " tokens after " +
                      std::to_string(numEvaluated) + " make " +
                      std::to_string(count + numEvaluated) +
                      ", the context has room for " +
                      std::to_string(maxContext));
  for (size_t i = 0; i < count; ++i)
    if (tokens[i] < 0 || static_cast<uint32_t>(tokens[i]) >= numLogits)
      return Status(StatusCode::InvalidArgument,
                    "token " + std::to_string(i) + " is " +
                        std::to_string(tokens[i]) + ", allowed is 0 to " +
                        std::to_string(numLogits - 1));
  return okStatus();
}

Status LanguageModel::evaluate(const int32_t *tokens, size_t count,
                               bool wantsAll, const LogitsSink &sink) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_RETURN_IF_ERROR(checkTokens(tokens, count));
  const uint32_t start = numEvaluated;
  Status status =
      evaluateSteps(tokens, static_cast<uint32_t>(count), wantsAll, sink);
  // Steps that ran have overwritten what the model remembers.
  if (!status.ok())
    numEvaluated = cannotGoBack && numEvaluated != start ? 0 : start;
  return status;
}

Status LanguageModel::evaluateSteps(const int32_t *tokens, uint32_t count,
                                    bool wantsAll, const LogitsSink &sink) {
  // Decoding is this alone, without a plan.
  if (count == 1 && !wantsAll)
    return runLastStep(tokens, 1, smallestFor(1, forwardBuckets), sink);
  std::vector<uint32_t> sizes;
  for (const Bucket &bucket : forwardBuckets)
    sizes.push_back(bucket.rows);
  for (const PrefillStep &step : planPrefill(count, sizes)) {
    const Bucket &forward = smallestFor(step.bucket, forwardBuckets);
    const bool isLast = step.rows == count;
    if (wantsAll) {
      LLMC_RETURN_IF_ERROR(runStep(tokens, step.rows, forward));
      LLMC_RETURN_IF_ERROR(runLogits(step.rows, sink));
    } else if (isLast) {
      LLMC_RETURN_IF_ERROR(runLastStep(tokens, step.rows, forward, sink));
    } else {
      LLMC_RETURN_IF_ERROR(runStep(tokens, step.rows, forward));
    }
    tokens += step.rows;
    count -= step.rows;
  }
  return okStatus();
}

Status LanguageModel::prepareForward(const int32_t *tokens, uint32_t rows,
                                     const Bucket &forward) {
  if (isCancelled.exchange(false))
    return Status(StatusCode::Cancelled, "the evaluation was cancelled");
  session->writeStep(forward.entry, {static_cast<int32_t>(numEvaluated),
                                     static_cast<int32_t>(rows), 0});
  return session->writeInput(forward.entry, forward.port, tokens, rows);
}

Status LanguageModel::runStep(const int32_t *tokens, uint32_t rows,
                              const Bucket &forward) {
  LLMC_RETURN_IF_ERROR(prepareForward(tokens, rows, forward));
  LLMC_RETURN_IF_ERROR(session->submit({forward.entry}));
  numEvaluated += rows;
  lastRows = rows;
  return okStatus();
}

/// The step and the logits of its last row, in one submission where their step
/// words allow it.
Status LanguageModel::runLastStep(const int32_t *tokens, uint32_t rows,
                                  const Bucket &forward,
                                  const LogitsSink &sink) {
  const Bucket &logits = smallestFor(1, logitsBuckets);
  const StepWords logitsWords{static_cast<int32_t>(numEvaluated), 1,
                              static_cast<int32_t>(rows) - 1};
  if (!sink)
    return runStep(tokens, rows, forward);
  // One row: both have the same step words, so that they may share the place.
  if (rows == 1 || session->canSubmitTogether(forward.entry, logits.entry)) {
    LLMC_RETURN_IF_ERROR(prepareForward(tokens, rows, forward));
    session->writeStep(logits.entry, logitsWords);
    LLMC_RETURN_IF_ERROR(session->submit({forward.entry, logits.entry}));
    numEvaluated += rows;
  } else {
    LLMC_RETURN_IF_ERROR(runStep(tokens, rows, forward));
    session->writeStep(logits.entry, logitsWords);
    LLMC_RETURN_IF_ERROR(session->submit({logits.entry}));
  }
  return deliver(logits, 1, sink);
}

/// The logits of the first `numRows` rows of the step that ran last.
Status LanguageModel::runLogits(uint32_t numRows, const LogitsSink &sink) {
  for (uint32_t first = 0; first < numRows;) {
    const uint32_t rows = std::min(numRows - first, logitsBuckets.back().rows);
    const Bucket &logits = smallestFor(rows, logitsBuckets);
    session->writeStep(logits.entry,
                       {static_cast<int32_t>(numEvaluated - numRows),
                        static_cast<int32_t>(rows),
                        static_cast<int32_t>(first)});
    LLMC_RETURN_IF_ERROR(session->submit({logits.entry}));
    LLMC_RETURN_IF_ERROR(deliver(logits, rows, sink));
    first += rows;
  }
  return okStatus();
}

Status LanguageModel::deliver(const Bucket &bucket, uint32_t rows,
                              const LogitsSink &sink) {
  for (uint32_t row = 0; row < rows; ++row) {
    const float *logits = session->outputRow(bucket.entry, bucket.port, row);
    if (!isFinite(logits, numLogits))
      return Status(StatusCode::NonFinite,
                    "the model computed logits that are not finite");
    LLMC_RETURN_IF_ERROR(sink(logits));
  }
  return okStatus();
}

const LanguageModel::Bucket &
LanguageModel::smallestFor(uint32_t rows, const std::vector<Bucket> &buckets) {
  return *std::find_if(
      buckets.begin(), buckets.end() - 1,
      [&](const Bucket &bucket) { return bucket.rows >= rows; });
}

} // namespace llmc::runtime
