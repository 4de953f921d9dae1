// SPDX-License-Identifier: Apache-2.0
//
// ModelTokenizer.h.

#include "compiler/Import/ModelTokenizer.h"

#include "compiler/Import/HuggingFace/TokenizerFromJson.h"
#include "compiler/Import/TokenizerFromGguf.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace llmc::importer {

llvm::Expected<std::optional<format::Tokenizer>>
readModelTokenizer(StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return readTokenizerOfFolder(path);
  StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".mlir")
    return std::nullopt;
  if (extension == ".onnx") {
    StringRef folder = llvm::sys::path::parent_path(path);
    return readTokenizerOfFolder(folder.empty() ? "." : folder);
  }
  if (extension == ".json") {
    auto bytes = llvm::MemoryBuffer::getFile(path);
    if (!bytes)
      return llvm::createStringError(
          path + ": can't be read: " + bytes.getError().message());
    return readTokenizerJson((*bytes)->getBuffer(), path);
  }
  auto file = gguf::GgufFile::open(path);
  if (!file)
    return file.takeError();
  return readTokenizer(**file);
}

} // namespace llmc::importer
