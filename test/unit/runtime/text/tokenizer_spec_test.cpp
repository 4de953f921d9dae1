// SPDX-License-Identifier: Apache-2.0
//
// From the manifest to a spec, and what a spec may not be.

#include "runtime/format/manifest.pb.h"
#include "runtime/text/TokenizerSpec.h"
#include "test/unit/runtime/text/toy_vocabularies.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

namespace {

using llmc::text::isSpecialToken;
using llmc::text::TokenizerKind;
using llmc::text::TokenizerSpec;
using llmc::text::tokenizerSpecFromManifest;
using llmc::text::TokenType;
using llmc::text::test::addToken;
using llmc::text::test::bytePairSpec;
using llmc::text::test::refusal;
using llmc::text::test::sentencePieceSpec;
using testing::ElementsAre;
using testing::HasSubstr;

llmc::format::Tokenizer smallManifest() {
  llmc::format::Tokenizer manifest;
  manifest.set_kind(llmc::format::Tokenizer::SENTENCE_PIECE);
  for (const char *token : {"<unk>", "<s>", "</s>", "a"})
    manifest.add_tokens(token);
  for (int type : {2, 3, 3, 1})
    manifest.add_types(type);
  for (float score : {0.0f, 0.0f, 0.0f, -1.0f})
    manifest.add_scores(score);
  manifest.set_bos_id(1);
  manifest.set_eos_id(2);
  manifest.set_unknown_id(0);
  manifest.set_padding_id(-1);
  manifest.add_stop_ids(2);
  manifest.set_add_bos(true);
  manifest.set_add_space_prefix(true);
  manifest.set_chat_template("{{ x }}");
  manifest.add_normalizations(llmc::format::Tokenizer::NFC);
  manifest.add_normalizations(llmc::format::Tokenizer::SPACE_HAN);
  manifest.set_fuse_unknown(true);
  manifest.set_space_prefix_at_start_only(true);
  manifest.set_space_prefix_unless_there(true);
  manifest.add_left_strip_ids(1);
  manifest.add_right_strip_ids(2);
  manifest.set_continuing_prefix("##");
  manifest.set_max_word_characters(100);
  return manifest;
}

TEST(TokenizerSpec, IsReadFromTheManifest) {
  auto spec = tokenizerSpecFromManifest(smallManifest());
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->kind, TokenizerKind::SentencePiece);
  EXPECT_THAT(spec->tokens, ElementsAre("<unk>", "<s>", "</s>", "a"));
  EXPECT_THAT(spec->types, ElementsAre(TokenType::Unknown, TokenType::Control,
                                       TokenType::Control, TokenType::Normal));
  EXPECT_THAT(spec->scores, ElementsAre(0.0f, 0.0f, 0.0f, -1.0f));
  EXPECT_EQ(spec->bosId, 1);
  EXPECT_EQ(spec->eosId, 2);
  EXPECT_EQ(spec->unknownId, 0);
  EXPECT_EQ(spec->paddingId, -1);
  EXPECT_THAT(spec->stopIds, ElementsAre(2));
  EXPECT_TRUE(spec->addBos);
  EXPECT_FALSE(spec->addEos);
  EXPECT_TRUE(spec->addSpacePrefix);
  EXPECT_EQ(spec->chatTemplate, "{{ x }}");
  EXPECT_THAT(spec->normalizations,
              ElementsAre(llmc::text::Normalization::Nfc,
                          llmc::text::Normalization::SpaceHan));
  EXPECT_TRUE(spec->fuseUnknown);
  EXPECT_TRUE(spec->spacePrefixAtStartOnly);
  EXPECT_TRUE(spec->spacePrefixUnlessThere);
  EXPECT_THAT(spec->leftStripIds, ElementsAre(1));
  EXPECT_THAT(spec->rightStripIds, ElementsAre(2));
  EXPECT_EQ(spec->continuingPrefix, "##");
  EXPECT_EQ(spec->maxWordCharacters, 100u);
}

TEST(TokenizerSpec, ReadsBytePairFromTheManifest) {
  llmc::format::Tokenizer manifest;
  manifest.set_kind(llmc::format::Tokenizer::BYTE_PAIR);
  manifest.set_pre("qwen2");
  manifest.add_tokens("a");
  manifest.add_merges("a a");
  for (auto set : {&llmc::format::Tokenizer::set_bos_id,
                   &llmc::format::Tokenizer::set_eos_id,
                   &llmc::format::Tokenizer::set_unknown_id,
                   &llmc::format::Tokenizer::set_padding_id})
    (manifest.*set)(-1);
  auto spec = tokenizerSpecFromManifest(manifest);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->kind, TokenizerKind::BytePair);
  EXPECT_EQ(spec->pre, "qwen2");
  EXPECT_THAT(spec->merges, ElementsAre("a a"));
}

TEST(TokenizerSpec, RefusesManifestsThatAreWrong) {
  auto message = [](void (*change)(llmc::format::Tokenizer &)) {
    llmc::format::Tokenizer manifest = smallManifest();
    change(manifest);
    auto spec = tokenizerSpecFromManifest(manifest);
    return spec.ok() ? std::string() : spec.status().message();
  };
  using Manifest = llmc::format::Tokenizer;
  EXPECT_THAT(message([](Manifest &m) { m.clear_kind(); }),
              HasSubstr("kind is 0"));
  EXPECT_THAT(message([](Manifest &m) { m.set_types(3, 7); }),
              HasSubstr("types[3] is 7"));
  EXPECT_THAT(message([](Manifest &m) { m.set_types(3, 256 + 1); }),
              HasSubstr("types[3] is 255"));
  EXPECT_THAT(message([](Manifest &m) { m.set_bos_id(4); }),
              HasSubstr("bos_id is 4"));
}

TEST(TokenizerSpec, RefusesWrongCountsIdsAndScores) {
  TokenizerSpec good = sentencePieceSpec({"a"});
  EXPECT_EQ(refusal(good), "");
  auto changed = [&](void (*change)(TokenizerSpec &)) {
    TokenizerSpec spec = good;
    change(spec);
    return refusal(spec);
  };
  EXPECT_THAT(changed([](TokenizerSpec &s) { s = TokenizerSpec(); }),
              HasSubstr("tokens has 0"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.scores.pop_back(); }),
              HasSubstr("scores has 259"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.types.pop_back(); }),
              HasSubstr("types has 259"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.scores[9] = NAN; }),
              HasSubstr("scores[9] is not finite"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.pre = "gpt-2"; }),
              HasSubstr("pre is 'gpt-2', allowed for this kind are"));
  EXPECT_THAT(changed([](TokenizerSpec &s) {
                s.normalizations = {static_cast<llmc::text::Normalization>(8)};
              }),
              HasSubstr("normalizations holds 8, allowed are 1 to 7"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.leftStripIds = {260}; }),
              HasSubstr("left_strip_ids is 260"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.rightStripIds = {-1}; }),
              HasSubstr("right_strip_ids holds -1"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.eosId = 260; }),
              HasSubstr("eos_id is 260, allowed are -1 (none) to 259"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.paddingId = -2; }),
              HasSubstr("padding_id is -2"));
  EXPECT_THAT(changed([](TokenizerSpec &s) { s.stopIds = {-1}; }),
              HasSubstr("stop_ids holds -1"));
}

TEST(TokenizerSpec, RefusesMergesThatAreNoPairs) {
  for (const char *merge : {"", "ab", " b", "a "}) {
    TokenizerSpec spec = bytePairSpec({});
    spec.merges = {"a b", merge};
    EXPECT_THAT(refusal(spec), HasSubstr("merges[1] is"));
  }
}

TEST(TokenizerSpec, MarkersAreSpecialWhateverTheirType) {
  TokenizerSpec spec = bytePairSpec({});
  auto isSpecial = [&](const char *spelling, TokenType type) {
    return isSpecialToken(spec, addToken(spec, spelling, type));
  };
  EXPECT_TRUE(isSpecial("x", TokenType::Control));
  EXPECT_TRUE(isSpecial("x", TokenType::Unknown));
  EXPECT_TRUE(isSpecial("<|end|>", TokenType::UserDefined));
  EXPECT_TRUE(isSpecial("</s>", TokenType::UserDefined));
  EXPECT_TRUE(isSpecial("<\uff5cUser\uff5c>", TokenType::UserDefined));
  EXPECT_FALSE(isSpecial("<tool_call>", TokenType::UserDefined));
  EXPECT_FALSE(isSpecial("<|end|>", TokenType::Normal));
  int32_t id = addToken(spec, "stop", TokenType::UserDefined);
  EXPECT_FALSE(isSpecialToken(spec, id));
  spec.stopIds = {id};
  EXPECT_TRUE(isSpecialToken(spec, id));
}

} // namespace
