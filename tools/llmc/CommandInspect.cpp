// SPDX-License-Identifier: Apache-2.0
//
// llmc inspect: what is in a .llmc file, without any device.

#include "tools/llmc/Commands.h"
#include "tools/llmc/KernelFigures.h"
#include "tools/llmc/Options.h"
#include "tools/llmc/Summary.h"

#include "runtime/format/MemoryPlan.h"
#include "runtime/format/Reader.h"
#include "runtime/vulkan/DeviceChoice.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

namespace llmc::tool {

namespace {

/// `a b c` of repeated numbers, with |separator| between.
template <typename Range>
std::string joined(const Range &numbers, const char *separator) {
  std::string text;
  for (auto number : numbers)
    text += (text.empty() ? "" : separator) + std::to_string(number);
  return text;
}

std::string megabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

void printVariant(const format::TargetInfo &target,
                  const VariantSummary &summary) {
  std::printf("target %s\n", summary.target.c_str());
  std::printf("  for      %s\n", vulkan::describeDevices(target).c_str());
  std::printf("  needs    %s\n", vulkan::describeNeeds(target).c_str());
  std::printf("  weights  %s, %.2f bytes per weight\n",
              megabytes(summary.weightBytes).c_str(), summary.bytesPerWeight);
  std::printf("  arena    %s\n", megabytes(summary.arenaBytes).c_str());
  std::printf("  KV cache %s%s%s\n", megabytes(summary.stateBytes).c_str(),
              summary.kvType.empty() ? "" : " of ", summary.kvType.c_str());
  std::printf("  kernels  %zu, %zu tests of them\n", summary.numKernels,
              summary.numSelfTests);
  for (const EntrySummary &entry : summary.entries)
    std::printf(
        "  entry    %-8s %4u rows: %zu dispatches, %zu barriers, %s per "
        "layer\n",
        entry.function.c_str(), entry.rows, entry.numDispatches,
        entry.numBarriers, entry.dispatchesPerLayer.c_str());
}

void printOverview(const format::Reader &reader) {
  const format::Manifest &manifest = reader.manifest();
  const format::Model &model = manifest.model();
  std::printf("%s: %s (%s), made by %s\n", reader.path().c_str(),
              model.name().c_str(), model.architecture().c_str(),
              manifest.producer().c_str());
  std::printf("  %llu layers, vocabulary of %llu, context of %llu\n",
              static_cast<unsigned long long>(model.num_layers()),
              static_cast<unsigned long long>(model.vocabulary_size()),
              static_cast<unsigned long long>(model.max_context()));
  std::printf("  %s in %d sections\n",
              megabytes(reader.header().fileSize).c_str(),
              manifest.sections_size());
  for (const format::Variant &variant : manifest.variants())
    printVariant(variant.target(), summarize(manifest, variant));
}

/// What a device needs, `context` 0: for the file's own context.
void printPlan(const format::Manifest &manifest, const format::Variant &variant,
               uint64_t context) {
  const uint64_t planned = manifest.model().max_context();
  const format::MemoryPlan plan = format::planMemory(variant, planned, context);
  const auto line = [](const char *what, uint64_t bytes) {
    std::printf("  %-40s %14llu bytes\n", what,
                static_cast<unsigned long long>(bytes));
  };
  std::printf("  device memory for a context of %llu:\n",
              static_cast<unsigned long long>(context ? context : planned));
  line("weights", plan.weights);
  line("a session's arena", plan.arena);
  line("a session's KV cache and other states", plan.states);
  line("a session's inputs and outputs", plan.hostVisible);
  line("a module with one session", plan.total());
  line("while loading, if staged", plan.staging);
  line("while the kernels are tested", plan.selfTest);
}

void printMemory(const format::Manifest &manifest, uint64_t context) {
  static const char *const kKinds[] = {"unknown", "weights", "arena",
                                       "state",   "step",    "output"};
  for (const format::Section &section : manifest.sections())
    std::printf("section %-48s %12llu bytes at %llu %s %s\n",
                section.name().c_str(),
                static_cast<unsigned long long>(section.size()),
                static_cast<unsigned long long>(section.offset()),
                section.layout().c_str(), section.encoding().c_str());
  for (const format::Variant &variant : manifest.variants()) {
    std::printf("target %s\n", variant.target().name().c_str());
    for (int i = 0; i < variant.buffers_size(); ++i)
      std::printf("  buffer %d %-8s %12llu bytes\n", i,
                  kKinds[variant.buffers(i).kind()],
                  static_cast<unsigned long long>(variant.buffers(i).size()));
    printPlan(manifest, variant, context);
  }
}

void printFigures(const KernelFigures *figures) {
  if (!figures) {
    std::puts("    not measured");
    return;
  }
  std::printf("    measured: registers %llu, occupancy %llu, spills %llu, "
              "fills %llu, thread-local memory %llu bytes",
              static_cast<unsigned long long>(figures->registers),
              static_cast<unsigned long long>(figures->occupancy),
              static_cast<unsigned long long>(figures->spills),
              static_cast<unsigned long long>(figures->fills),
              static_cast<unsigned long long>(figures->threadLocalBytes));
  if (figures->instructionsPerMultiplyAdd)
    std::printf(", %.2f instructions per multiply-add",
                *figures->instructionsPerMultiplyAdd);
  if (figures->weightBytesPerLoad)
    std::printf(", %.3g bytes per load of weights",
                *figures->weightBytesPerLoad);
  std::puts("");
}

void printKernels(const format::Reader &reader,
                  const KernelFiguresFile *figures) {
  if (figures)
    std::printf("measured with Mesa %s\n", figures->mesaVersion().c_str());
  for (const format::Variant &variant : reader.manifest().variants()) {
    std::printf("target %s\n", variant.target().name().c_str());
    for (const format::Kernel &kernel : variant.kernels()) {
      const format::KernelEstimate &estimate = kernel.estimate();
      std::printf("  %-44s %-11s workgroup %-8s tile %-10s splits %-3u "
                  "accumulators %-3u registers %-3u workgroup memory %-6u "
                  "%llu bytes\n",
                  kernel.name().c_str(), estimate.kind().c_str(),
                  joined(kernel.workgroup(), "x").c_str(),
                  joined(estimate.tile(), "x").c_str(), estimate.splits(),
                  estimate.accumulators(), estimate.registers(),
                  kernel.workgroup_memory_bytes(),
                  static_cast<unsigned long long>(kernel.code_size()));
      if (figures)
        printFigures(figures->find(variant.target().name(),
                                   checksumText(codeChecksum(reader, kernel))));
    }
  }
}

void printDispatch(const format::Variant &variant,
                   const format::Dispatch &dispatch) {
  std::printf(
      "    %-32s %-40s groups %s\n", dispatch.label().c_str(),
      variant.kernels(static_cast<int>(dispatch.kernel())).name().c_str(),
      joined(dispatch.groups(), "x").c_str());
  for (const format::Slice &slice : dispatch.bindings())
    std::printf("      buffer %u, %llu bytes at %llu\n", slice.buffer(),
                static_cast<unsigned long long>(slice.range()),
                static_cast<unsigned long long>(slice.offset()));
}

void printPort(const char *direction, const format::Port &port) {
  std::printf("    %s %s: rows of %llu %s, %llu bytes apart\n", direction,
              port.name().c_str(),
              static_cast<unsigned long long>(port.row_elements()),
              port.element_type().c_str(),
              static_cast<unsigned long long>(port.row_bytes()));
}

void printProgram(const format::Manifest &manifest) {
  for (const format::Variant &variant : manifest.variants()) {
    std::printf("target %s\n", variant.target().name().c_str());
    for (const format::Entry &entry : variant.entries()) {
      std::printf("  entry %s, %u rows\n", entry.function().c_str(),
                  entry.rows());
      for (const format::Port &port : entry.inputs())
        printPort("input ", port);
      for (const format::Port &port : entry.outputs())
        printPort("output", port);
      for (const format::Command &command : entry.commands())
        if (command.has_dispatch())
          printDispatch(variant, command.dispatch());
        else
          std::puts("    barrier");
    }
  }
}

/// Writes FOLDER/TARGET/KERNEL.spv for each kernel. Names come from the file
/// and become paths, so everything but letters, digits, '-', '_' and '.' is
/// replaced.
Status writeSpirv(const format::Reader &reader, const std::string &folder) {
  auto toFileName = [](std::string name) {
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_')
        c = c == '.' ? c : '_';
    return name == "." || name == ".." ? std::string("_") : name;
  };
  const format::Manifest &manifest = reader.manifest();
  for (const format::Variant &variant : manifest.variants()) {
    std::filesystem::path path =
        std::filesystem::path(folder) / toFileName(variant.target().name());
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
      return Status(StatusCode::Io, "cannot create '" + path.string() +
                                        "': " + error.message());
    for (const format::Kernel &kernel : variant.kernels()) {
      format::ByteSpan section = reader.section(kernel.code_section());
      std::filesystem::path name = path / (toFileName(kernel.name()) + ".spv");
      std::ofstream file(name, std::ios::binary);
      file.write(
          reinterpret_cast<const char *>(section.data + kernel.code_offset()),
          static_cast<std::streamsize>(kernel.code_size()));
      file.close();
      if (!file)
        return Status(StatusCode::Io, "cannot write '" + name.string() + "'");
    }
  }
  return okStatus();
}

/// What the command line asked to see.
struct Selection {
  std::string path, spirvFolder, figuresPath;
  int64_t context = 0;
  bool memory = false, kernels = false, program = false, json = false,
       verify = false;
};

int report(const Status &status, int exitCode) {
  std::fprintf(stderr, "llmc: %s\n", status.message().c_str());
  return exitCode;
}

void printSelected(const format::Reader &reader, const Selection &selection,
                   const KernelFiguresFile *figures) {
  if (selection.json) {
    std::printf("%s\n", toJson(reader, figures).c_str());
    return;
  }
  if (selection.memory)
    printMemory(reader.manifest(), static_cast<uint64_t>(selection.context));
  if (selection.kernels)
    printKernels(reader, figures);
  if (selection.program)
    printProgram(reader.manifest());
  if (!selection.memory && !selection.kernels && !selection.program &&
      selection.spirvFolder.empty())
    printOverview(reader);
}

int inspect(const Selection &selection) {
  auto reader = format::Reader::open(selection.path);
  Status status = reader.status();
  if (status.ok() && selection.verify)
    status = (*reader)->verify();
  if (!status.ok())
    return report(status, kExitRefused);
  std::optional<KernelFiguresFile> figures;
  if (!selection.figuresPath.empty()) {
    auto opened = KernelFiguresFile::open(selection.figuresPath);
    if (!opened.ok())
      return report(opened.status(), kExitRefused);
    figures = std::move(*opened);
  }
  if (!selection.spirvFolder.empty()) {
    status = writeSpirv(**reader, selection.spirvFolder);
    if (!status.ok())
      return report(status, kExitFailure);
  }
  printSelected(**reader, selection, figures ? &*figures : nullptr);
  return kExitOk;
}

} // namespace

int runInspect(const Arguments &arguments) {
  Selection selection;
  Options options(
      "inspect FILE [--memory [--context=N]] [--kernels] [--program] "
      "[--stats=FILE] [--spirv=DIR] [--json]",
      "Shows what is in a .llmc file; needs no device.");
  options.positional("FILE", selection.path, "a .llmc file");
  options.flag("memory", selection.memory,
               "all sections and buffers, and what a device needs of memory");
  options.integer("context", "N", selection.context, 0, int64_t{1} << 24,
                  "with --memory: for a context of N (default: the file's)");
  options.flag("kernels", selection.kernels,
               "all kernels: workgroup, tile, accumulators, estimated "
               "registers (32-bit, per invocation)");
  options.text("stats", "FILE", selection.figuresPath,
               "figures that shader-stats' report wrote with --json: shown "
               "with --kernels and --json");
  options.flag("program", selection.program,
               "all entries, dispatches and barriers");
  options.text("spirv", "DIR", selection.spirvFolder,
               "write each kernel to DIR/TARGET/KERNEL.spv");
  options.flag("verify", selection.verify,
               "check the checksums of all sections");
  options.flag("json", selection.json, "print everything as JSON");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  return inspect(selection);
}

} // namespace llmc::tool
