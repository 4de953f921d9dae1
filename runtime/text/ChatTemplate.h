// SPDX-License-Identifier: Apache-2.0
//
// Prompts from conversations. A model file's template is a program in Jinja;
// llmc recognises the families it knows by their characteristic parts and
// renders them itself (docs/decisions/0003-chat-templates.md).

#ifndef LLMC_RUNTIME_TEXT_CHATTEMPLATE_H
#define LLMC_RUNTIME_TEXT_CHATTEMPLATE_H

#include "runtime/format/Status.h"
#include "runtime/text/Tokenizer.h"

#include <string>
#include <vector>

namespace llmc::text {

struct Message {
  /// "system", "user" or "assistant".
  std::string role;
  std::string content;
};

struct ChatOptions {
  /// Ends the prompt where the assistant's answer begins.
  bool addGenerationPrompt = true;
  /// False asks a model that can think to answer at once; others don't mind.
  bool enableThinking = true;
};

/// Immutable; may be used from several threads.
class ChatTemplate {
public:
  /// Recognises `spec`'s template. Fails, naming what works instead, if there
  /// is none or it is of no known family.
  static StatusOr<ChatTemplate> create(const TokenizerSpec &spec);

  /// For people: "chatml", "llama-3", …
  const char *familyName() const;

  /// The prompt for `messages`; what users wrote is never markup. Fails for an
  /// empty conversation, and for roles or an order of roles that the family
  /// has not.
  StatusOr<std::vector<Segment>> render(const std::vector<Message> &messages,
                                        const ChatOptions &options = {}) const;

private:
  struct Family;

  explicit ChatTemplate(const Family &family) : family(&family) {}

  const Family *family;
  std::string bosText;
  std::string eosText;
  /// The whole template, for what differs within a family.
  std::string source;
};

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_CHATTEMPLATE_H
