// SPDX-License-Identifier: Apache-2.0
//
// TextRules.h. Patterns are recognised by their text, which is the same in all
// files of a family.

#include "compiler/Import/HuggingFace/TextRules.h"

#include "compiler/Import/HuggingFace/Json.h"

namespace llmc::huggingface {

namespace {

using format::Tokenizer;

constexpr StringRef kMark = "\xe2\x96\x81"; // U+2581

struct KnownPattern {
  StringRef text;
  StringRef name;
};

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

constexpr KnownPattern kPatterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!"
     "\\S)|\\s+",
     "gpt-2"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES,
     "llama-3"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
                  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES,
     "qwen2"},
    {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "
                  "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES,
     "qwen35"}};

#undef CONTRACTIONS
#undef SPACES

void readReplace(JsonView normalizer, TextRules &rules) {
  std::string pattern = normalizer["pattern"]["String"].string();
  std::string content = normalizer["content"].string();
  if (pattern == " " && content == kMark)
    rules.marksSpaces = true;
  else
    normalizer.refuse("replaces " + inQuotes(pattern) + " by " +
                      inQuotes(content) + ", supported is ' ' by U+2581 alone");
}

void readBertNormalizer(JsonView normalizer, TextRules &rules) {
  bool lowercase = normalizer["lowercase"].boolean(true);
  if (normalizer["clean_text"].boolean(true))
    rules.normalizations.push_back(Tokenizer::CLEAN_CONTROLS);
  if (normalizer["handle_chinese_chars"].boolean(true))
    rules.normalizations.push_back(Tokenizer::SPACE_HAN);
  if (normalizer["strip_accents"].boolean(lowercase)) {
    rules.normalizations.push_back(Tokenizer::NFD);
    rules.normalizations.push_back(Tokenizer::STRIP_NONSPACING_MARKS);
  }
  if (lowercase)
    rules.normalizations.push_back(Tokenizer::LOWERCASE);
}

void readNormalizer(JsonView normalizer, TextRules &rules) {
  if (normalizer.isNull())
    return;
  std::string type = normalizer["type"].string();
  if (type == "Sequence") {
    for (const JsonView &part : normalizer["normalizers"].elements())
      readNormalizer(part, rules);
  } else if (type == "NFC") {
    rules.normalizations.push_back(Tokenizer::NFC);
  } else if (type == "NFD") {
    rules.normalizations.push_back(Tokenizer::NFD);
  } else if (type == "Lowercase") {
    rules.normalizations.push_back(Tokenizer::LOWERCASE);
  } else if (type == "StripAccents") {
    rules.normalizations.push_back(Tokenizer::STRIP_MARKS);
  } else if (type == "BertNormalizer") {
    readBertNormalizer(normalizer, rules);
  } else if (type == "Prepend") {
    std::string text = normalizer["prepend"].string();
    if (text != kMark)
      normalizer["prepend"].refuseValue(text, "U+2581 alone");
    rules.addsSpacePrefix = true;
  } else if (type == "Replace") {
    readReplace(normalizer, rules);
  } else {
    normalizer["type"].refuseValue(
        type, "Sequence, NFC, NFD, Lowercase, StripAccents, BertNormalizer, "
              "Prepend, Replace");
  }
}

void setPattern(JsonView where, StringRef name, TextRules &rules) {
  if (!rules.pattern.empty())
    where.refuse("is a second pattern that cuts words, supported is one");
  rules.pattern = name.str();
}

void readByteLevel(JsonView preTokenizer, TextRules &rules) {
  rules.isByteLevel = true;
  if (preTokenizer["add_prefix_space"].boolean(true))
    preTokenizer["add_prefix_space"].refuse("is true, supported is false");
  if (preTokenizer["use_regex"].boolean(true))
    setPattern(preTokenizer, "gpt-2", rules);
}

void readSplit(JsonView preTokenizer, TextRules &rules) {
  JsonView pattern = preTokenizer["pattern"];
  // Of no effect where there are no spaces any more.
  if (pattern["String"].string() == " " && rules.marksSpaces)
    return;
  std::string behavior = preTokenizer["behavior"].string();
  bool isInverted = preTokenizer["invert"].boolean(false);
  // The known patterns leave nothing between matches.
  if (!(behavior == "Isolated" && !isInverted) &&
      !(behavior == "Removed" && isInverted))
    preTokenizer["behavior"].refuseValue(behavior +
                                             (isInverted ? " inverted" : ""),
                                         "Isolated, and Removed inverted");
  std::string regex = pattern["Regex"].string();
  for (const KnownPattern &known : kPatterns)
    if (known.text == regex)
      return setPattern(preTokenizer, known.name, rules);
  preTokenizer.refuse("splits by " + inQuotes(regex) +
                      ", supported are the patterns of GPT-2, Llama 3, Qwen2 "
                      "and Qwen3.5");
}

void readMetaspace(JsonView preTokenizer, TextRules &rules) {
  if (preTokenizer["replacement"].string() != kMark)
    preTokenizer["replacement"].refuse("is not U+2581, the one supported");
  rules.marksSpaces = true;
  rules.cutsAtMarks = preTokenizer["split"].boolean(true);
  // Older files have a flag.
  bool adds = preTokenizer["add_prefix_space"].boolean(true);
  std::string scheme =
      preTokenizer["prepend_scheme"].string(adds ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    preTokenizer["prepend_scheme"].refuseValue(scheme, "always, first, never");
  rules.addsSpacePrefix = scheme != "never";
  rules.prefixAtStartOnly = scheme == "first";
  rules.prefixUnlessThere = true;
}

void readPreTokenizer(JsonView preTokenizer, TextRules &rules) {
  if (preTokenizer.isNull())
    return;
  std::string type = preTokenizer["type"].string();
  if (type == "Sequence") {
    for (const JsonView &part : preTokenizer["pretokenizers"].elements())
      readPreTokenizer(part, rules);
  } else if (type == "ByteLevel") {
    readByteLevel(preTokenizer, rules);
  } else if (type == "Split") {
    readSplit(preTokenizer, rules);
  } else if (type == "Metaspace") {
    readMetaspace(preTokenizer, rules);
  } else if (type == "BertPreTokenizer") {
    rules.isBert = true;
  } else if (type == "WhitespaceSplit") {
    rules.cutsAtWhiteSpace = true;
  } else if (type == "Digits") {
    rules.separatesDigits = true;
    if (!preTokenizer["individual_digits"].boolean(false))
      preTokenizer["individual_digits"].refuse("is false, supported is true");
    // Digits within words of a pattern are another matter.
    if (!rules.pattern.empty())
      preTokenizer.refuse("comes behind the pattern, supported is before it");
  } else {
    preTokenizer["type"].refuseValue(
        type, "Sequence, ByteLevel, Split, Metaspace, BertPreTokenizer, "
              "WhitespaceSplit, Digits");
  }
}

void setOnce(JsonView where, std::optional<int64_t> &side, int64_t id) {
  if (side)
    where.refuse("has several tokens on one side of the text, supported is "
                 "one");
  side = id;
}

void readTemplate(JsonView processor, Enclosure &enclosure) {
  bool isBehind = false;
  for (const JsonView &part : processor["single"].elements()) {
    if (part["Sequence"].isObject()) {
      if (isBehind)
        part.refuse("has the text a second time, supported is once");
      isBehind = true;
      continue;
    }
    std::string name = part["SpecialToken"]["id"].string();
    JsonView ids = processor["special_tokens"][name]["ids"];
    std::vector<JsonView> listed = ids.elements();
    if (listed.size() != 1) {
      ids.refuse("has " + Twine(listed.size()) + " ids, expected one");
      continue;
    }
    setOnce(part, isBehind ? enclosure.back : enclosure.front,
            listed[0].integer(-1));
  }
  if (!isBehind)
    processor["single"].refuse("has no place for the text");
}

/// The id in ["[SEP]", 102].
int64_t readNamedToken(JsonView pair) {
  std::vector<JsonView> parts = pair.elements();
  if (parts.size() == 2)
    return parts[1].integer(-1);
  pair.refuse("has " + Twine(parts.size()) +
              " elements, expected a token and "
              "its id");
  return -1;
}

void readProcessor(JsonView processor, Enclosure &enclosure) {
  if (processor.isNull())
    return;
  std::string type = processor["type"].string();
  if (type == "Sequence") {
    for (const JsonView &part : processor["processors"].elements())
      readProcessor(part, enclosure);
  } else if (type == "TemplateProcessing") {
    readTemplate(processor, enclosure);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    setOnce(processor, enclosure.front, readNamedToken(processor["cls"]));
    setOnce(processor, enclosure.back, readNamedToken(processor["sep"]));
  } else if (type != "ByteLevel") {
    processor["type"].refuseValue(type, "Sequence, TemplateProcessing, "
                                        "BertProcessing, RobertaProcessing, "
                                        "ByteLevel");
  }
}

} // namespace

TextRules readTextRules(JsonView normalizer, JsonView preTokenizer) {
  TextRules rules;
  readNormalizer(normalizer, rules);
  readPreTokenizer(preTokenizer, rules);
  return rules;
}

Enclosure readPostProcessor(JsonView postProcessor) {
  Enclosure enclosure;
  readProcessor(postProcessor, enclosure);
  return enclosure;
}

} // namespace llmc::huggingface
