// SPDX-License-Identifier: Apache-2.0
//
// llmc logits: the numbers, for comparison with other implementations.

#include "tools/llmc/Commands.h"
#include "tools/llmc/RuntimeCommand.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace llmc::tool {

namespace {

/// Rows of fp32 in a file that appears when all of them are written.
class RowFile {
public:
  RowFile(std::string path, size_t rowFloats)
      : path(std::move(path)), temporary(this->path + ".tmp"),
        rowBytes(rowFloats * sizeof(float)), file(temporary, std::ios::binary) {
  }
  ~RowFile() { std::remove(temporary.c_str()); }

  Status append(const float *row) {
    file.write(reinterpret_cast<const char *>(row),
               static_cast<std::streamsize>(rowBytes));
    return file ? okStatus() : failure();
  }
  Status finish() {
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0)
      return failure();
    return okStatus();
  }

private:
  Status failure() const {
    return Status(StatusCode::Io, path + ": could not write");
  }

  std::string path;
  std::string temporary;
  size_t rowBytes;
  std::ofstream file;
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

} // namespace

int runLogits(const Arguments &arguments) {
  std::string path;
  std::string tokenText;
  std::string tokensFile;
  std::string output;
  int64_t stepwise = -1;
  DeviceOptions device;
  Options options("logits F --tokens=IDS -o OUT.f32",
                  "Writes the logits after every token: fp32, little endian, "
                  "one row a token.");
  options.positional("F", path, "a .llmc file");
  options.text("tokens", "IDS", tokenText, "token ids, between commas");
  options.text("tokens-file", "FILE", tokensFile,
               "token ids in FILE, between commas or white space");
  options.text("output,o", "FILE", output, "where the logits go");
  options.integer("stepwise", "K", stepwise, 0, INT32_MAX,
                  "prefill the first K tokens, decode the rest one by one "
                  "(default: prefill all)");
  device.declare(options);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (output.empty())
    return fail(Status(StatusCode::InvalidArgument, "-o is missing"));
  if (!tokensFile.empty()) {
    auto content = readTextFile(tokensFile);
    if (!content.ok())
      return fail(content.status());
    tokenText = std::move(*content);
  }
  auto tokens = parseTokens(tokenText);
  if (!tokens.ok())
    return fail(tokens.status());
  if (tokens->empty())
    return fail(
        Status(StatusCode::InvalidArgument, "there is no token to evaluate"));
  auto model = loadLanguageModel(path, device);
  if (!model.ok())
    return fail(model.status());
  // All or nothing: told before the first step.
  if (tokens->size() > (*model)->contextLength())
    return fail(Status(StatusCode::ContextFull,
                       std::to_string(tokens->size()) +
                           " tokens were given, the context has room for " +
                           std::to_string((*model)->contextLength())));
  const size_t numPrefilled =
      stepwise < 0
          ? tokens->size()
          : std::min<size_t>(static_cast<size_t>(stepwise), tokens->size());
  RowFile file(output, (*model)->vocabularySize());
  if (Status status = writeLogits(**model, *tokens, numPrefilled, file);
      !status.ok())
    return fail(status);
  return kExitOk;
}

} // namespace llmc::tool
