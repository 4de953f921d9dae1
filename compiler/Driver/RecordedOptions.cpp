// SPDX-License-Identifier: Apache-2.0
//
// One line for each option, named as on the command line.

#include "compiler/Driver/RecordedOptions.h"

#include "llvm/ADT/StringRef.h"

namespace llmc::driver {

std::vector<std::string> recordOptions(const CompileOptions &options) {
  std::vector<std::string> recorded;
  auto add = [&](const char *name, const std::string &value) {
    if (!value.empty())
      recorded.push_back(std::string(name) + "=" + value);
  };
  if (options.maxContext != 0)
    add("max-context", std::to_string(options.maxContext));
  add("pooling", options.pooling);
  if (options.normalizesEmbeddings)
    add("normalize", "yes");
  add("weights", options.weights);
  for (const std::string &rule : options.weightRules)
    add("weights-for", rule);
  add("kv", options.kvType);
  add("activations", options.activations);
  add("tuning", options.tuningPath);
  for (const std::string &limit : options.limits)
    add("limit", limit);
  return recorded;
}

Status applyRecordedOptions(const std::vector<std::string> &recorded,
                            CompileOptions &options) {
  for (const std::string &entry : recorded) {
    auto [name, value] = llvm::StringRef(entry).split('=');
    if (name == "max-context" && !value.getAsInteger(10, options.maxContext))
      continue;
    if (name == "pooling")
      options.pooling = value.str();
    else if (name == "normalize")
      options.normalizesEmbeddings = value == "yes";
    else if (name == "weights")
      options.weights = value.str();
    else if (name == "weights-for")
      options.weightRules.push_back(value.str());
    else if (name == "kv")
      options.kvType = value.str();
    else if (name == "activations")
      options.activations = value.str();
    else if (name == "tuning")
      options.tuningPath = value.str();
    else if (name == "limit")
      options.limits.push_back(value.str());
    else
      return Status(StatusCode::InvalidFile,
                    "the file records an option of its compilation '" + entry +
                        "', which this version does not know");
  }
  return okStatus();
}

} // namespace llmc::driver
