// SPDX-License-Identifier: Apache-2.0
//
// What sentence-transformers does with an encoder's rows, as the files of a
// model directory say it.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H

#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "compiler/Import/Import.h"

namespace llmc::huggingface {

/// What the caller asks for, or else modules.json and the configuration of its
/// pooling module say. Without modules.json it is that library's default: the
/// mean of a text's rows, of any length. Modules other than the encoder,
/// pooling and normalization, and poolings other than mean, first and last
/// token are refused by name.
llvm::Expected<importer::PoolingOption>
readPooling(const ModelFolder &folder, const importer::ImportOptions &options);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H
