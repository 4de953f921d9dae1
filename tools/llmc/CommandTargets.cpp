// SPDX-License-Identifier: Apache-2.0
//
// llmc targets: the devices that are known, and what is known of one.

#include "tools/llmc/Commands.h"
#include "tools/llmc/Options.h"

#include "codegen/Targets/Targets.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <optional>

namespace llmc::tool {

namespace {

using description::Target;

/// Loads one target, or reports why not.
std::optional<Target> load(llvm::StringRef name) {
  llvm::Expected<Target> target = targets::loadTarget(name);
  if (target)
    return *target;
  std::fprintf(stderr, "llmc: %s\n",
               llvm::toString(target.takeError()).c_str());
  return std::nullopt;
}

/// One description: in the words of its file without the comments, or as JSON.
std::string print(const Target &target, bool asJson) {
  std::string text;
  if (!asJson) {
    google::protobuf::TextFormat::PrintToString(target, &text);
    return text;
  }
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  // Cannot fail: the message holds no `Any`.
  (void)google::protobuf::util::MessageToJsonString(target, &text, options);
  return text;
}

/// All shipped descriptions: a line each, or a JSON array.
int list(bool asJson) {
  const char *separator = "[";
  for (llvm::StringRef name : targets::getTargetNames()) {
    std::optional<Target> target = load(name);
    if (!target)
      return kExitFailure;
    if (asJson)
      std::printf("%s%s", separator, print(*target, asJson).c_str());
    else
      std::printf("%-12s  %s\n", name.str().c_str(), target->summary().c_str());
    separator = ",";
  }
  if (asJson)
    std::puts("]");
  return kExitOk;
}

} // namespace

int runTargets(const Arguments &arguments) {
  std::string name;
  bool asJson = false;
  Options options("targets [NAME]",
                  "Lists the devices to compile for, or prints the "
                  "description of one.");
  options.positional("NAME", name, "a target, or the path of a .textproto file",
                     false);
  options.flag("json", asJson, "print JSON");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;

  if (name.empty())
    return list(asJson);
  std::optional<Target> target = load(name);
  if (!target)
    return kExitRefused;
  std::fputs(print(*target, asJson).c_str(), stdout);
  return kExitOk;
}

} // namespace llmc::tool
