// SPDX-License-Identifier: Apache-2.0
//
// What sentence-transformers does with an encoder's rows, as the files of a
// model directory say it.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H

#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "compiler/Import/Import.h"

namespace llmc::huggingface {

/// Reads modules.json and the configuration of its pooling module. Without
/// modules.json it is that library's default: the mean of a text's rows, of any
/// length. Modules other than the encoder, pooling and normalization, and
/// poolings other than mean, first and last token are refused by name.
llvm::Expected<importer::PoolingOption>
readSentenceModules(const ModelFolder &folder);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_SENTENCEMODULES_H
