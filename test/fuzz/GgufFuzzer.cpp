// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a GGUF file: its metadata, tensors and tokenizer.

#include "compiler/Import/GGUF/GgufReader.h"
#include "compiler/Import/TokenizerFromGguf.h"
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/TokenizerUse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = llmc::fuzz::toText(data, size);
  auto file = llmc::gguf::GgufFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(text), "fuzz.gguf");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  auto tokenizer = llmc::importer::readTokenizer(**file);
  if (!tokenizer)
    llvm::consumeError(tokenizer.takeError());
  else if (*tokenizer)
    llmc::fuzz::useTokenizer(**tokenizer, text);
  return 0;
}
