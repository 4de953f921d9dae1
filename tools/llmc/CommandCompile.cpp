// SPDX-License-Identifier: Apache-2.0
//
// llmc compile: a model file to a .llmc file, or to the IR at some border.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/ProgressLine.h"

#include "compiler/Driver/Driver.h"

#include <cstdio>

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

} // namespace

int runCompile(const Arguments &arguments) {
  driver::CompileOptions compile;
  std::string emit;
  Options options(
      "compile MODEL --target=NAME[,NAME…] -o FILE",
      "Turns a model (a .gguf file, or a .mlir file in the graph dialect) into "
      "a .llmc file for one or\nmore targets. `llmc targets` lists them.");
  options.positional("MODEL", compile.inputPath, "the model file");
  options.list("target,t", "NAMES", compile.targets,
               "targets, or paths of .textproto files, in order of preference");
  options.text("output,o", "FILE", compile.outputPath, "the .llmc file");
  bool omitsSelfTests = false;
  options.flag("no-self-test", omitsSelfTests,
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
                 emit, "print the IR at a border instead");
  options.text("dump-dir", "DIR", compile.dumpFolder,
               "write the IR after each phase to numbered files");
  options.text("reproducer", "FILE", compile.reproducerPath,
               "write IR and passes there when a pass fails or crashes");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  compile.emit = emitOf(emit);
  compile.selfTests = !omitsSelfTests;

  Status status;
  std::string text;
  {
    ProgressLine line;
    compile.progress = [&line](const std::string &what, double done) {
      line.show(what, done);
    };
    status = driver::compileModel(compile, text);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "llmc: %s\n", status.message().c_str());
    return exitCodeOf(status);
  }
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

} // namespace llmc::tool
