// SPDX-License-Identifier: Apache-2.0
//
// EmbeddingModel.h.

#include "runtime/session/EmbeddingModel.h"

#include "runtime/session/Finite.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace llmc::runtime {

namespace {

constexpr const char *kEncode = "encode";

} // namespace

bool EmbeddingModel::isIn(const Module &module) {
  const auto &entries = module.variant().entries();
  return std::any_of(
      entries.begin(), entries.end(),
      [](const format::Entry &entry) { return entry.function() == kEncode; });
}

StatusOr<std::unique_ptr<EmbeddingModel>>
EmbeddingModel::create(std::shared_ptr<const Module> module,
                       const SessionOptions &options) {
  if (!isIn(*module))
    return Status(StatusCode::Unsupported,
                  module->reader().path() +
                      ": the file has no encoder: a function 'encode' is "
                      "needed");
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        Session::create(std::move(module), options));
  std::unique_ptr<EmbeddingModel> model(new EmbeddingModel(std::move(session)));
  if (Status status = model->findSteps(); !status.ok())
    return status.withContext(model->module().reader().path());
  return model;
}

StatusOr<EmbeddingModel::Step> EmbeddingModel::describe(uint32_t index) {
  const format::Entry &entry =
      module().variant().entries(static_cast<int>(index));
  Step step;
  step.rows = entry.rows();
  step.entry = index;
  LLMC_ASSIGN_OR_RETURN(step.tokens, session->findInput(index, "tokens"));
  LLMC_ASSIGN_OR_RETURN(step.positions, session->findInput(index, "positions"));
  LLMC_ASSIGN_OR_RETURN(step.ranges, session->findInput(index, "ranges"));
  LLMC_ASSIGN_OR_RETURN(step.hidden, session->findOutput(index, "hidden"));
  if (auto spans = session->findInput(index, "spans"); spans.ok()) {
    step.spans = *spans;
    LLMC_ASSIGN_OR_RETURN(step.embedding,
                          session->findOutput(index, "embedding"));
  }
  return step;
}

Status EmbeddingModel::findSteps() {
  const auto &entries = module().variant().entries();
  for (int i = 0; i < entries.size(); ++i) {
    if (entries[i].function() != kEncode)
      continue;
    LLMC_ASSIGN_OR_RETURN(const Step step, describe(static_cast<uint32_t>(i)));
    const auto hidden = static_cast<uint32_t>(
        entries[i].outputs(static_cast<int>(step.hidden)).row_elements());
    const bool isOther =
        !steps.empty() &&
        (hidden != width || step.spans.has_value() != hasPooling());
    if (isOther)
      return Status(StatusCode::InvalidFile,
                    "the functions 'encode' differ in their results");
    width = hidden;
    steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end(),
            [](const Step &a, const Step &b) { return a.rows < b.rows; });
  vocabularySize = static_cast<uint32_t>(std::min<uint64_t>(
      module().manifest().model().vocabulary_size(), INT32_MAX));
  return okStatus();
}

Status EmbeddingModel::checkTexts(const std::vector<TokenList> &texts) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = "text " + std::to_string(i);
    if (texts[i].empty())
      return Status(StatusCode::InvalidArgument, name + " has no token");
    if (texts[i].size() > maxTokens())
      return Status(StatusCode::ContextFull,
                    name + " has " + std::to_string(texts[i].size()) +
                        " tokens, the model takes " +
                        std::to_string(maxTokens()));
    for (const int32_t token : texts[i])
      if (token < 0 || static_cast<uint32_t>(token) >= vocabularySize)
        return Status(StatusCode::InvalidArgument,
                      name + " has token " + std::to_string(token) +
                          ", allowed is 0 to " +
                          std::to_string(vocabularySize - 1));
  }
  return okStatus();
}

/// Rows between texts see nothing and belong to no text.
EmbeddingModel::Inputs
EmbeddingModel::inputsOf(const TextStep &plan,
                         const std::vector<TokenList> &texts) {
  Inputs inputs;
  inputs.tokens.resize(plan.rows);
  inputs.positions.resize(plan.rows);
  inputs.ranges.resize(size_t{2} * plan.rows);
  inputs.spans.resize(size_t{2} * plan.rows);
  for (size_t i = 0; i < plan.texts.size(); ++i) {
    const TokenList &text = texts[plan.texts[i].text];
    const auto first = static_cast<int32_t>(plan.texts[i].firstRow);
    const auto end = first + static_cast<int32_t>(text.size());
    inputs.spans[2 * i] = first;
    inputs.spans[2 * i + 1] = end;
    for (int32_t row = first; row < end; ++row) {
      inputs.tokens[static_cast<size_t>(row)] =
          text[static_cast<size_t>(row - first)];
      inputs.positions[static_cast<size_t>(row)] = row - first;
      inputs.ranges[size_t{2} * static_cast<size_t>(row)] = first;
      inputs.ranges[size_t{2} * static_cast<size_t>(row) + 1] = end;
    }
  }
  return inputs;
}

Status EmbeddingModel::run(const Step &step, const TextStep &plan,
                           const std::vector<TokenList> &texts) {
  const Inputs inputs = inputsOf(plan, texts);
  session->writeStep(step.entry, {0, static_cast<int32_t>(plan.rows), 0});
  LLMC_RETURN_IF_ERROR(session->writeInput(step.entry, step.tokens,
                                           inputs.tokens.data(), plan.rows));
  LLMC_RETURN_IF_ERROR(session->writeInput(step.entry, step.positions,
                                           inputs.positions.data(), plan.rows));
  LLMC_RETURN_IF_ERROR(session->writeInput(step.entry, step.ranges,
                                           inputs.ranges.data(), plan.rows));
  if (step.spans)
    LLMC_RETURN_IF_ERROR(session->writeInput(step.entry, *step.spans,
                                             inputs.spans.data(), plan.rows));
  return session->submit({step.entry});
}

std::vector<TextStep>
EmbeddingModel::plan(const std::vector<TokenList> &texts) const {
  std::vector<uint32_t> lengths, buckets;
  for (const TokenList &text : texts)
    lengths.push_back(static_cast<uint32_t>(text.size()));
  for (const Step &step : steps)
    buckets.push_back(step.rows);
  return planTexts(lengths, buckets);
}

const EmbeddingModel::Step &EmbeddingModel::stepOf(const TextStep &plan) const {
  return *std::find_if(steps.begin(), steps.end(), [&](const Step &step) {
    return step.rows == plan.bucket;
  });
}

Status EmbeddingModel::embed(const std::vector<TokenList> &texts,
                             float *embeddings) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  if (!hasPooling())
    return Status(StatusCode::Unsupported,
                  "the file does not say how a text's rows become its "
                  "embedding; compile it with --pooling");
  LLMC_RETURN_IF_ERROR(checkTexts(texts));
  std::vector<float> rows;
  for (const TextStep &placed : plan(texts)) {
    const Step &step = stepOf(placed);
    LLMC_RETURN_IF_ERROR(run(step, placed, texts));
    rows.resize(placed.texts.size() * width);
    LLMC_RETURN_IF_ERROR(session->readOutput(step.entry, step.embedding,
                                             rows.data(), placed.texts.size()));
    if (!isFinite(rows.data(), rows.size()))
      return Status(StatusCode::NonFinite,
                    "the model computed embeddings that are not finite");
    for (size_t i = 0; i < placed.texts.size(); ++i)
      std::memcpy(embeddings + placed.texts[i].text * width,
                  rows.data() + i * width, width * sizeof(float));
  }
  return okStatus();
}

Status EmbeddingModel::encode(const TokenList &text, float *rows) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, session->acquire());
  LLMC_RETURN_IF_ERROR(checkTexts({text}));
  const TextStep placed = plan({text}).front();
  const Step &step = stepOf(placed);
  LLMC_RETURN_IF_ERROR(run(step, placed, {text}));
  LLMC_RETURN_IF_ERROR(
      session->readOutput(step.entry, step.hidden, rows, text.size()));
  if (!isFinite(rows, text.size() * width))
    return Status(StatusCode::NonFinite,
                  "the model computed rows that are not finite");
  return okStatus();
}

} // namespace llmc::runtime
