// SPDX-License-Identifier: Apache-2.0
//
// llmc bench: the start, speeds of prefill and decode. Which tokens does not
// matter to them; loading has the tokenizer, as it has for who gives a text.

#include "runtime/format/MemoryPlan.h"
#include "tools/llmc/Commands.h"
#include "tools/llmc/DispatchProfile.h"
#include "tools/llmc/RuntimeCommand.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>

namespace llmc::tool {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Since it was made: of the clock, and of all cores that worked for the
/// process. The latter are what counts on a device that is the CPU, and what a
/// busy machine changes little.
class Stopwatch {
public:
  double seconds() const { return secondsSince(start); }
  double cpuSeconds() const {
    return static_cast<double>(std::clock() - cpuStart) / CLOCKS_PER_SEC;
  }

private:
  Clock::time_point start = Clock::now();
  std::clock_t cpuStart = std::clock();
};

/// Tokens that differ, the same in every run.
std::vector<int32_t> makeTokens(size_t count, uint32_t vocabularySize) {
  std::vector<int32_t> tokens(count);
  uint64_t state = 1;
  for (int32_t &token : tokens) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    token = static_cast<int32_t>((state >> 33) % vocabularySize);
  }
  return tokens;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Measurement {
  // "pp128": prefill of 128 tokens; "tg64": 64 decoded one by one, logits to
  // the host; "gen64": 64 that the device chooses itself.
  std::string name;
  size_t numTokens = 0;
  std::vector<double> seconds, cpuSeconds;
  TracedRun trace; // when times are taken

  void addRun(const Stopwatch &watch) {
    seconds.push_back(watch.seconds());
    cpuSeconds.push_back(watch.cpuSeconds());
  }

  double tokensPerSecond() const {
    return static_cast<double>(numTokens) / median(seconds);
  }
};

StatusOr<Measurement> measurePrefill(runtime::LanguageModel &model,
                                     size_t numTokens, int64_t repeats) {
  Measurement measurement{
      "pp" + std::to_string(numTokens), numTokens, {}, {}, {}};
  const auto tokens = makeTokens(numTokens, model.vocabularySize());
  std::vector<float> logits(model.vocabularySize());
  // The first run, which warms caches, does not count.
  for (int64_t run = 0; run <= repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Stopwatch watch;
    LLMC_RETURN_IF_ERROR(model.prefill(tokens, logits.data()));
    if (run)
      measurement.addRun(watch);
    else
      model.forgetDispatchTimes();
  }
  measurement.trace = {measurement.name, model.dispatchTimes()};
  return measurement;
}

StatusOr<Measurement> measureDecode(runtime::LanguageModel &model,
                                    size_t numTokens, int64_t repeats) {
  Measurement measurement{
      "tg" + std::to_string(numTokens), numTokens, {}, {}, {}};
  const auto tokens = makeTokens(numTokens, model.vocabularySize());
  std::vector<float> logits(model.vocabularySize());
  // Warms caches and does not count.
  LLMC_RETURN_IF_ERROR(model.reset());
  LLMC_RETURN_IF_ERROR(model.decode(tokens.front(), logits.data()));
  model.forgetDispatchTimes();
  for (int64_t run = 0; run < repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Stopwatch watch;
    for (const int32_t token : tokens)
      LLMC_RETURN_IF_ERROR(model.decode(token, logits.data()));
    measurement.addRun(watch);
  }
  measurement.trace = {measurement.name, model.dispatchTimes()};
  return measurement;
}

StatusOr<Measurement> measureGeneration(runtime::LanguageModel &model,
                                        size_t numTokens, int64_t repeats) {
  Measurement measurement{
      "gen" + std::to_string(numTokens), numTokens, {}, {}, {}};
  const auto prompt = makeTokens(1, model.vocabularySize());
  // The first run, which warms caches, does not count.
  for (int64_t run = 0; run <= repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Stopwatch watch;
    LLMC_RETURN_IF_ERROR(
        model.generate(prompt, {}, numTokens, [](int32_t) { return true; }));
    if (run)
      measurement.addRun(watch);
  }
  return measurement;
}

/// What it takes from nothing to the first token behind a prompt of 32: the
/// prompt, and a step for the token. First in a process that just started, then
/// again.
struct Start {
  size_t numPromptTokens = 0;
  double engineSeconds = 0, loadSeconds = 0; // the engine's are among these
  double firstTokenSeconds = 0, againSeconds = 0;
};

StatusOr<double> timeFirstToken(runtime::LanguageModel &model,
                                size_t numPromptTokens) {
  const auto tokens = makeTokens(numPromptTokens, model.vocabularySize());
  std::vector<float> logits(model.vocabularySize());
  LLMC_RETURN_IF_ERROR(model.reset());
  const Clock::time_point start = Clock::now();
  LLMC_RETURN_IF_ERROR(model.prefill(tokens, logits.data()));
  LLMC_RETURN_IF_ERROR(model.decode(tokens.front(), logits.data()));
  return secondsSince(start);
}

Status timeStart(runtime::LanguageModel &model, Start &start) {
  start.numPromptTokens = std::min<size_t>(32, model.contextLength() - 1);
  LLMC_ASSIGN_OR_RETURN(start.firstTokenSeconds,
                        timeFirstToken(model, start.numPromptTokens));
  LLMC_ASSIGN_OR_RETURN(start.againSeconds,
                        timeFirstToken(model, start.numPromptTokens));
  return okStatus();
}

struct BenchOptions {
  std::string path;
  std::vector<std::string> prompts;
  int64_t numDecoded = 64;
  int64_t repeats = 3;
  std::string tracePath;
  bool asJson = false, profiles = false, startsOnly = false;
  DeviceOptions device;

  Options::Outcome parse(const Arguments &arguments) {
    Options options(
        "bench F [-p N,…] [-n N]",
        "Measures prefill of N tokens (pp), decoding of N tokens whose "
        "logits the host reads (tg) and of N tokens that the "
        "device chooses (gen): the median of several runs.");
    options.positional("F", path, "a .llmc file");
    options.list("prompt,p", "N", prompts,
                 "lengths of prompts (default 128,512)");
    options.integer("decode,n", "N", numDecoded, 0, INT32_MAX,
                    "tokens to decode (default 64); 0: none");
    options.integer("repeat,r", "N", repeats, 1, 1000,
                    "runs of each (default 3)");
    options.flag("profile", profiles,
                 "print what each kernel took (which slows steps down a "
                 "little)");
    options.text("trace", "FILE", tracePath,
                 "write the last run of each dispatch for chrome://tracing or "
                 "ui.perfetto.dev");
    options.flag("start", startsOnly,
                 "measure loading and the first token behind a prompt of 32, "
                 "and no more");
    options.flag("json", asJson, "print JSON");
    device.declare(options);
    return options.parse(arguments);
  }
};

StatusOr<std::vector<size_t>>
parseLengths(const std::vector<std::string> &words, uint32_t contextLength) {
  std::vector<size_t> lengths;
  for (const std::string &word : words) {
    LLMC_ASSIGN_OR_RETURN(const std::vector<int32_t> numbers,
                          parseTokens(word));
    for (const int32_t number : numbers) {
      if (number < 1 || static_cast<uint32_t>(number) > contextLength)
        return Status(StatusCode::InvalidArgument,
                      "a prompt's length is " + std::to_string(number) +
                          ", allowed is 1 to " + std::to_string(contextLength));
      lengths.push_back(static_cast<size_t>(number));
    }
  }
  // Without a wish: what fits of the usual ones.
  if (words.empty())
    for (const size_t length : {size_t{128}, size_t{512}})
      if (length <= contextLength)
        lengths.push_back(length);
  return lengths;
}

/// Of one run: the mean over repetitions.
void printKernels(const Measurement &measurement,
                  const std::vector<KernelTime> &kernels) {
  double total = 0;
  for (const KernelTime &time : kernels)
    total += time.nanoseconds;
  std::printf("    %8s %6s %8s %8s %8s %8s  %s\n", "ms", "%", "runs", "us each",
              "GB/s", "GFLOP/s", "kernel");
  const double repeats = static_cast<double>(measurement.seconds.size());
  for (const KernelTime &time : kernels)
    std::printf("    %8.3f %6.1f %8.0f %8.2f %8.0f %8.0f  %s (%s, %u rows): "
                "%s\n",
                time.nanoseconds / repeats / 1e6,
                100 * time.nanoseconds / total,
                static_cast<double>(time.runs) / repeats,
                time.nanoseconds / static_cast<double>(time.runs) / 1e3,
                time.gigabytesPerSecond(), time.gigaflopsPerSecond(),
                time.kernel.c_str(), time.function.c_str(), time.rows,
                time.label.c_str());
}

nlohmann::json kernelsAsJson(const std::vector<KernelTime> &times) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelTime &time : times)
    kernels.push_back({{"function", time.function},
                       {"rows", time.rows},
                       {"kernel", time.kernel},
                       {"label", time.label},
                       {"runs", time.runs},
                       {"nanoseconds", time.nanoseconds},
                       {"weight_bytes", time.weightBytes},
                       {"multiply_adds", time.multiplyAdds}});
  return kernels;
}

std::vector<KernelTime> kernelsOf(const Measurement &measurement,
                                  const runtime::LanguageModel &model) {
  return sumByKernel(model.module().manifest(), model.module().variant(),
                     measurement.trace.times);
}

/// The parts of loading, kernels as one: from the first's begin to the last's
/// end.
std::vector<runtime::TimeSpan> partsOf(const runtime::Module &module) {
  std::vector<runtime::TimeSpan> parts;
  runtime::TimeSpan pipelines{"pipelines", 1e9, 0};
  for (const runtime::TimeSpan &span : module.loadTimes()) {
    const auto &kernels = module.variant().kernels();
    if (std::none_of(kernels.begin(), kernels.end(),
                     [&](const format::Kernel &kernel) {
                       return kernel.name() == span.name;
                     })) {
      parts.push_back(span);
      continue;
    }
    pipelines.begin = std::min(pipelines.begin, span.begin);
    pipelines.end = std::max(pipelines.end, span.end);
  }
  if (pipelines.end > 0)
    parts.push_back(pipelines);
  return parts;
}

nlohmann::json startAsJson(const Start &start, const runtime::Module &module) {
  nlohmann::json parts = nlohmann::json::array();
  for (const runtime::TimeSpan &span : module.loadTimes())
    parts.push_back(
        {{"name", span.name}, {"begin", span.begin}, {"end", span.end}});
  return {{"engine_seconds", start.engineSeconds},
          {"load_seconds", start.loadSeconds},
          {"prompt_tokens", start.numPromptTokens},
          {"first_token_seconds", start.firstTokenSeconds},
          {"first_token_again_seconds", start.againSeconds},
          {"self_test", module.selfTestSummary()},
          {"spans", parts}};
}

void printStart(const Start &start, const runtime::Module &module) {
  std::printf("%s on %s, loaded in %.3f s (Vulkan %.3f, then",
              module.variant().target().name().c_str(),
              module.device().facts().name.c_str(), start.loadSeconds,
              start.engineSeconds);
  for (const runtime::TimeSpan &part : partsOf(module))
    std::printf(" %s %.3f to %.3f", part.name, part.begin, part.end);
  std::printf("), first token behind %zu in %.4f s, again in %.4f s\n",
              start.numPromptTokens, start.firstTokenSeconds,
              start.againSeconds);
}

void printResults(const std::vector<Measurement> &measurements,
                  const Start &start, const runtime::LanguageModel &model,
                  bool asJson) {
  const runtime::Module &module = model.module();
  if (!asJson) {
    printStart(start, module);
    for (const Measurement &m : measurements) {
      std::printf("  %-8s %10.2f tokens/s\n", m.name.c_str(),
                  m.tokensPerSecond());
      if (const auto kernels = kernelsOf(m, model); !kernels.empty())
        printKernels(m, kernels);
    }
    return;
  }
  nlohmann::json results = nlohmann::json::array();
  for (const Measurement &m : measurements) {
    results.push_back({{"name", m.name},
                       {"tokens", m.numTokens},
                       {"tokens_per_second", m.tokensPerSecond()},
                       {"seconds", m.seconds},
                       {"cpu_seconds", m.cpuSeconds}});
    if (const auto kernels = kernelsOf(m, model); !kernels.empty())
      results.back()["kernels"] = kernelsAsJson(kernels);
  }
  const format::MemoryPlan plan =
      format::planMemory(module.variant(), model.contextLength());
  const nlohmann::json json = {{"variant", module.variant().target().name()},
                               {"device", module.device().facts().name},
                               {"load_seconds", start.loadSeconds},
                               {"start", startAsJson(start, module)},
                               {"device_bytes", plan.total()},
                               {"results", results}};
  std::puts(json.dump(2).c_str());
}

Status writeTrace(const std::string &path,
                  const std::vector<Measurement> &measurements,
                  const runtime::LanguageModel &model) {
  std::vector<TracedRun> runs;
  for (const Measurement &measurement : measurements)
    runs.push_back(measurement.trace);
  std::ofstream file(path, std::ios::binary);
  file << traceOf(model.module().variant(), runs);
  file.close();
  return file ? okStatus()
              : Status(StatusCode::Io, "cannot write '" + path + "'");
}

StatusOr<std::vector<Measurement>> measureAll(const BenchOptions &options,
                                              runtime::LanguageModel &model) {
  std::vector<Measurement> measurements;
  LLMC_ASSIGN_OR_RETURN(const std::vector<size_t> lengths,
                        parseLengths(options.prompts, model.contextLength()));
  for (const size_t length : lengths) {
    LLMC_ASSIGN_OR_RETURN(Measurement measurement,
                          measurePrefill(model, length, options.repeats));
    measurements.push_back(std::move(measurement));
  }
  if (!options.numDecoded)
    return measurements;
  const auto numDecoded = static_cast<size_t>(options.numDecoded);
  LLMC_ASSIGN_OR_RETURN(Measurement measurement,
                        measureDecode(model, numDecoded, options.repeats));
  measurements.push_back(std::move(measurement));
  // Steps in flight have no times of their dispatches.
  LLMC_ASSIGN_OR_RETURN(const bool choosesTokens, model.canChoose({}));
  if (choosesTokens && !options.profiles) {
    LLMC_ASSIGN_OR_RETURN(
        Measurement generation,
        measureGeneration(model, numDecoded, options.repeats));
    measurements.push_back(std::move(generation));
  }
  return measurements;
}

Status bench(const BenchOptions &options) {
  Start start;
  const Clock::time_point begin = Clock::now();
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create());
  start.engineSeconds = secondsSince(begin);
  LLMC_ASSIGN_OR_RETURN(runtime::TextModule loaded,
                        loadTextModule(*engine, options.path, options.device));
  const bool takesTimes = options.profiles || !options.tracePath.empty();
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<runtime::LanguageModel> model,
                        runtime::LanguageModel::create(
                            std::move(loaded.module),
                            toSessionOptions(options.device, takesTimes)));
  start.loadSeconds = secondsSince(begin);
  LLMC_RETURN_IF_ERROR(timeStart(*model, start));
  std::vector<Measurement> measurements;
  if (!options.startsOnly) {
    LLMC_ASSIGN_OR_RETURN(measurements, measureAll(options, *model));
  }
  printResults(measurements, start, *model, options.asJson);
  return options.tracePath.empty()
             ? okStatus()
             : writeTrace(options.tracePath, measurements, *model);
}

} // namespace

int runBench(const Arguments &arguments) {
  BenchOptions options;
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (Status status = bench(options); !status.ok())
    return fail(status);
  return kExitOk;
}

} // namespace llmc::tool
