// SPDX-License-Identifier: Apache-2.0
//
// chat_model FILE: writes the counting model with a tokenizer and a chat
// template. It answers b, b, b, … to everything.

#include "test/e2e/runtime/CountingModel.h"

#include <cstdio>

namespace {

/// Ids are the places.
constexpr std::pair<const char *, uint32_t> kTokens[] = {
    {"<unk>", 2}, {"a", 1}, {"b", 1}, {"<|im_start|>", 3}, {"<|im_end|>", 3}};
constexpr int kAnswer = 2, kEndOfTurn = 4;

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "chat_model FILE\n");
    return 2;
  }
  llmc::test::CountingModelOptions options;
  options.context = 512;
  options.weight = {1, 1, 1, 1, 1};
  options.weight[kAnswer] = 2;
  llmc::test::ModuleFile file = llmc::test::makeCountingModel(options);
  llmc::format::Tokenizer tokenizer;
  tokenizer.set_kind(llmc::format::Tokenizer::SENTENCE_PIECE);
  for (const auto &[text, type] : kTokens) {
    tokenizer.add_tokens(text);
    tokenizer.add_scores(0);
    tokenizer.add_types(type);
  }
  tokenizer.set_bos_id(-1);
  tokenizer.set_eos_id(kEndOfTurn);
  tokenizer.set_unknown_id(0);
  tokenizer.set_padding_id(-1);
  tokenizer.add_stop_ids(kEndOfTurn);
  tokenizer.set_chat_template(
      "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
      "{{ message['content'] }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
  file.manifest.set_tokenizer(tokenizer.SerializeAsString());
  const llmc::test::Bytes bytes = file.makeBytes();
  std::FILE *out = std::fopen(argv[1], "wb");
  const bool isWritten =
      out && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  return out && std::fclose(out) == 0 && isWritten ? 0 : 1;
}
