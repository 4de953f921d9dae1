// SPDX-License-Identifier: Apache-2.0
//
// The decoders that GGUF files hold: which metadata and tensors describe them.

#ifndef LLMC_COMPILER_IMPORT_GGUF_GGUFDECODER_H
#define LLMC_COMPILER_IMPORT_GGUF_GGUFDECODER_H

#include "compiler/Import/DecoderModel.h"
#include "compiler/Import/GGUF/GgufReader.h"
#include "compiler/Import/Import.h"

namespace llmc::gguf {

/// Reads and checks the description of a model of a supported architecture
/// (llama, qwen2, qwen3). Refused, by name: unknown architectures, missing or
/// odd metadata, missing tensors, wrong shapes, and tensors of the file that
/// the model would not use.
llvm::Expected<importer::DecoderModel>
readDecoder(const GgufFile &file, const importer::ImportOptions &options);

} // namespace llmc::gguf

#endif // LLMC_COMPILER_IMPORT_GGUF_GGUFDECODER_H
