// SPDX-License-Identifier: Apache-2.0
//
// Chooses the importer for a file.

#include "compiler/Import/Import.h"

#include "compiler/Import/DecoderBuilder.h"
#include "compiler/Import/EncoderBuilder.h"
#include "compiler/Import/GGUF/GgufDecoder.h"
#include "compiler/Import/GGUF/GgufEncoder.h"
#include "compiler/Import/HuggingFace/HfDecoder.h"
#include "compiler/Import/HuggingFace/HfEncoder.h"
#include "compiler/Import/ONNX/OnnxImporter.h"
#include "dialects/Graph/Graph.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"

namespace llmc::importer {

namespace {

llvm::Expected<OwningOpRef<ModuleOp>>
importGguf(MLIRContext &context, StringRef path, const ImportOptions &options) {
  auto file = gguf::GgufFile::open(path);
  if (!file)
    return file.takeError();
  auto architecture = (*file)->findString("general.architecture");
  if (!architecture)
    return architecture.takeError();
  if (*architecture == gguf::kEncoderArchitecture) {
    auto encoder = gguf::readEncoder(**file, options);
    if (!encoder)
      return encoder.takeError();
    return buildEncoder(context, *encoder);
  }
  auto model = gguf::readDecoder(**file, options);
  if (!model)
    return model.takeError();
  return buildDecoder(context, *model);
}

llvm::Expected<OwningOpRef<ModuleOp>>
importFolder(MLIRContext &context, StringRef path,
             const ImportOptions &options) {
  auto folder = huggingface::ModelFolder::open(path);
  if (!folder)
    return folder.takeError();
  if (huggingface::isEncoder(*folder)) {
    auto encoder = huggingface::readEncoder(*folder, options);
    if (!encoder)
      return encoder.takeError();
    return buildEncoder(context, *encoder);
  }
  auto model = huggingface::readDecoder(*folder, options);
  if (!model)
    return model.takeError();
  return buildDecoder(context, *model);
}

llvm::Expected<OwningOpRef<ModuleOp>>
importOnnxFile(MLIRContext &context, StringRef path,
               const ImportOptions &options) {
  auto file = onnx::OnnxFile::open(path);
  if (!file)
    return file.takeError();
  return onnx::importOnnx(context, **file, options);
}

} // namespace

llvm::Expected<int64_t>
ImportOptions::chooseContextLength(StringRef file, const Twine &field,
                                   int64_t most, int64_t usual) const {
  if (contextLength < 0 || contextLength > most)
    return llvm::createStringError(
        file + ": the requested context length is " + Twine(contextLength) +
        ", allowed are 1 to " + Twine(most) + " (" + field + ")");
  return contextLength != 0 ? contextLength : std::min(most, usual);
}

llvm::Expected<OwningOpRef<ModuleOp>>
importModel(MLIRContext &context, StringRef path,
            const ImportOptions &options) {
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  if (llvm::sys::fs::is_directory(path))
    return importFolder(context, path, options);
  if (path.ends_with(".mlir"))
    return importMlirFile(context, path);
  if (path.ends_with(".onnx"))
    return importOnnxFile(context, path, options);
  if (path.ends_with(".safetensors"))
    return llvm::createStringError(
        path + ": this format is not supported, supported are .gguf, .onnx and "
               ".mlir files and Hugging Face directories");
  return importGguf(context, path, options);
}

} // namespace llmc::importer
