// SPDX-License-Identifier: Apache-2.0
//
// Opens what a model directory consists of. Files of a folder may be links (the
// hub's cache is made of them); names in the index may not be paths.

#include "compiler/Import/HuggingFace/ModelFolder.h"

#include "compiler/Import/HuggingFace/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

namespace llmc::huggingface {

namespace {

constexpr StringRef kSingleFile = "model.safetensors";
constexpr StringRef kIndexFile = "model.safetensors.index.json";

} // namespace

bool isFileName(StringRef name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\\") == StringRef::npos &&
         !name.contains(StringRef("\0", 1));
}

std::string ModelFolder::pathOf(StringRef name) const {
  SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

llvm::Expected<ModelFolder> ModelFolder::open(StringRef path) {
  ModelFolder result;
  result.folder = path.str();
  if (llvm::Error error = result.readConfig())
    return std::move(error);
  if (llvm::Error error = result.openFiles())
    return std::move(error);
  return std::move(result);
}

llvm::Error ModelFolder::readConfig() {
  if (!llvm::sys::fs::exists(configPath()))
    return llvm::createStringError(
        folder + ": is a folder without config.json, allowed are Hugging Face "
                 "model directories");
  llvm::Expected<nlohmann::json> config = readJsonFile(configPath());
  if (!config)
    return config.takeError();
  if (!config->is_object())
    return llvm::createStringError(configPath() + ": holds " +
                                   config->type_name() +
                                   ", allowed is an object");
  configuration = std::move(*config);
  return llvm::Error::success();
}

llvm::Error ModelFolder::openFiles() {
  if (llvm::sys::fs::exists(pathOf(kSingleFile)))
    return openFile(kSingleFile);
  if (llvm::sys::fs::exists(pathOf(kIndexFile)))
    return openShards(pathOf(kIndexFile));
  return llvm::createStringError(folder + ": has neither " + kSingleFile +
                                 " nor " + kIndexFile +
                                 "; other weight files are not supported");
}

llvm::Error ModelFolder::openFile(StringRef name) {
  auto file = SafetensorsFile::open(pathOf(name));
  if (!file)
    return file.takeError();
  files.push_back(std::move(*file));
  return llvm::Error::success();
}

llvm::Error ModelFolder::openShards(const std::string &indexPath) {
  llvm::Expected<nlohmann::json> index = readJsonFile(indexPath);
  if (!index)
    return index.takeError();
  auto fail = [&](const Twine &message) {
    return llvm::createStringError(indexPath + ": " + message);
  };
  if (!index->is_object() || !index->contains("weight_map") ||
      !index->at("weight_map").is_object())
    return fail("has no object 'weight_map'");
  const nlohmann::json &weightMap = index->at("weight_map");
  std::set<std::string> names; // sorted, so that file numbers are the same
  for (const auto &[tensor, shard] : weightMap.items()) {
    if (!shard.is_string() || !isFileName(shard.get_ref<const std::string &>()))
      return fail("'weight_map' says that tensor " + inQuotes(tensor) +
                  " is in " + inQuotes(shard.dump()) +
                  ", allowed are names of files of the same folder");
    names.insert(shard.get<std::string>());
  }
  size_t numTensors = 0;
  for (const std::string &name : names) {
    if (!llvm::sys::fs::exists(pathOf(name)))
      return fail("names the file " + inQuotes(name) +
                  ", which is missing: download it too");
    if (llvm::Error error = openFile(name))
      return error;
    numTensors += files.back()->tensors().size();
    if (llvm::Error error =
            checkShard(indexPath, weightMap, *files.back(), name))
      return error;
  }
  // Every tensor of a file is in the index; are there others?
  if (numTensors == weightMap.size())
    return llvm::Error::success();
  for (const auto &[tensor, shard] : weightMap.items())
    if (!findTensor(tensor))
      return fail("says that tensor " + inQuotes(tensor) + " is in " +
                  inQuotes(shard.get<std::string>()) +
                  ", which does not have it");
  return llvm::Error::success();
}

llvm::Error ModelFolder::checkShard(const std::string &indexPath,
                                    const nlohmann::json &weightMap,
                                    const SafetensorsFile &file,
                                    StringRef name) const {
  for (const Tensor &tensor : file.tensors()) {
    auto entry = weightMap.find(tensor.name);
    if (entry == weightMap.end() || *entry != name.str())
      return llvm::createStringError(
          file.path() + ": has tensor " + inQuotes(tensor.name) + ", which " +
          indexPath +
          (entry == weightMap.end()
               ? std::string(" does not name")
               : " places in " + inQuotes(entry->get<std::string>())));
  }
  return llvm::Error::success();
}

std::vector<std::string> ModelFolder::filePaths() const {
  std::vector<std::string> paths;
  for (const auto &file : files)
    paths.push_back(file->path().str());
  return paths;
}

std::optional<PlacedTensor> ModelFolder::findTensor(StringRef name) const {
  for (auto [index, file] : llvm::enumerate(files))
    if (const Tensor *tensor = file->findTensor(name))
      return PlacedTensor{tensor, static_cast<int64_t>(index)};
  return std::nullopt;
}

std::vector<StringRef> ModelFolder::tensorNames() const {
  std::vector<StringRef> names;
  for (const auto &file : files)
    for (const Tensor &tensor : file->tensors())
      names.push_back(tensor.name);
  return names;
}

} // namespace llmc::huggingface
