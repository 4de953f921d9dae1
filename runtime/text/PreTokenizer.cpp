// SPDX-License-Identifier: Apache-2.0
//
// The patterns are facts of the models: those of their tokenizer.json, under
// the names that GGUF files give them. White space is written out as a class
// (Unicode's White_Space) because PCRE2's \s also has U+180E.

#include "runtime/text/PreTokenizer.h"

#include "runtime/text/Utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <iterator>

#define SPACES                                                                 \
  "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}"        \
  "\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define SPACE "[" SPACES "]"
#define NOT_SPACE "[^" SPACES "]"
#define SPACE_RUNS SPACE "+(?!" NOT_SPACE ")|" SPACE "+"
#define ANY_CASE_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"

namespace llmc::text {

namespace {

constexpr const char *kGpt2 =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACES
    "\\p{L}\\p{N}]+|" SPACE_RUNS;

constexpr const char *kLlama3 = ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^" SPACES
    "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" SPACE_RUNS;

constexpr const char *kQwen2 = ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^" SPACES
    "\\p{L}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" SPACE_RUNS;

constexpr const char *kQwen35 = ANY_CASE_CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^" SPACES
    "\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" SPACE_RUNS;

/// Patterns apply one after another, each within the pieces of the one before.
struct Rule {
  std::string_view name;
  std::vector<const char *> patterns;
  bool wholeWords;
};

/// The first of each family is the one it is named after; the others have the
/// same rule.
const std::vector<Rule> &rules() {
  static const std::vector<Rule> table = [] {
    const std::vector<const char *> fallback = {
        "[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"};
    const std::vector<const char *> digitwise = {"\\p{N}", kGpt2};
    std::vector<Rule> all = {{"default", fallback, false}};
    for (const char *name : {"gpt-2", "phi-2", "mellum"})
      all.push_back({name, {kGpt2}, false});
    for (const char *name : {"llama-bpe", "llama3", "llama-v3", "falcon3",
                             "falcon-h1", "pixtral", "lfm2"})
      all.push_back({name, {kLlama3}, true});
    all.push_back({"smaug-bpe", {kLlama3}, false});
    for (const char *name : {"qwen2", "deepseek-r1-qwen", "megrez"})
      all.push_back({name, {kQwen2}, false});
    all.push_back({"qwen35", {kQwen35}, false});
    for (const char *name : {"smollm", "starcoder", "refact", "command-r"})
      all.push_back({name, digitwise, false});
    return all;
  }();
  return table;
}

const Rule *findRule(std::string_view name) {
  if (name.empty())
    name = "default";
  for (const Rule &rule : rules())
    if (rule.name == name)
      return &rule;
  return nullptr;
}

Status unknownName(std::string_view name) {
  std::string supported;
  for (const Rule &rule : rules())
    supported += (supported.empty() ? "" : ", ") + std::string(rule.name);
  return Status(StatusCode::Unsupported,
                "tokenizer: pre-tokenizer '" + std::string(name) +
                    "' is unknown, supported are " + supported);
}

Status matchError(int code) {
  PCRE2_UCHAR message[120];
  pcre2_get_error_message(code, message, sizeof(message));
  return Status(StatusCode::Internal,
                "tokenizer: pre-tokenizer: " +
                    std::string(reinterpret_cast<const char *>(message)));
}

struct FreeMatchData {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context *context) const {
    pcre2_match_context_free(context);
  }
};
struct FreeCode {
  void operator()(pcre2_code *code) const { pcre2_code_free(code); }
};

/// Length of the longest beginning of `text` of which all characters are well
/// formed (`wanted`) or none is.
size_t runLength(std::string_view text, bool wanted) {
  size_t at = 0;
  while (at < text.size()) {
    Utf8Step step = decodeUtf8(text.substr(at));
    if ((step.kind == Utf8Kind::Complete) != wanted)
      break;
    at += step.length;
  }
  return at;
}

} // namespace

struct PreTokenizer::Pattern {
  std::unique_ptr<pcre2_code, FreeCode> code;

  static StatusOr<Pattern> compile(const char *text) {
    int error = 0;
    PCRE2_SIZE where = 0;
    Pattern pattern;
    pattern.code.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED,
        PCRE2_UTF | PCRE2_UCP, &error, &where, /*ccontext=*/nullptr));
    if (!pattern.code)
      return matchError(error);
    return pattern;
  }

  /// Appends the matches in `text`, which must be UTF-8, and what lies
  /// between them.
  Status split(std::string_view text,
               std::vector<std::string_view> &words) const {
    std::unique_ptr<pcre2_match_data, FreeMatchData> data(
        pcre2_match_data_create_from_pattern(code.get(), nullptr));
    std::unique_ptr<pcre2_match_context, FreeMatchContext> context(
        pcre2_match_context_create(nullptr));
    if (!data || !context)
      return Status(StatusCode::OutOfHostMemory, "tokenizer: no memory");
    // No pattern here takes more than linear time, so that long runs of one
    // character may not stumble over the default limits.
    pcre2_set_match_limit(context.get(), UINT32_MAX);
    pcre2_set_heap_limit(context.get(), UINT32_MAX);
    size_t done = 0;
    while (done < text.size()) {
      // Without the check of UTF-8, which would read the whole rest each time.
      int rc = pcre2_match(
          code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
          done, PCRE2_NO_UTF_CHECK, data.get(), context.get());
      if (rc == PCRE2_ERROR_NOMATCH)
        break;
      if (rc < 0)
        return matchError(rc);
      const PCRE2_SIZE *range = pcre2_get_ovector_pointer(data.get());
      if (range[0] > done)
        words.push_back(text.substr(done, range[0] - done));
      words.push_back(text.substr(range[0], range[1] - range[0]));
      done = range[1];
    }
    if (done < text.size())
      words.push_back(text.substr(done));
    return okStatus();
  }
};

PreTokenizer::~PreTokenizer() = default;

StatusOr<std::unique_ptr<PreTokenizer>>
PreTokenizer::create(std::string_view name) {
  const Rule *rule = findRule(name);
  if (!rule)
    return unknownName(name);
  std::unique_ptr<PreTokenizer> result(new PreTokenizer());
  result->wholeWords = rule->wholeWords;
  for (const char *text : rule->patterns) {
    LLMC_ASSIGN_OR_RETURN(Pattern pattern, Pattern::compile(text));
    result->patterns.push_back(std::move(pattern));
  }
  return result;
}

StatusOr<std::vector<std::string_view>>
PreTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  bool wellFormed = true;
  while (!text.empty()) {
    std::string_view run = text.substr(0, runLength(text, wellFormed));
    text.remove_prefix(run.size());
    std::vector<std::string_view> pieces;
    if (!run.empty())
      pieces.push_back(run);
    if (wellFormed) {
      for (const Pattern &pattern : patterns) {
        std::vector<std::string_view> finer;
        for (std::string_view piece : pieces)
          LLMC_RETURN_IF_ERROR(pattern.split(piece, finer));
        pieces = std::move(finer);
      }
    }
    words.insert(words.end(), pieces.begin(), pieces.end());
    wellFormed = !wellFormed;
  }
  return words;
}

} // namespace llmc::text
