// SPDX-License-Identifier: Apache-2.0
//
// ONNX graphs to graph modules: what the file says, op by op. Finding bigger
// ops is the fusion passes' task.

#ifndef LLMC_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H
#define LLMC_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H

#include "compiler/Import/Import.h"
#include "compiler/Import/ONNX/OnnxReader.h"

namespace llmc::onnx {

/// The opsets that are supported.
constexpr int64_t kFirstOpset = 11, kLastOpset = 21;
constexpr int64_t kMicrosoftOpset = 1;

/// A module with one function: `encode` of docs/import.md for a graph that
/// reads input_ids, else `main` with the graph's own inputs. The graph and func
/// dialects must be loaded. An error names file, node, op, domain and opset.
llvm::Expected<OwningOpRef<ModuleOp>>
importOnnx(MLIRContext &context, const OnnxFile &file,
           const importer::ImportOptions &options);

} // namespace llmc::onnx

#endif // LLMC_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H
