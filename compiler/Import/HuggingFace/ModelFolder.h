// SPDX-License-Identifier: Apache-2.0
//
// A Hugging Face model directory: config.json and the tensors of its
// safetensors files, one or many with an index.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_MODELFOLDER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_MODELFOLDER_H

#include "compiler/Import/HuggingFace/SafetensorsReader.h"

#include <nlohmann/json.hpp>

namespace llmc::huggingface {

/// A tensor and the file that holds it.
struct PlacedTensor {
  const Tensor *tensor;
  /// Index into `files`.
  int64_t file;
};

/// Whether a name from a file of the folder stands for a file or folder in it,
/// not for one elsewhere.
bool isFileName(StringRef name);

class ModelFolder {
public:
  /// Reads config.json, and model.safetensors or else the files that
  /// model.safetensors.index.json names. The index must name every tensor of
  /// the files and no other, each in the file that has it, by files of the
  /// folder itself.
  static llvm::Expected<ModelFolder> open(StringRef path);

  StringRef path() const { return folder; }
  std::string configPath() const { return pathOf("config.json"); }
  std::string pathOf(StringRef name) const;
  /// An object.
  const nlohmann::json &config() const { return configuration; }

  std::vector<std::string> filePaths() const;
  /// None when no file has a tensor of that name.
  std::optional<PlacedTensor> findTensor(StringRef name) const;
  /// In the order of the files.
  std::vector<StringRef> tensorNames() const;
  ArrayRef<uint8_t> tensorBytes(const PlacedTensor &tensor) const {
    return files[tensor.file]->tensorBytes(*tensor.tensor);
  }

private:
  ModelFolder() = default;
  llvm::Error readConfig();
  llvm::Error openFiles();
  llvm::Error openFile(StringRef name);
  llvm::Error openShards(const std::string &indexPath);
  llvm::Error checkShard(const std::string &indexPath,
                         const nlohmann::json &weightMap,
                         const SafetensorsFile &file, StringRef name) const;

  std::string folder;
  nlohmann::json configuration;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_MODELFOLDER_H
