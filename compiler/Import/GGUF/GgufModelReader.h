// SPDX-License-Identifier: Apache-2.0
//
// What readers of models in GGUF files share: metadata and tensors by name,
// refused with a message when they are missing or not as the model needs them.

#ifndef LLMC_COMPILER_IMPORT_GGUF_GGUFMODELREADER_H
#define LLMC_COMPILER_IMPORT_GGUF_GGUFMODELREADER_H

#include "compiler/Import/GGUF/GgufReader.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/ModelParts.h"

#include "llvm/ADT/StringSet.h"

namespace llmc::gguf {

/// Sizes beyond it are refused, so that products of two of them can't wrap.
inline constexpr uint64_t kMaxSize = uint64_t(1) << 28;
inline constexpr uint64_t kMaxLayers = 1024;

/// Whether a linear's bias is part of an architecture.
enum class Bias { None, Optional, Required };

class GgufModelReader {
protected:
  GgufModelReader(const GgufFile &file, const importer::ImportOptions &options)
      : file(file), options(options) {}

  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(file.path() + ": " + message);
  }
  std::string key(const Twine &name) const {
    return (architectureName + "." + name).str();
  }

  /// Where the model comes from; comes first, since keys begin with the
  /// architecture.
  /// `mayHaveExperts`: whether the architecture is a mixture of experts.
  llvm::Error readSource(importer::ModelSource &source,
                         bool mayHaveExperts = false);

  // Metadata. `name` is the key without the architecture.
  llvm::Error readSize(const Twine &name, int64_t &result,
                       std::optional<int64_t> absent = std::nullopt,
                       uint64_t most = kMaxSize);
  llvm::Error readReal(const Twine &name, float &result,
                       std::optional<float> absent = std::nullopt);
  /// How an encoder's rows become an embedding: as the caller says, or else
  /// the file.
  llvm::Error readPooling(importer::PoolingOption &result);
  /// The requested length, or else the file's, at most `longest`.
  llvm::Error readContextLength(int64_t longest, int64_t &result);

  // Tensors.
  llvm::Error readWeight(const Twine &name, ArrayRef<int64_t> shape,
                         importer::Weight &result);
  llvm::Error readOptional(const Twine &name, ArrayRef<int64_t> shape,
                           std::optional<importer::Weight> &result);
  llvm::Error readVector(const Twine &name, int64_t size,
                         std::optional<importer::Weight> &result);
  llvm::Error readLinear(const Twine &name, int64_t outputs, int64_t inputs,
                         Bias bias, importer::Linear &result);
  llvm::Error readVocabularySize(int64_t &result);
  llvm::Error refuseUnusedTensors();

  const GgufFile &file;
  const importer::ImportOptions &options;

private:
  llvm::Error refuseExperts();

  std::string architectureName;
  llvm::StringSet<> used;
};

} // namespace llmc::gguf

#endif // LLMC_COMPILER_IMPORT_GGUF_GGUFMODELREADER_H
