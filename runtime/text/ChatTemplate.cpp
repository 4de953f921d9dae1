// SPDX-License-Identifier: Apache-2.0
//
// The table of families: how each is recognised and what it writes.

#include "runtime/text/ChatTemplate.h"

#include <initializer_list>
#include <string_view>
#include <utility>

namespace llmc::text {

namespace {

constexpr std::string_view kAsciiSpaces = " \t\n\r\f\v";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool containsAll(std::string_view text,
                 std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts)
    if (!contains(text, part))
      return false;
  return true;
}

bool containsAny(std::string_view text,
                 std::initializer_list<std::string_view> parts) {
  for (std::string_view part : parts)
    if (contains(text, part))
      return true;
  return false;
}

std::string_view stripFront(std::string_view text, std::string_view set) {
  size_t first = text.find_first_not_of(set);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first);
}

std::string_view stripBack(std::string_view text, std::string_view set) {
  return text.substr(0, text.find_last_not_of(set) + 1);
}

std::string_view trim(std::string_view text) {
  return stripBack(stripFront(text, kAsciiSpaces), kAsciiSpaces);
}

/// What a renderer sees and where it writes.
struct Conversation {
  const std::vector<Message> &messages;
  const ChatOptions &options;
  std::string_view source; // the template
  std::string_view bos;
  std::string_view eos;
  std::vector<Segment> prompt;

  void markup(std::string_view text) { append(text, true); }
  void content(std::string_view text) { append(text, false); }

  /// The system message in front, or null.
  const Message *system() const {
    return messages[0].role == "system" ? &messages[0] : nullptr;
  }

private:
  void append(std::string_view text, bool isMarkup) {
    if (text.empty())
      return;
    if (prompt.empty() || prompt.back().isMarkup != isMarkup)
      prompt.push_back({{}, isMarkup});
    prompt.back().text.append(text);
  }
};

Status badOrder(size_t index, const Message &message, const char *expected) {
  return Status(StatusCode::InvalidArgument,
                "chat: message " + std::to_string(index) + " is of role '" +
                    message.role + "', expected " + expected);
}

/// For families whose turns must be user, assistant, user, … after an optional
/// system message; `first` is the index of the first turn.
Status checkAlternation(const Conversation &chat, size_t first) {
  for (size_t i = first; i < chat.messages.size(); ++i) {
    const char *expected = (i - first) % 2 == 0 ? "user" : "assistant";
    if (chat.messages[i].role != expected)
      return badOrder(i, chat.messages[i], expected);
  }
  return okStatus();
}

// ChatML: <|im_start|>role, newline, content, <|im_end|>, newline.

void writeChatmlTurn(Conversation &chat, const Message &message) {
  chat.markup("<|im_start|>" + message.role + "\n");
  chat.content(message.content);
  chat.markup("<|im_end|>\n");
}

/// The system text that the template writes when the conversation has none:
/// a literal between the markers. Empty if there is none.
std::string_view defaultSystemText(std::string_view source) {
  constexpr std::string_view kBegin = "<|im_start|>system";
  for (size_t at = source.find(kBegin); at != std::string_view::npos;
       at = source.find(kBegin, at + 1)) {
    std::string_view rest = source.substr(at + kBegin.size());
    // A newline, or its escape in a string of Jinja.
    if (rest.substr(0, 1) == "\n")
      rest.remove_prefix(1);
    else if (rest.substr(0, 2) == "\\n")
      rest.remove_prefix(2);
    else
      continue;
    std::string_view text = rest.substr(0, rest.find("<|im_end|>"));
    if (text.size() < rest.size() &&
        text.find_first_of("'\"{}\\") == std::string_view::npos)
      return text;
  }
  return {};
}

bool isChatml(std::string_view source) {
  return containsAll(source,
                     {"<|im_start|>", "<|im_end|>", "add_generation_prompt"}) &&
         !containsAny(source, {"<|im_sep|>", "<think>", "strip(", "trim"});
}

Status renderChatml(Conversation &chat) {
  if (contains(chat.source, "bos_token"))
    chat.markup(chat.bos);
  std::string_view standard = defaultSystemText(chat.source);
  if (!chat.system() && !standard.empty()) {
    chat.markup("<|im_start|>system\n");
    chat.content(standard);
    chat.markup("<|im_end|>\n");
  }
  for (const Message &message : chat.messages)
    writeChatmlTurn(chat, message);
  if (chat.options.addGenerationPrompt)
    chat.markup("<|im_start|>assistant\n");
  return okStatus();
}

// Qwen3: ChatML where the thoughts of earlier answers are left out.

bool isQwen3(std::string_view source) {
  return containsAll(source, {"<|im_start|>", "<|im_end|>", "<think>",
                              "last_query_index", "add_generation_prompt"});
}

/// The index of the last question; the last message if there is none.
size_t lastQuery(const std::vector<Message> &messages) {
  for (size_t i = messages.size(); i-- > 0;) {
    std::string_view content = messages[i].content;
    constexpr std::string_view kOpen = "<tool_response>";
    constexpr std::string_view kClose = "</tool_response>";
    bool isToolResponse =
        content.substr(0, kOpen.size()) == kOpen &&
        content.size() >= kClose.size() &&
        content.substr(content.size() - kClose.size()) == kClose;
    if (messages[i].role == "user" && !isToolResponse)
      return i;
  }
  return messages.size() - 1;
}

void writeQwen3Answer(Conversation &chat, size_t index, size_t lastQueryIndex) {
  constexpr std::string_view kOpen = "<think>";
  constexpr std::string_view kClose = "</think>";
  std::string_view answer = chat.messages[index].content;
  std::string_view thoughts;
  if (contains(answer, kClose)) {
    thoughts = stripBack(answer.substr(0, answer.find(kClose)), "\n");
    if (size_t open = thoughts.rfind(kOpen); open != std::string_view::npos)
      thoughts.remove_prefix(open + kOpen.size());
    thoughts = stripFront(thoughts, "\n");
    answer.remove_prefix(answer.rfind(kClose) + kClose.size());
    answer = stripFront(answer, "\n");
  }
  chat.markup("<|im_start|>assistant\n");
  bool isLast = index + 1 == chat.messages.size();
  if (index > lastQueryIndex && (isLast || !thoughts.empty())) {
    chat.markup("<think>\n");
    chat.content(stripBack(thoughts, "\n"));
    chat.markup("\n</think>\n\n");
    answer = stripFront(answer, "\n");
  }
  chat.content(answer);
  chat.markup("<|im_end|>\n");
}

Status renderQwen3(Conversation &chat) {
  size_t lastQueryIndex = lastQuery(chat.messages);
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    if (chat.messages[i].role == "assistant")
      writeQwen3Answer(chat, i, lastQueryIndex);
    else
      writeChatmlTurn(chat, chat.messages[i]);
  }
  if (!chat.options.addGenerationPrompt)
    return okStatus();
  chat.markup("<|im_start|>assistant\n");
  // Some models of the family always think.
  if (containsAny(chat.source,
                  {"assistant\\n<think>\\n'", "assistant\n<think>\n'"}))
    chat.markup("<think>\n");
  else if (!chat.options.enableThinking &&
           contains(chat.source, "enable_thinking"))
    chat.markup("<think>\n\n</think>\n\n");
  return okStatus();
}

// LFM2.5: ChatML where the thoughts of all answers but the last are left out,
// and an empty system text too.

bool isLfm25(std::string_view source) {
  return containsAll(source,
                     {"<|im_start|>", "<|im_end|>", "keep_past_thinking",
                      "last_assistant_index", "split(\"</think>\")[-1] | trim",
                      "add_generation_prompt"});
}

size_t lastAnswer(const std::vector<Message> &messages) {
  for (size_t i = messages.size(); i-- > 0;)
    if (messages[i].role == "assistant")
      return i;
  return messages.size();
}

Status renderLfm25(Conversation &chat) {
  constexpr std::string_view kClose = "</think>";
  chat.markup(chat.bos);
  size_t lastAnswerIndex = lastAnswer(chat.messages);
  for (size_t i = 0; i < chat.messages.size(); ++i) {
    Message message = chat.messages[i];
    if (i == 0 && chat.system() && message.content.empty())
      continue;
    size_t close = message.content.rfind(kClose);
    if (message.role == "assistant" && i != lastAnswerIndex &&
        close != std::string::npos)
      message.content = trim(std::string_view(chat.messages[i].content)
                                 .substr(close + kClose.size()));
    writeChatmlTurn(chat, message);
  }
  if (chat.options.addGenerationPrompt)
    chat.markup("<|im_start|>assistant\n");
  return okStatus();
}

// Zephyr, TinyLlama: <|role|>, newline, content, EOS, newline.

bool isZephyr(std::string_view source) {
  return containsAny(source,
                     {"'<|user|>\\n' + message['content'] + eos_token",
                      "'<|user|>\n' + message['content'] + eos_token"}) &&
         contains(source, "'<|assistant|>'");
}

Status renderZephyr(Conversation &chat) {
  for (const Message &message : chat.messages) {
    chat.markup("<|" + message.role + "|>\n");
    chat.content(message.content);
    chat.markup(std::string(chat.eos) + "\n");
  }
  if (chat.options.addGenerationPrompt)
    chat.markup("<|assistant|>\n");
  return okStatus();
}

// Llama 2 and Mistral: BOS, [INST] question [/INST] answer, EOS.

bool isLlama2(std::string_view source) {
  return containsAll(source, {"[INST]", "[/INST]", "<<SYS>>", "strip()"});
}

Status renderLlama2(Conversation &chat) {
  const Message *system = chat.system();
  size_t first = system ? 1 : 0;
  LLMC_RETURN_IF_ERROR(checkAlternation(chat, first));
  if (first == chat.messages.size())
    return badOrder(0, *system, "a user's message after it");
  for (size_t i = first; i < chat.messages.size(); ++i) {
    std::string_view content = chat.messages[i].content;
    if (chat.messages[i].role == "assistant") {
      chat.markup(" ");
      chat.content(trim(content));
      chat.markup(" " + std::string(chat.eos));
      continue;
    }
    chat.markup(std::string(chat.bos) + "[INST] ");
    if (system && i == first) {
      chat.markup("<<SYS>>\n");
      chat.content(system->content);
      chat.markup("\n<</SYS>>\n\n");
      // The template trims both together, and only the end is the user's.
      chat.content(stripBack(content, kAsciiSpaces));
    } else {
      chat.content(trim(content));
    }
    chat.markup(" [/INST]");
  }
  return okStatus();
}

bool isMistral(std::string_view source) {
  return contains(source, "'[INST] ' + message['content'] + ' [/INST]'") &&
         contains(source, "message['content'] + eos_token") &&
         !contains(source, "<<SYS>>");
}

Status renderMistral(Conversation &chat) {
  LLMC_RETURN_IF_ERROR(checkAlternation(chat, 0));
  bool hasSpaceAfterEos = contains(chat.source, "eos_token + ' '");
  chat.markup(chat.bos);
  for (const Message &message : chat.messages) {
    bool isUser = message.role == "user";
    chat.markup(isUser ? "[INST] " : "");
    chat.content(message.content);
    chat.markup(isUser ? " [/INST]" : chat.eos);
    chat.markup(!isUser && hasSpaceAfterEos ? " " : "");
  }
  return okStatus();
}

// Llama 3: headers with the role, two newlines, content, <|eot_id|>.

bool isLlama3(std::string_view source) {
  return containsAll(source, {"<|start_header_id|>", "<|end_header_id|>",
                              "<|eot_id|>", "add_generation_prompt"});
}

void writeLlama3Header(Conversation &chat, std::string_view role) {
  chat.markup("<|start_header_id|>" + std::string(role) +
              "<|end_header_id|>\n\n");
}

Status renderLlama3(Conversation &chat) {
  chat.markup(chat.bos);
  size_t first = 0;
  // From 3.1 on there always is a system turn, which begins with dates. The
  // template's own default date is used, so that a prompt does not depend on
  // the day.
  if (contains(chat.source, "Cutting Knowledge Date: December 2023")) {
    writeLlama3Header(chat, "system");
    chat.markup("Cutting Knowledge Date: December 2023\n"
                "Today Date: 26 Jul 2024\n\n");
    if (const Message *system = chat.system()) {
      chat.content(trim(system->content));
      first = 1;
    }
    chat.markup("<|eot_id|>");
  }
  for (size_t i = first; i < chat.messages.size(); ++i) {
    writeLlama3Header(chat, chat.messages[i].role);
    chat.content(trim(chat.messages[i].content));
    chat.markup("<|eot_id|>");
  }
  if (chat.options.addGenerationPrompt)
    writeLlama3Header(chat, "assistant");
  return okStatus();
}

// Gemma: the system text becomes a part of the first question.

bool isGemma(std::string_view source) {
  return containsAll(source, {"<start_of_turn>", "<end_of_turn>",
                              "first_user_prefix", "add_generation_prompt"});
}

Status renderGemma(Conversation &chat) {
  const Message *system = chat.system();
  size_t first = system ? 1 : 0;
  LLMC_RETURN_IF_ERROR(checkAlternation(chat, first));
  chat.markup(chat.bos);
  for (size_t i = first; i < chat.messages.size(); ++i) {
    bool isUser = chat.messages[i].role == "user";
    chat.markup(isUser ? "<start_of_turn>user\n" : "<start_of_turn>model\n");
    if (system && i == first)
      chat.content(system->content + "\n\n");
    chat.content(trim(chat.messages[i].content));
    chat.markup("<end_of_turn>\n");
  }
  if (chat.options.addGenerationPrompt)
    chat.markup("<start_of_turn>model\n");
  return okStatus();
}

std::string spelling(const TokenizerSpec &spec, int64_t id) {
  return id == kNoToken ? std::string() : spec.tokens[id];
}

} // namespace

struct ChatTemplate::Family {
  const char *name;
  bool (*matches)(std::string_view source);
  Status (*render)(Conversation &chat);

  /// At most one of them matches a template of a known model.
  static const Family *find(std::string_view source) {
    static constexpr Family kFamilies[] = {
        {"qwen3", isQwen3, renderQwen3},
        {"lfm2.5", isLfm25, renderLfm25},
        {"chatml", isChatml, renderChatml},
        {"zephyr", isZephyr, renderZephyr},
        {"llama-2", isLlama2, renderLlama2},
        {"mistral", isMistral, renderMistral},
        {"llama-3", isLlama3, renderLlama3},
        {"gemma", isGemma, renderGemma}};
    for (const Family &family : kFamilies)
      if (family.matches(source))
        return &family;
    return nullptr;
  }
};

StatusOr<ChatTemplate> ChatTemplate::create(const TokenizerSpec &spec) {
  if (spec.chatTemplate.empty())
    return Status(StatusCode::Unsupported,
                  "chat: the model has no chat template; --raw gives it the "
                  "prompt as it is");
  const Family *family = Family::find(spec.chatTemplate);
  if (!family)
    return Status(
        StatusCode::Unsupported,
        "chat: the model's chat template is of no known family "
        "(qwen3, lfm2.5, chatml, zephyr, llama-2, mistral, llama-3, gemma); "
        "--raw gives it the prompt as it is");
  ChatTemplate result(*family);
  result.bosText = spelling(spec, spec.bosId);
  result.eosText = spelling(spec, spec.eosId);
  result.source = spec.chatTemplate;
  return result;
}

const char *ChatTemplate::familyName() const { return family->name; }

StatusOr<std::vector<Segment>>
ChatTemplate::render(const std::vector<Message> &messages,
                     const ChatOptions &options) const {
  if (messages.empty())
    return Status(StatusCode::InvalidArgument, "chat: there is no message");
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].role != "system" && messages[i].role != "user" &&
        messages[i].role != "assistant")
      return badOrder(i, messages[i], "system, user or assistant");
  Conversation chat{messages, options, source, bosText, eosText, {}};
  LLMC_RETURN_IF_ERROR(family->render(chat));
  return std::move(chat.prompt);
}

} // namespace llmc::text
