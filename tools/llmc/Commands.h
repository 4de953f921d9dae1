// SPDX-License-Identifier: Apache-2.0
//
// The commands of llmc, one file each. A command takes the arguments after its
// name and returns an exit code.

#ifndef LLMC_TOOLS_LLMC_COMMANDS_H
#define LLMC_TOOLS_LLMC_COMMANDS_H

#include <string>
#include <vector>

namespace llmc::tool {

using Arguments = std::vector<std::string>;

// Only when built with the compiler.
int runCompile(const Arguments &arguments);
int runEstimate(const Arguments &arguments);
int runTargets(const Arguments &arguments);
int runTune(const Arguments &arguments);
int runVerify(const Arguments &arguments);

int runBench(const Arguments &arguments);
int runDevices(const Arguments &arguments);
int runEmbed(const Arguments &arguments);
int runInspect(const Arguments &arguments);
int runLogits(const Arguments &arguments);
int runPerplexity(const Arguments &arguments);
int runRun(const Arguments &arguments);
int runTokenize(const Arguments &arguments);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_COMMANDS_H
