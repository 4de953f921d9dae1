// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a tokenizer.json, and the tokenizer that comes of it.

#include "compiler/Import/HuggingFace/TokenizerFromJson.h"
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/TokenizerUse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text = llmc::fuzz::toText(data, size);
  auto tokenizer = llmc::importer::readTokenizerJson(text, "tokenizer.json");
  if (tokenizer)
    llmc::fuzz::useTokenizer(*tokenizer, text);
  else
    llvm::consumeError(tokenizer.takeError());
  return 0;
}
