// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a chat template and a conversation, separated by U+001E: the
// template first, then messages, whose first letter says the role.

#include "runtime/text/ChatTemplate.h"
#include "test/fuzz/Fuzz.h"

namespace {

using llmc::text::ChatOptions;
using llmc::text::ChatTemplate;
using llmc::text::Message;
using llmc::text::TokenizerSpec;

std::string_view takePart(std::string_view &rest) {
  std::string_view part = rest.substr(0, rest.find('\x1e'));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

Message toMessage(std::string_view part) {
  switch (part.empty() ? 'u' : part[0]) {
  case 's':
    return {"system", std::string(part.substr(1))};
  case 'a':
    return {"assistant", std::string(part.substr(1))};
  case '?':
    return {"tool", std::string(part.substr(1))};
  default:
    return {"user", std::string(part)};
  }
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view rest = llmc::fuzz::toText(data, size);
  TokenizerSpec spec;
  spec.tokens = {"<s>", "</s>"};
  spec.bosId = 0;
  spec.eosId = 1;
  spec.chatTemplate = takePart(rest);
  auto chatTemplate = ChatTemplate::create(spec);
  if (!chatTemplate.ok())
    return 0;
  std::vector<Message> messages;
  while (!rest.empty())
    messages.push_back(toMessage(takePart(rest)));
  for (bool flag : {false, true}) {
    ChatOptions options;
    options.addGenerationPrompt = flag;
    options.enableThinking = !flag;
    (void)chatTemplate->render(messages, options).ok();
  }
  return 0;
}
