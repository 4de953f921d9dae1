// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of a Hugging Face directory, as the manifest of a .llmc file
// holds it.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_TOKENIZERFROMJSON_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_TOKENIZERFROMJSON_H

#include "dialects/Support/LLVM.h"
#include "runtime/format/manifest.pb.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace llmc::importer {

/// Translates the text of a tokenizer.json; `path` stands for the file in
/// messages. BOS and EOS are the tokens that its post-processor puts around a
/// text; there are no stop ids but the known ends of turns, and no chat
/// template. Truncation and padding are left out, decoders follow from the
/// kind of model. Whatever else is not understood is refused by name.
llvm::Expected<format::Tokenizer> readTokenizerJson(StringRef text,
                                                    StringRef path);

/// The tokenizer of a model directory; none if it has no tokenizer.json. The
/// chat template comes from chat_template.jinja or tokenizer_config.json; BOS
/// and EOS, where tokenizer.json puts none around a text, from the latter; stop
/// ids also from generation_config.json and config.json.
llvm::Expected<std::optional<format::Tokenizer>>
readTokenizerOfFolder(StringRef folder);

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_TOKENIZERFROMJSON_H
