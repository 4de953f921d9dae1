// SPDX-License-Identifier: Apache-2.0
//
// Chat templates against what Jinja renders; make_chat_template_cases.py says
// how the expected prompts were made.

#include "runtime/text/ChatTemplate.h"
#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

namespace llmc::text::test {

namespace {

using testing::HasSubstr;

struct ChatCase {
  const char *templateName;
  const char *family;
  const char *bos;
  const char *eos;
  std::vector<Message> messages;
  bool addGenerationPrompt;
  bool enableThinking;
  const char *prompt; // null: refused
};

const std::vector<ChatCase> &chatCases() {
  static const std::vector<ChatCase> cases = {
#include "test/unit/runtime/text/chat_template_cases.inc"
  };
  return cases;
}

std::string readTemplate(const std::string &name) {
  std::ifstream file(LLMC_CHAT_TEMPLATES_DIR "/" + name + ".jinja",
                     std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A spec whose only tokens are BOS and EOS.
TokenizerSpec specFor(const std::string &chatTemplate, const std::string &bos,
                      const std::string &eos) {
  TokenizerSpec spec;
  spec.bosId = addToken(spec, bos, TokenType::Control);
  spec.eosId = addToken(spec, eos, TokenType::Control);
  spec.chatTemplate = chatTemplate;
  return spec;
}

ChatTemplate makeTemplate(const std::string &name, const std::string &bos = "",
                          const std::string &eos = "") {
  auto result = ChatTemplate::create(specFor(readTemplate(name), bos, eos));
  EXPECT_TRUE(result.ok()) << name << ": " << result.status().message();
  return *result;
}

std::string join(const std::vector<Segment> &segments) {
  std::string text;
  for (const Segment &segment : segments)
    text += segment.text;
  return text;
}

TEST(ChatTemplate, RendersWhatJinjaRenders) {
  ASSERT_FALSE(chatCases().empty());
  for (const ChatCase &chat : chatCases()) {
    SCOPED_TRACE(std::string(chat.templateName) + ": " +
                 (chat.prompt ? chat.prompt : "refused"));
    ChatTemplate chatTemplate =
        makeTemplate(chat.templateName, chat.bos, chat.eos);
    EXPECT_STREQ(chatTemplate.familyName(), chat.family);
    ChatOptions options;
    options.addGenerationPrompt = chat.addGenerationPrompt;
    options.enableThinking = chat.enableThinking;
    auto prompt = chatTemplate.render(chat.messages, options);
    ASSERT_EQ(prompt.ok(), chat.prompt != nullptr);
    if (chat.prompt) {
      EXPECT_EQ(join(*prompt), chat.prompt);
    }
  }
}

TEST(ChatTemplate, WhatUsersWriteIsNoMarkup) {
  for (const ChatCase &chat : chatCases()) {
    if (!chat.prompt)
      continue;
    SCOPED_TRACE(chat.templateName);
    auto prompt = makeTemplate(chat.templateName, chat.bos, chat.eos)
                      .render({{"user", "\x01mine\x02"}});
    ASSERT_TRUE(prompt.ok());
    bool found = false;
    for (const Segment &segment : *prompt) {
      if (segment.text.find('\x01') == std::string::npos)
        continue;
      found = true;
      EXPECT_FALSE(segment.isMarkup);
      EXPECT_EQ(segment.text, "\x01mine\x02");
    }
    EXPECT_TRUE(found);
  }
}

TEST(ChatTemplate, Qwen3ModelsThatAlwaysThinkBeginWithThoughts) {
  std::string source = readTemplate("qwen3");
  std::string generation = "'<|im_start|>assistant\\n' }}";
  size_t at = source.rfind(generation);
  ASSERT_NE(at, std::string::npos);
  source.replace(at, generation.size(),
                 "'<|im_start|>assistant\\n<think>\\n' }}");
  auto chatTemplate = ChatTemplate::create(specFor(source, "", ""));
  ASSERT_TRUE(chatTemplate.ok());
  auto prompt = chatTemplate->render({{"user", "x"}});
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(join(*prompt), "<|im_start|>user\nx<|im_end|>\n"
                           "<|im_start|>assistant\n<think>\n");
}

TEST(ChatTemplate, UnknownTemplatesAreRefusedNamingRaw) {
  for (const char *source :
       {"{{ messages }}",
        "{% for m in messages %}<|user|>\n{{ m.content }}<|end|>{% endfor %}",
        "<|im_start|>user<|im_sep|>x<|im_end|>{% if add_generation_prompt "
        "%}"}) {
    auto chatTemplate = ChatTemplate::create(specFor(source, "", ""));
    ASSERT_FALSE(chatTemplate.ok()) << source;
    EXPECT_THAT(chatTemplate.status().message(), HasSubstr("no known family"));
    EXPECT_THAT(chatTemplate.status().message(), HasSubstr("--raw"));
  }
}

TEST(ChatTemplate, AMissingTemplateIsRefusedNamingRaw) {
  auto chatTemplate = ChatTemplate::create(specFor("", "", ""));
  ASSERT_FALSE(chatTemplate.ok());
  EXPECT_THAT(chatTemplate.status().message(), HasSubstr("--raw"));
}

TEST(ChatTemplate, RefusesEmptyConversationsAndUnknownRoles) {
  ChatTemplate chatTemplate = makeTemplate("qwen2");
  EXPECT_THAT(chatTemplate.render({}).status().message(),
              HasSubstr("no message"));
  EXPECT_THAT(
      chatTemplate.render({{"user", "x"}, {"tool", "y"}}).status().message(),
      HasSubstr("message 1 is of role 'tool'"));
  EXPECT_THAT(
      makeTemplate("llama-2").render({{"system", "x"}}).status().message(),
      HasSubstr("expected a user's message"));
}

} // namespace

} // namespace llmc::text::test
