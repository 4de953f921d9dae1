// SPDX-License-Identifier: Apache-2.0
//
// llmc targets: the devices that are known, and what is known of one.

#include "tools/llmc/Commands.h"
#include "tools/llmc/Options.h"

#include "codegen/Targets/Targets.h"

#include <google/protobuf/text_format.h>

#include <cstdio>

namespace llmc::tool {

int runTargets(const Arguments &arguments) {
  std::string name;
  Options options("targets [NAME]",
                  "Lists the devices to compile for, or prints the "
                  "description of one.");
  options.positional("NAME", name, "a target, or the path of a .textproto file",
                     false);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;

  if (name.empty()) {
    for (llvm::StringRef known : targets::getTargetNames()) {
      auto target = targets::loadTarget(known);
      if (!target) {
        std::fprintf(stderr, "llmc: %s\n",
                     llvm::toString(target.takeError()).c_str());
        return kExitFailure;
      }
      std::printf("%-12s  %s\n", known.str().c_str(),
                  target->summary().c_str());
    }
    return kExitOk;
  }
  auto target = targets::loadTarget(name);
  if (!target) {
    std::fprintf(stderr, "llmc: %s\n",
                 llvm::toString(target.takeError()).c_str());
    return kExitRefused;
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(*target, &text);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

} // namespace llmc::tool
