// SPDX-License-Identifier: Apache-2.0
//
// llmc compile: a model file to a .llmc file, or to the IR at some border.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/ProgressLine.h"

#include "compiler/Driver/Driver.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

namespace llmc::tool {

namespace {

driver::Emit emitOf(const std::string &name) {
  return name == "graph"     ? driver::Emit::Graph
         : name == "fused"   ? driver::Emit::Fused
         : name == "regions" ? driver::Emit::Regions
         : name == "program" ? driver::Emit::Program
         : name == "spirv"   ? driver::Emit::Spirv
                             : driver::Emit::File;
}

void printJson(const std::string &path, const driver::CompileResult &result) {
  std::error_code ignored;
  const nlohmann::ordered_json json = {
      {"file", path},
      {"bytes", std::filesystem::file_size(path, ignored)},
      {"weight_bytes", result.weightBytes},
      {"reused_weight_bytes", result.copiedWeightBytes}};
  // A path is whatever bytes the system takes.
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  std::puts(text.c_str());
}

/// What the options are bound to.
struct CommandLine {
  driver::CompileOptions compile;
  std::string emit;
  std::string earlier; // --reuse-weights
  bool omitsSelfTests = false;
  bool asJson = false;
};

void declareOptions(Options &options, CommandLine &line) {
  driver::CompileOptions &compile = line.compile;
  options.positional("MODEL", compile.inputPath, "the model file");
  options.list("target,t", "NAMES", compile.targets,
               "targets, or paths of .textproto files, in order of preference");
  options.text("output,o", "FILE", compile.outputPath, "the .llmc file");
  options.text("reuse-weights", "FILE", line.earlier,
               "copy packed weights from this .llmc file where packing would "
               "give the same (default: from the file that is replaced)");
  options.flag("json", line.asJson, "print what was written as JSON");
  options.flag("no-self-test", line.omitsSelfTests,
               "leave out the tests of the file's kernels");
  options.list("limit", "NAME=N,…", compile.limits,
               "lower limits of the targets, for tests (docs/targets.md)");
  options.integer("max-context", "N", compile.maxContext, 1, int64_t{1} << 24,
                  "tokens to plan memory for (default: the model's limit, at "
                  "most 4096)");
  options.text("weights", "TYPE", compile.weights,
               "quantize the matrices: f16, int8, int4-g32, int4-g64, "
               "int4-g128, int4-channel; the integer ones also with -asym "
               "(default: as in the file)");
  options.texts("weights-for", "REGEX=TYPE", compile.weightRules,
                "another type, or keep, for weights of matching names; the "
                "first that matches counts");
  options.choice("kv", {"f32", "f16", "int8"}, compile.kvType,
                 "element type of the KV cache (default: the target's)");
  options.choice("pooling", {"none", "mean", "first", "last"}, compile.pooling,
                 "how a text encoder's rows become an embedding (default: as "
                 "the model says)");
  options.flag("normalize", compile.normalizesEmbeddings,
               "with --pooling: embeddings get length 1");
  options.text("tuning", "FILE", compile.tuningPath,
               "tiles for linears, as `llmc tune` writes them");
  options.choice("activations", {"f32", "f16", "int8", "i8"},
                 compile.activations,
                 "type of the activations: f16 between dispatches, int8 in "
                 "prefill (default: the target's)");
  options.choice("emit", {"graph", "fused", "regions", "program", "spirv"},
                 line.emit, "print the IR at a border instead");
  options.text("dump-dir", "DIR", compile.dumpFolder,
               "write the IR after each phase to numbered files");
  options.text("reproducer", "FILE", compile.reproducerPath,
               "write IR and passes there when a pass fails or crashes");
}

} // namespace

int runCompile(const Arguments &arguments) {
  CommandLine line;
  driver::CompileOptions &compile = line.compile;
  Options options(
      "compile MODEL --target=NAME[,NAME…] -o FILE",
      "Turns a model (a .gguf file, or a .mlir file in the graph dialect) into "
      "a .llmc file for one or\nmore targets. `llmc targets` lists them.");
  declareOptions(options, line);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  compile.emit = emitOf(line.emit);
  compile.selfTests = !line.omitsSelfTests;
  compile.needsEarlier = !line.earlier.empty();
  compile.earlierPath =
      compile.needsEarlier ? line.earlier : compile.outputPath;
  if (line.asJson && compile.emit != driver::Emit::File) {
    std::fputs("llmc: --json is about a file, which --emit doesn't write\n",
               stderr);
    return kExitUsage;
  }

  StatusOr<driver::CompileResult> result = [&compile] {
    ProgressLine progress;
    compile.progress = [&progress](const std::string &what, double done) {
      progress.show(what, done);
    };
    return driver::compileModel(compile);
  }();
  if (!result.ok()) {
    std::fprintf(stderr, "llmc: %s\n", result.status().message().c_str());
    return exitCodeOf(result.status());
  }
  std::fputs(result->text.c_str(), stdout);
  if (line.asJson)
    printJson(compile.outputPath, *result);
  return kExitOk;
}

} // namespace llmc::tool
