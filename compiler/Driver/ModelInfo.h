// SPDX-License-Identifier: Apache-2.0
//
// What the manifest says of a model besides its programs.

#ifndef LLMC_COMPILER_DRIVER_MODELINFO_H
#define LLMC_COMPILER_DRIVER_MODELINFO_H

#include "dialects/Support/LLVM.h"
#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"

#include "mlir/IR/BuiltinOps.h"

namespace llmc::driver {

/// Sets producer, model and tokenizer of |manifest| from the fused graph and
/// the model file. A file without a tokenizer (a graph as text) has none.
Status describeModel(ModuleOp module, StringRef inputPath,
                     format::Manifest &manifest);

} // namespace llmc::driver

#endif // LLMC_COMPILER_DRIVER_MODELINFO_H
