// SPDX-License-Identifier: Apache-2.0
//
// Where the external data of an ONNX file may lie: in the folder of the model
// file, or below it, and nowhere else.

#ifndef LLMC_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
#define LLMC_COMPILER_IMPORT_ONNX_EXTERNALDATA_H

#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <string>

namespace llmc::onnx {

/// The path of the file that `location` of a tensor's external data names,
/// relative to the folder of `modelPath`. Refuses, without opening it: an empty
/// location, one with a zero byte, an absolute path, a path with "..", and one
/// that leads out of the folder through a symbolic link.
llvm::Expected<std::string> resolveExternalData(StringRef modelPath,
                                                StringRef location);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_EXTERNALDATA_H
