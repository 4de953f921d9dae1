// SPDX-License-Identifier: Apache-2.0
//
// ModelFile.h.

#include "tools/llmc/ModelFile.h"

#include "runtime/format/Reader.h"
#include "tools/llmc/RuntimeCommand.h"

#ifdef LLMC_WITH_COMPILER
#include "compiler/Import/ModelTokenizer.h"
#endif

#include <filesystem>
#include <fstream>

namespace llmc::tool {

namespace {

bool beginsWith(const std::string &path, const std::string &magic) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(magic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == magic;
}

/// True for what the compiler takes: GGUF, a model directory and its files.
bool isModel(const std::string &path) {
  std::error_code error;
  std::string extension = std::filesystem::path(path).extension().string();
  return std::filesystem::is_directory(path, error) || extension == ".json" ||
         extension == ".onnx" || beginsWith(path, "GGUF");
}

#ifdef LLMC_WITH_COMPILER
StatusOr<std::unique_ptr<text::Tokenizer>>
openModelTokenizer(const std::string &path) {
  auto manifest = importer::readModelTokenizer(path);
  if (!manifest)
    return Status(StatusCode::InvalidFile,
                  llvm::toString(manifest.takeError()));
  if (!*manifest)
    return Status(StatusCode::Unsupported,
                  path + ": the model has no tokenizer");
  return text::Tokenizer::create(**manifest);
}
#endif

} // namespace

StatusOr<std::unique_ptr<text::Tokenizer>>
openTokenizer(const std::string &path) {
#ifdef LLMC_WITH_COMPILER
  if (isModel(path))
    return openModelTokenizer(path);
#else
  if (isModel(path))
    return Status(StatusCode::Unsupported,
                  path + ": is a model; this build has no compiler, so it "
                         "reads .llmc files only");
#endif
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<format::Reader> reader,
                        format::Reader::open(path));
  auto tokenizer = createTokenizer(*reader);
  if (!tokenizer.ok())
    return tokenizer.status().withContext(path);
  return tokenizer;
}

} // namespace llmc::tool
