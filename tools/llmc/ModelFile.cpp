// SPDX-License-Identifier: Apache-2.0
//
// ModelFile.h.

#include "tools/llmc/ModelFile.h"

#include "runtime/format/Reader.h"
#include "tools/llmc/RuntimeCommand.h"

#ifdef LLMC_WITH_COMPILER
#include "compiler/Import/GGUF/GgufReader.h"
#include "compiler/Import/TokenizerFromGguf.h"
#endif

#include <fstream>

namespace llmc::tool {

namespace {

bool beginsWith(const std::string &path, const std::string &magic) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(magic.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == magic;
}

#ifdef LLMC_WITH_COMPILER
Status refusal(llvm::Error error) {
  return Status(StatusCode::InvalidFile, llvm::toString(std::move(error)));
}

StatusOr<std::unique_ptr<text::Tokenizer>>
openGgufTokenizer(const std::string &path) {
  auto file = gguf::GgufFile::open(path);
  if (!file)
    return refusal(file.takeError());
  auto manifest = importer::readTokenizer(**file);
  if (!manifest)
    return refusal(manifest.takeError());
  if (!*manifest)
    return Status(StatusCode::Unsupported,
                  path + ": the file has no tokenizer");
  LLMC_ASSIGN_OR_RETURN(text::TokenizerSpec spec,
                        text::tokenizerSpecFromManifest(**manifest));
  return text::Tokenizer::create(std::move(spec));
}
#endif

} // namespace

StatusOr<std::unique_ptr<text::Tokenizer>>
openTokenizer(const std::string &path) {
#ifdef LLMC_WITH_COMPILER
  if (beginsWith(path, "GGUF"))
    return openGgufTokenizer(path);
#else
  if (beginsWith(path, "GGUF"))
    return Status(StatusCode::Unsupported,
                  path + ": is a model file; this build has no compiler, so it "
                         "reads .llmc files only");
#endif
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<format::Reader> reader,
                        format::Reader::open(path));
  auto tokenizer = createTokenizer(reader->manifest());
  if (!tokenizer.ok())
    return tokenizer.status().withContext(path);
  return tokenizer;
}

} // namespace llmc::tool
