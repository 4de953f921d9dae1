// SPDX-License-Identifier: Apache-2.0
//
// The JSON header of a safetensors file, taken apart event by event, so that a
// header of a hundred megabytes needs memory for its tensors only.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSHEADER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSHEADER_H

#include "compiler/Import/HuggingFace/SafetensorsReader.h"

namespace llmc::huggingface {

/// Parses the header's text. Offsets of the result are from the start of the
/// data; sizes agree with shapes and types, but offsets are not checked against
/// each other or the file. A message begins with `path`.
llvm::Expected<std::vector<Tensor>> parseSafetensorsHeader(StringRef text,
                                                           StringRef path);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_SAFETENSORSHEADER_H
