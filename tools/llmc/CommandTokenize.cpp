// SPDX-License-Identifier: Apache-2.0
//
// llmc tokenize: the ids of a text.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ModelFile.h"
#include "tools/llmc/RuntimeCommand.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace llmc::tool {

int runTokenize(const Arguments &arguments) {
  std::string path;
  std::string text;
  std::string textFile;
  bool parsesSpecial = false;
  bool addsBos = false;
  bool asJson = false;
  Options options("tokenize F [TEXT]", "Prints the token ids of a text.");
  options.positional(
      "F", path,
      "a .llmc file; where the compiler is built in also a model (GGUF, a "
      "Hugging Face directory) or a tokenizer.json");
  options.positional("TEXT", text, "the text", false);
  options.text("text-file", "FILE", textFile, "take the text from FILE");
  options.flag("special", parsesSpecial,
               "spelt-out special tokens become their ids");
  options.flag("bos", addsBos,
               "begin as a prompt would, with BOS where the model wants it");
  options.flag("json", asJson, "print a JSON array");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (!textFile.empty()) {
    auto content = readTextFile(textFile);
    if (!content.ok())
      return fail(content.status());
    text = std::move(*content);
  }
  auto tokenizer = openTokenizer(path);
  if (!tokenizer.ok())
    return fail(tokenizer.status());
  text::EncodeOptions encodeOptions;
  encodeOptions.addBos = addsBos;
  auto ids = (*tokenizer)->encode(text, parsesSpecial, encodeOptions);
  if (!ids.ok())
    return fail(ids.status());
  if (asJson) {
    std::puts(nlohmann::json(*ids).dump().c_str());
    return kExitOk;
  }
  for (size_t i = 0; i < ids->size(); ++i)
    std::printf(i ? " %d" : "%d", (*ids)[i]);
  std::puts("");
  return kExitOk;
}

} // namespace llmc::tool
