// SPDX-License-Identifier: Apache-2.0
//
// What the other files of a model directory say of its tokenizer.

#include "compiler/Import/HuggingFace/Json.h"
#include "compiler/Import/HuggingFace/JsonView.h"
#include "compiler/Import/HuggingFace/TokenizerFromJson.h"
#include "compiler/Import/StopTokens.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace llmc::importer {

namespace {

using format::Tokenizer;
using huggingface::inQuotes;
using huggingface::JsonMistake;
using huggingface::JsonView;
using nlohmann::json;

class FolderReader {
public:
  explicit FolderReader(StringRef folder) : folder(folder) {}

  llvm::Expected<std::optional<Tokenizer>> read();

private:
  std::string pathOf(StringRef name) const {
    SmallString<256> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  bool has(StringRef name) const { return llvm::sys::fs::exists(pathOf(name)); }
  llvm::Expected<std::string> readText(StringRef name) const;
  llvm::Error readConfig();
  llvm::Error readStopIds(StringRef name);
  llvm::Error readTemplate();
  void setSpecialToken(JsonView token, bool isSet,
                       void (Tokenizer::*set)(int64_t));
  void addStopId(JsonView id);

  std::string folder;
  Tokenizer tokenizer;
  std::vector<int64_t> stopIds;
};

llvm::Expected<std::optional<Tokenizer>> FolderReader::read() {
  constexpr StringRef kFile = "tokenizer.json";
  if (!has(kFile))
    return std::nullopt;
  auto text = readText(kFile);
  if (!text)
    return text.takeError();
  auto parsed = readTokenizerJson(*text, pathOf(kFile));
  if (!parsed)
    return parsed.takeError();
  tokenizer = std::move(*parsed);
  if (llvm::Error error = readConfig())
    return std::move(error);
  stopIds.push_back(tokenizer.eos_id());
  for (StringRef name : {"generation_config.json", "config.json"})
    if (llvm::Error error = readStopIds(name))
      return std::move(error);
  tokenizer.clear_stop_ids();
  setStopIds(tokenizer, stopIds);
  if (llvm::Error error = readTemplate())
    return std::move(error);
  return std::optional<Tokenizer>(std::move(tokenizer));
}

llvm::Expected<std::string> FolderReader::readText(StringRef name) const {
  auto bytes = llvm::MemoryBuffer::getFile(pathOf(name));
  if (!bytes)
    return llvm::createStringError(
        pathOf(name) + ": can't be read: " + bytes.getError().message());
  return (*bytes)->getBuffer().str();
}

/// A token is named by its text, or by an object with it as `content`.
void FolderReader::setSpecialToken(JsonView token, bool isSet,
                                   void (Tokenizer::*set)(int64_t)) {
  if (isSet || token.isNull())
    return;
  std::string text =
      token.isObject() ? token["content"].string() : token.string();
  for (int i = 0; i < tokenizer.tokens_size(); ++i)
    if (tokenizer.tokens(i) == text && !text.empty()) {
      (tokenizer.*set)(i);
      return;
    }
  token.refuse("is " + inQuotes(text) + ", which is no token");
}

/// The template of a configuration: a text, or the one named "default" of a
/// list of them.
static std::string templateOf(JsonView value) {
  if (!value.isArray())
    return value.string();
  for (const JsonView &entry : value.elements())
    if (entry["name"].string() == "default")
      return entry["template"].string();
  value.refuse("has no template named 'default'");
  return "";
}

llvm::Error FolderReader::readConfig() {
  constexpr StringRef kFile = "tokenizer_config.json";
  if (!has(kFile))
    return llvm::Error::success();
  llvm::Expected<json> file = huggingface::readJsonFile(pathOf(kFile));
  if (!file)
    return file.takeError();
  JsonMistake mistake(pathOf(kFile));
  JsonView root(*file, "", mistake);
  setSpecialToken(root["bos_token"], tokenizer.bos_id() != kNoToken,
                  &Tokenizer::set_bos_id);
  setSpecialToken(root["eos_token"], tokenizer.eos_id() != kNoToken,
                  &Tokenizer::set_eos_id);
  setSpecialToken(root["pad_token"], tokenizer.padding_id() != kNoToken,
                  &Tokenizer::set_padding_id);
  tokenizer.set_chat_template(templateOf(root["chat_template"]));
  return mistake.take();
}

void FolderReader::addStopId(JsonView id) {
  int64_t value = id.integer(kNoToken);
  if (value < kNoToken || value >= tokenizer.tokens_size())
    id.refuse("is " + Twine(value) + ", allowed are 0 to " +
              Twine(tokenizer.tokens_size() - 1));
  stopIds.push_back(value);
}

llvm::Error FolderReader::readStopIds(StringRef name) {
  if (!has(name))
    return llvm::Error::success();
  llvm::Expected<json> file = huggingface::readJsonFile(pathOf(name));
  if (!file)
    return file.takeError();
  JsonMistake mistake(pathOf(name));
  JsonView ids = JsonView(*file, "", mistake)["eos_token_id"];
  if (ids.isArray())
    for (const JsonView &id : ids.elements())
      addStopId(id);
  else
    addStopId(ids);
  return mistake.take();
}

llvm::Error FolderReader::readTemplate() {
  constexpr StringRef kFile = "chat_template.jinja";
  if (!has(kFile))
    return llvm::Error::success();
  auto text = readText(kFile);
  if (!text)
    return text.takeError();
  tokenizer.set_chat_template(std::move(*text));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::optional<Tokenizer>>
readTokenizerOfFolder(StringRef folder) {
  return FolderReader(folder).read();
}

} // namespace llmc::importer
