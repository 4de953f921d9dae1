// SPDX-License-Identifier: Apache-2.0
//
// Names of weight types, and the rules that give weights their types.

#include "compiler/Transforms/WeightTypes.h"

namespace llmc::transforms {

using graph::Encoding;

namespace {

struct TypeName {
  const char *name;
  Encoding encoding;
};

constexpr TypeName kTypes[] = {
    {"f16", Encoding::F16},
    {"int8", Encoding::I8_CHANNEL},
    {"int8-asym", Encoding::I8_CHANNEL_ASYM},
    {"int4-g32", Encoding::I4_G32},
    {"int4-g64", Encoding::I4_G64},
    {"int4-g128", Encoding::I4_G128},
    {"int4-channel", Encoding::I4_CHANNEL},
    {"int4-g32-asym", Encoding::I4_G32_ASYM},
    {"int4-g64-asym", Encoding::I4_G64_ASYM},
    {"int4-g128-asym", Encoding::I4_G128_ASYM},
    {"int4-channel-asym", Encoding::I4_CHANNEL_ASYM},
};

std::optional<Encoding> encodingOfType(llvm::StringRef name) {
  for (const TypeName &type : kTypes)
    if (name == type.name)
      return type.encoding;
  return std::nullopt;
}

/// What a row must be a multiple of; kernels take 32 columns of a channel
/// encoding at a time.
int64_t columnMultipleOf(Encoding encoding) {
  const graph::EncodingFacts &facts = graph::encodingFacts(encoding);
  return facts.isRow() ? 32 : facts.blockElements;
}

/// The type that takes the place of one that does not fit.
Encoding nextSmaller(Encoding encoding) {
  switch (encoding) {
  case Encoding::I4_G128:
    return Encoding::I4_G64;
  case Encoding::I4_G64:
    return Encoding::I4_G32;
  case Encoding::I4_G128_ASYM:
    return Encoding::I4_G64_ASYM;
  case Encoding::I4_G64_ASYM:
    return Encoding::I4_G32_ASYM;
  default:
    return Encoding::F16;
  }
}

} // namespace

std::string weightTypeNames() {
  std::string names;
  for (const TypeName &type : kTypes)
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  return names;
}

llvm::Expected<WeightTypes>
WeightTypes::create(llvm::StringRef general,
                    llvm::ArrayRef<std::string> ruleTexts) {
  WeightTypes types;
  if (!general.empty() && !(types.general = encodingOfType(general)))
    return llvm::createStringError("the weights' type is '" + general +
                                   "', allowed is one of " + weightTypeNames());
  for (llvm::StringRef text : ruleTexts) {
    auto [expression, type] = text.rsplit('=');
    if (expression.empty() || type.empty())
      return llvm::createStringError("the rule for weights '" + text +
                                     "' is not of the form REGEX=TYPE");
    Rule rule{text.str(), llvm::Regex(expression), encodingOfType(type)};
    std::string problem;
    if (!rule.regex.isValid(problem))
      return llvm::createStringError("the rule for weights '" + text +
                                     "' has a bad expression: " + problem);
    if (!rule.encoding && type != "keep")
      return llvm::createStringError(
          "the rule for weights '" + text + "' has type '" + type +
          "', allowed is one of " + weightTypeNames() + ", keep");
    types.rules.push_back(std::move(rule));
  }
  return std::move(types);
}

llvm::Expected<std::optional<Encoding>>
WeightTypes::choose(llvm::StringRef name, int64_t columns) {
  const Rule *first = nullptr;
  for (Rule &rule : rules)
    if (rule.regex.match(name)) {
      rule.isUsed = true;
      first = first ? first : &rule;
    }
  if (first && first->encoding &&
      columns % columnMultipleOf(*first->encoding) != 0)
    return llvm::createStringError(
        "weight '" + name + "' has rows of " + llvm::Twine(columns) +
        " numbers, allowed by the rule '" + first->text +
        "' are multiples of " +
        llvm::Twine(columnMultipleOf(*first->encoding)));
  if (first)
    return first->encoding;
  std::optional<Encoding> encoding = general;
  while (encoding && columns % columnMultipleOf(*encoding) != 0)
    encoding = nextSmaller(*encoding);
  return encoding;
}

std::vector<std::string> WeightTypes::unusedRules() const {
  std::vector<std::string> unused;
  for (const Rule &rule : rules)
    if (!rule.isUsed)
      unused.push_back(rule.text);
  return unused;
}

} // namespace llmc::transforms
