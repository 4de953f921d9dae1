// SPDX-License-Identifier: Apache-2.0
//
// llmc embed: texts as vectors.

#include "tools/llmc/Commands.h"
#include "tools/llmc/RowFile.h"
#include "tools/llmc/RuntimeCommand.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace llmc::tool {

namespace {

struct EmbedOptions {
  std::string path;
  std::vector<std::string> texts;
  std::string textFile;
  std::vector<std::string> tokens;
  std::string output;
  bool asJson = false;
  DeviceOptions device;
};

/// The lines of a text, without their ends; an empty last one is none.
std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool hasReturn = end > begin && text[end - 1] == '\r';
    lines.push_back(text.substr(begin, end - begin - (hasReturn ? 1 : 0)));
    begin = end + 1;
  }
  return lines;
}

/// Ids of the texts, in the form that the model was trained on, or those that
/// were given.
StatusOr<std::vector<runtime::TokenList>> tokenize(const EmbedOptions &options,
                                                   const format::Reader &file) {
  std::vector<runtime::TokenList> all;
  for (const std::string &ids : options.tokens) {
    LLMC_ASSIGN_OR_RETURN(runtime::TokenList tokens, parseTokens(ids));
    all.push_back(std::move(tokens));
  }
  std::vector<std::string> texts = options.texts;
  if (!options.textFile.empty()) {
    LLMC_ASSIGN_OR_RETURN(const std::string content,
                          readTextFile(options.textFile));
    for (std::string &line : linesOf(content))
      texts.push_back(std::move(line));
  }
  if (texts.empty() && all.empty())
    return Status(StatusCode::InvalidArgument, "there is no text to embed");
  if (texts.empty())
    return all;
  LLMC_ASSIGN_OR_RETURN(const std::unique_ptr<text::Tokenizer> tokenizer,
                        createTokenizer(file));
  text::EncodeOptions encoding;
  encoding.addBos = encoding.addEos = true;
  for (const std::string &text : texts) {
    LLMC_ASSIGN_OR_RETURN(
        runtime::TokenList tokens,
        tokenizer->encode(text, /*parseSpecial=*/false, encoding));
    all.push_back(std::move(tokens));
  }
  return all;
}

void print(const std::vector<float> &embeddings, size_t size, bool asJson) {
  nlohmann::json rows = nlohmann::json::array();
  for (auto row = embeddings.begin(); row != embeddings.end();
       row += static_cast<ptrdiff_t>(size)) {
    const std::vector<float> one(row, row + static_cast<ptrdiff_t>(size));
    if (asJson) {
      rows.push_back(one);
      continue;
    }
    for (size_t i = 0; i < size; ++i)
      std::printf(i ? " %.9g" : "%.9g", static_cast<double>(one[i]));
    std::puts("");
  }
  if (asJson)
    std::puts(rows.dump().c_str());
}

Status embed(const EmbedOptions &options) {
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        loadModule(options.path, options.device));
  LLMC_ASSIGN_OR_RETURN(const std::vector<runtime::TokenList> texts,
                        tokenize(options, module->reader()));
  LLMC_ASSIGN_OR_RETURN(const std::unique_ptr<runtime::EmbeddingModel> model,
                        runtime::EmbeddingModel::create(
                            module, toSessionOptions(options.device)));
  const size_t size = model->size();
  std::vector<float> embeddings(texts.size() * size);
  LLMC_RETURN_IF_ERROR(model->embed(texts, embeddings.data()));
  if (options.output.empty()) {
    print(embeddings, size, options.asJson);
    return okStatus();
  }
  RowFile file(options.output, size);
  for (size_t i = 0; i < texts.size(); ++i)
    LLMC_RETURN_IF_ERROR(file.append(embeddings.data() + i * size));
  return file.finish();
}

} // namespace

int runEmbed(const Arguments &arguments) {
  EmbedOptions embedding;
  Options options("embed F [TEXT…]",
                  "Prints an embedding for each text: a line of numbers.");
  options.positional("F", embedding.path, "a .llmc file of a text encoder");
  options.rest("TEXT", embedding.texts, "the texts");
  options.text("text-file", "FILE", embedding.textFile,
               "embed each line of FILE");
  options.texts("tokens", "IDS", embedding.tokens,
                "embed token ids, between commas; may be given several "
                "times");
  options.text("output,o", "FILE", embedding.output,
               "write fp32 numbers, little endian, one row a text, instead");
  options.flag("json", embedding.asJson, "print a JSON array of arrays");
  embedding.device.declare(options);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (Status status = embed(embedding); !status.ok())
    return fail(status);
  return kExitOk;
}

} // namespace llmc::tool
