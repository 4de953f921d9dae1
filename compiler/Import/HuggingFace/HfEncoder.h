// SPDX-License-Identifier: Apache-2.0
//
// The encoders that Hugging Face directories hold: which fields of config.json
// and which tensors describe them.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_HFENCODER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_HFENCODER_H

#include "compiler/Import/EncoderModel.h"
#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "compiler/Import/Import.h"

namespace llmc::huggingface {

/// Whether the configuration's model type is an encoder's: bert, mpnet.
bool isEncoder(const ModelFolder &folder);

/// Reads and checks the description of an encoder. Weights have the names of
/// GGUF files. Heads for training (`cls`, `lm_head`) and BERT's `pooler`, which
/// sentence embeddings don't use, are left out; other tensors that the model
/// would not use are refused, as are unknown features, by name.
llvm::Expected<importer::EncoderModel>
readEncoder(const ModelFolder &folder, const importer::ImportOptions &options);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_HFENCODER_H
