// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer of a GGUF file, as the manifest of a .llmc file holds it.

#ifndef LLMC_COMPILER_IMPORT_TOKENIZERFROMGGUF_H
#define LLMC_COMPILER_IMPORT_TOKENIZERFROMGGUF_H

#include "compiler/Import/GGUF/GgufReader.h"
#include "runtime/format/manifest.pb.h"

#include <optional>

namespace llmc::importer {

/// Reads the metadata `tokenizer.*`; none if the file has no tokenizer. What
/// the file leaves out takes the defaults of its kind: SentencePiece begins
/// with BOS and a space, byte pair with neither unless its pre-tokenizer says
/// so, WordPiece is enclosed in its class token (as BOS) and separator (as
/// EOS). Stop ids are EOS, the file's other ends, and the known tokens that end
/// a turn. Fails for kinds and pre-tokenizers that the runtime has not, and for
/// ids out of range and counts that don't agree.
llvm::Expected<std::optional<format::Tokenizer>>
readTokenizer(const gguf::GgufFile &file);

/// The pre-tokenizers that `readTokenizer` accepts; the runtime has them all.
ArrayRef<StringRef> supportedPreTokenizers();

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_TOKENIZERFROMGGUF_H
