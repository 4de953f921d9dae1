// SPDX-License-Identifier: Apache-2.0
//
// llmc bench: speeds of prefill and decode. Which tokens does not matter to
// them, so that no tokenizer is needed.

#include "tools/llmc/Commands.h"
#include "tools/llmc/DispatchProfile.h"
#include "tools/llmc/RuntimeCommand.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

namespace llmc::tool {

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  std::vector<double> seconds;
  TracedRun trace; // when times are taken

  double tokensPerSecond() const {
    return static_cast<double>(numTokens) / median(seconds);
  }
};

StatusOr<Measurement> measurePrefill(runtime::LanguageModel &model,
                                     size_t numTokens, int64_t repeats) {
  Measurement measurement{"pp" + std::to_string(numTokens), numTokens, {}, {}};
  const auto tokens = makeTokens(numTokens, model.vocabularySize());
  std::vector<float> logits(model.vocabularySize());
  // The first run, which warms caches, does not count.
  for (int64_t run = 0; run <= repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Clock::time_point start = Clock::now();
    LLMC_RETURN_IF_ERROR(model.prefill(tokens, logits.data()));
    if (run)
      measurement.seconds.push_back(secondsSince(start));
    else
      model.forgetDispatchTimes();
  }
  measurement.trace = {measurement.name, model.dispatchTimes()};
  return measurement;
}

StatusOr<Measurement> measureDecode(runtime::LanguageModel &model,
                                    size_t numTokens, int64_t repeats) {
  Measurement measurement{"tg" + std::to_string(numTokens), numTokens, {}, {}};
  const auto tokens = makeTokens(numTokens, model.vocabularySize());
  std::vector<float> logits(model.vocabularySize());
  // Warms caches and does not count.
  LLMC_RETURN_IF_ERROR(model.reset());
  LLMC_RETURN_IF_ERROR(model.decode(tokens.front(), logits.data()));
  model.forgetDispatchTimes();
  for (int64_t run = 0; run < repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Clock::time_point start = Clock::now();
    for (const int32_t token : tokens)
      LLMC_RETURN_IF_ERROR(model.decode(token, logits.data()));
    measurement.seconds.push_back(secondsSince(start));
  }
  measurement.trace = {measurement.name, model.dispatchTimes()};
  return measurement;
}

StatusOr<Measurement> measureGeneration(runtime::LanguageModel &model,
                                        size_t numTokens, int64_t repeats) {
  Measurement measurement{"gen" + std::to_string(numTokens), numTokens, {}, {}};
  const auto prompt = makeTokens(1, model.vocabularySize());
  // The first run, which warms caches, does not count.
  for (int64_t run = 0; run <= repeats; ++run) {
    LLMC_RETURN_IF_ERROR(model.reset());
    const Clock::time_point start = Clock::now();
    LLMC_RETURN_IF_ERROR(
        model.generate(prompt, {}, numTokens, [](int32_t) { return true; }));
    if (run)
      measurement.seconds.push_back(secondsSince(start));
  }
  return measurement;
}

struct BenchOptions {
  std::string path;
  std::vector<std::string> prompts;
  int64_t numDecoded = 64;
  int64_t repeats = 3;
  std::string tracePath;
  bool asJson = false, profiles = false;
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

void printResults(const std::vector<Measurement> &measurements,
                  double loadSeconds, const runtime::LanguageModel &model,
                  bool asJson) {
  const std::string variant = model.module().variant().target().name();
  const std::string device = model.module().device().facts().name;
  if (!asJson) {
    std::printf("%s on %s, loaded in %.2f s\n", variant.c_str(), device.c_str(),
                loadSeconds);
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
                       {"seconds", m.seconds}});
    if (const auto kernels = kernelsOf(m, model); !kernels.empty())
      results.back()["kernels"] = kernelsAsJson(kernels);
  }
  const nlohmann::json json = {{"variant", variant},
                               {"device", device},
                               {"load_seconds", loadSeconds},
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

Status bench(const BenchOptions &options) {
  const Clock::time_point start = Clock::now();
  LLMC_ASSIGN_OR_RETURN(
      std::unique_ptr<runtime::LanguageModel> model,
      loadLanguageModel(options.path, options.device,
                        options.profiles || !options.tracePath.empty()));
  const double loadSeconds = secondsSince(start);
  LLMC_ASSIGN_OR_RETURN(const std::vector<size_t> lengths,
                        parseLengths(options.prompts, model->contextLength()));
  std::vector<Measurement> measurements;
  for (const size_t length : lengths) {
    LLMC_ASSIGN_OR_RETURN(Measurement measurement,
                          measurePrefill(*model, length, options.repeats));
    measurements.push_back(std::move(measurement));
  }
  if (options.numDecoded) {
    LLMC_ASSIGN_OR_RETURN(Measurement measurement,
                          measureDecode(*model,
                                        static_cast<size_t>(options.numDecoded),
                                        options.repeats));
    measurements.push_back(std::move(measurement));
    // Steps in flight have no times of their dispatches.
    LLMC_ASSIGN_OR_RETURN(const bool choosesTokens, model->canChoose({}));
    if (choosesTokens && !options.profiles) {
      LLMC_ASSIGN_OR_RETURN(
          Measurement generation,
          measureGeneration(*model, static_cast<size_t>(options.numDecoded),
                            options.repeats));
      measurements.push_back(std::move(generation));
    }
  }
  printResults(measurements, loadSeconds, *model, options.asJson);
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
