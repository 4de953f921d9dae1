// SPDX-License-Identifier: Apache-2.0
//
// The decoders that Hugging Face directories hold: which fields of config.json
// and which tensors describe them.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_HFDECODER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_HFDECODER_H

#include "compiler/Import/DecoderModel.h"
#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "compiler/Import/Import.h"

namespace llmc::huggingface {

/// Reads and checks the description of a model of a supported type (llama,
/// qwen2, qwen3, gemma2, gemma3_text, lfm2). Weights have the names of GGUF
/// files, so that both formats give one graph. Refused, by name: unknown types,
/// missing or odd fields, features that would be left out, missing tensors,
/// wrong shapes, and tensors that the model would not use.
llvm::Expected<importer::DecoderModel>
readDecoder(const ModelFolder &folder, const importer::ImportOptions &options);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_HFDECODER_H
