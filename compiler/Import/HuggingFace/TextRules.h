// SPDX-License-Identifier: Apache-2.0
//
// The parts of a tokenizer.json that say what happens to a text before and
// after its words become ids: normalizer, pre_tokenizer, post_processor.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_TEXTRULES_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_TEXTRULES_H

#include "compiler/Import/HuggingFace/JsonView.h"
#include "runtime/format/manifest.pb.h"

#include <optional>

namespace llmc::huggingface {

/// What `normalizer` and `pre_tokenizer` say together.
struct TextRules {
  std::vector<format::Tokenizer::Normalization> normalizations;

  /// Spaces become U+2581, by Replace or Metaspace.
  bool marksSpaces = false;
  bool addsSpacePrefix = false;
  bool prefixAtStartOnly = false;
  bool prefixUnlessThere = false;
  /// Words begin at marks.
  bool cutsAtMarks = false;
  /// White space of all kinds separates words and vanishes.
  bool cutsAtWhiteSpace = false;

  bool isByteLevel = false;
  bool isBert = false;
  bool separatesDigits = false;
  /// Which of the known patterns cuts words: "gpt-2", "llama-3", "qwen2",
  /// "qwen35"; empty: none.
  std::string pattern;
};

/// Reads both parts. What is not known is a mistake.
TextRules readTextRules(JsonView normalizer, JsonView preTokenizer);

/// The ids that `post_processor` puts around a text.
struct Enclosure {
  std::optional<int64_t> front;
  std::optional<int64_t> back;
};

/// Reads it; more than one token on a side is a mistake.
Enclosure readPostProcessor(JsonView postProcessor);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_TEXTRULES_H
