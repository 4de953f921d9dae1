// SPDX-License-Identifier: Apache-2.0
//
// The text encoders that GGUF files hold.

#ifndef LLMC_COMPILER_IMPORT_GGUF_GGUFENCODER_H
#define LLMC_COMPILER_IMPORT_GGUF_GGUFENCODER_H

#include "compiler/Import/EncoderModel.h"
#include "compiler/Import/GGUF/GgufReader.h"
#include "compiler/Import/Import.h"

namespace llmc::gguf {

/// `general.architecture` of files that hold an encoder.
inline constexpr StringRef kEncoderArchitecture = "bert";

/// Reads and checks the description of an encoder. Refused, by name: missing or
/// odd metadata, missing tensors, wrong shapes, and tensors of the file that
/// the model would not use.
llvm::Expected<importer::EncoderModel>
readEncoder(const GgufFile &file, const importer::ImportOptions &options);

} // namespace llmc::gguf

#endif // LLMC_COMPILER_IMPORT_GGUF_GGUFENCODER_H
