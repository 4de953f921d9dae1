// SPDX-License-Identifier: Apache-2.0
//
// modules.json is an array of {"type": class, "path": folder}. A pooling
// folder's config.json has a flag for each mode, newer ones its name.

#include "compiler/Import/HuggingFace/SentenceModules.h"

#include "compiler/Import/HuggingFace/ConfigReader.h"
#include "compiler/Import/HuggingFace/Json.h"

#include "llvm/Support/FileSystem.h"

namespace llmc::huggingface {

using graph::Pooling;

namespace {

struct PoolingMode {
  const char *flag, *name;
  std::optional<Pooling> mode; // none: not supported
};

constexpr PoolingMode kModes[] = {
    {"pooling_mode_cls_token", "cls", Pooling::First},
    {"pooling_mode_mean_tokens", "mean", Pooling::Mean},
    {"pooling_mode_lasttoken", "lasttoken", Pooling::Last},
    {"pooling_mode_max_tokens", "max", std::nullopt},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    {"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt}};

constexpr const char *kAllowedModes =
    "is one of cls, mean and lasttoken, and none besides";

llvm::Expected<Pooling> readFlags(const ConfigReader &config) {
  std::optional<Pooling> result;
  for (const PoolingMode &candidate : kModes) {
    bool isSet;
    if (llvm::Error error = config.readFlag(candidate.flag, isSet, false))
      return std::move(error);
    if (!isSet)
      continue;
    if (result || !candidate.mode)
      return config.refuse(candidate.flag, kAllowedModes);
    result = candidate.mode;
  }
  if (!result)
    return config.refuse("pooling_mode_mean_tokens", kAllowedModes);
  return *result;
}

llvm::Expected<Pooling> readPoolingMode(const std::string &path) {
  auto json = readJsonFile(path);
  if (!json)
    return json.takeError();
  if (!json->is_object())
    return llvm::createStringError(path + ": holds " + json->type_name() +
                                   ", allowed is an object");
  ConfigReader config(*json, path);
  if (!config.has("pooling_mode"))
    return readFlags(config);
  std::string name;
  if (llvm::Error error = config.readText("pooling_mode", name))
    return std::move(error);
  for (const PoolingMode &candidate : kModes)
    if (name == candidate.name && candidate.mode)
      return *candidate.mode;
  return config.refuse("pooling_mode", kAllowedModes);
}

/// Adds what one module does.
llvm::Error readModule(const ModelFolder &folder, const nlohmann::json &entry,
                       importer::PoolingOption &result) {
  std::string path = folder.pathOf("modules.json");
  if (!entry.is_object())
    return llvm::createStringError(path + ": holds " + entry.type_name() +
                                   " among its modules, allowed are objects");
  ConfigReader module(entry, path);
  std::string type, subfolder;
  if (llvm::Error error = module.readText("type", type))
    return error;
  StringRef kind = StringRef(type).rsplit('.').second;
  if (kind == "Transformer")
    return llvm::Error::success();
  if (kind == "Normalize" && result.mode) {
    result.isNormalized = true;
    return llvm::Error::success();
  }
  if (kind != "Pooling" || result.mode)
    return module.refuse("type", "are one Transformer, one Pooling and then "
                                 "Normalize of sentence_transformers.models");
  if (llvm::Error error = module.readText("path", subfolder))
    return error;
  if (!isFileName(subfolder))
    return module.refuse("path", "are names of folders of the same folder");
  auto mode = readPoolingMode(folder.pathOf(subfolder + "/config.json"));
  if (!mode)
    return mode.takeError();
  result.mode = *mode;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<importer::PoolingOption>
readPooling(const ModelFolder &folder, const importer::ImportOptions &options) {
  if (options.pooling)
    return *options.pooling;
  std::string path = folder.pathOf("modules.json");
  if (!llvm::sys::fs::exists(path))
    return importer::PoolingOption{Pooling::Mean, false};
  auto modules = readJsonFile(path);
  if (!modules)
    return modules.takeError();
  if (!modules->is_array())
    return llvm::createStringError(path + ": holds " + modules->type_name() +
                                   ", allowed is an array");
  importer::PoolingOption result;
  for (const nlohmann::json &entry : *modules)
    if (llvm::Error error = readModule(folder, entry, result))
      return std::move(error);
  return result;
}

} // namespace llmc::huggingface
