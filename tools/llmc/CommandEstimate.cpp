// SPDX-License-Identifier: Apache-2.0
//
// llmc estimate: speed and memory of a .llmc file on a described device,
// foretold without the device.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ExitCode.h"
#include "tools/llmc/Options.h"

#include "codegen/Targets/Targets.h"
#include "compiler/Estimate/Estimate.h"
#include "runtime/format/Reader.h"
#include "runtime/session/PrefillPlan.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace llmc::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kPromptLengths[] = {32, 128, 512};
constexpr int64_t kDefaultContext = 256;

/// Everything that is printed.
struct Report {
  std::string target;
  std::vector<estimate::PromptEstimate> prompts;
  estimate::DecodeEstimate decode;
  estimate::MemoryEstimate memory;
  std::vector<std::string> assumptions;
};

StatusOr<Report> makeReport(const format::Reader &reader,
                            const std::string &targetName, int64_t context) {
  auto target = targets::loadTarget(targetName);
  if (!target)
    return Status(StatusCode::NotFound, llvm::toString(target.takeError()));
  const format::Manifest &manifest = reader.manifest();
  const format::Variant *variant = nullptr;
  std::string all;
  for (const format::Variant &candidate : manifest.variants()) {
    all += (all.empty() ? "" : ", ") + candidate.target().name();
    if (candidate.target().name() == target->name())
      variant = &candidate;
  }
  if (!variant)
    return Status(StatusCode::NotFound,
                  reader.path() + ": has no code for target '" +
                      target->name() + "'; it has code for " + all);
  auto longest = static_cast<int64_t>(manifest.model().max_context());
  if (context < 0)
    context = std::min(kDefaultContext, longest - 1);
  if (context >= longest)
    return Status(StatusCode::InvalidArgument,
                  "--context is " + std::to_string(context) +
                      ", allowed is less than the " + std::to_string(longest) +
                      " positions that the file was planned for");

  auto estimator = estimate::Estimator::create(manifest, *variant, *target, {});
  if (!estimator.ok())
    return estimator.status();
  Report report;
  report.target = target->name();
  for (int64_t length : kPromptLengths) {
    if (length > longest)
      continue;
    std::vector<estimate::PromptStep> steps;
    for (const runtime::PrefillStep &step : runtime::planPrefill(
             static_cast<uint32_t>(length), estimator->buckets()))
      steps.push_back({step.bucket, step.rows});
    report.prompts.push_back(estimator->estimatePrompt(steps));
  }
  report.decode = estimator->estimateDecode(context);
  report.memory = estimator->estimateMemory();
  report.assumptions = estimator->describeAssumptions();
  return report;
}

Json toJson(const estimate::Time &time) {
  return {{"total_us", time.totalMicroseconds},
          {"memory_us", time.memoryMicroseconds},
          {"arithmetic_us", time.arithmeticMicroseconds},
          {"launch_us", time.launchMicroseconds}};
}

void printJson(const Report &report) {
  Json json = {{"target", report.target}, {"prefill", Json::array()}};
  for (const estimate::PromptEstimate &prompt : report.prompts)
    json["prefill"].push_back(
        {{"tokens", prompt.tokens},
         {"tokens_per_second", prompt.tokensPerSecond()},
         {"time_to_first_token_ms", prompt.time.totalMicroseconds / 1e3},
         {"time", toJson(prompt.time)}});
  json["decode"] = {{"position", report.decode.position},
                    {"tokens_per_second", report.decode.tokensPerSecond()},
                    {"bytes", report.decode.bytes},
                    {"time", toJson(report.decode.time)}};
  json["memory"] = {{"weights", report.memory.weights},
                    {"kv_cache", report.memory.state},
                    {"scratch", report.memory.scratch},
                    {"other", report.memory.other},
                    {"total", report.memory.total()}};
  json["assumptions"] = report.assumptions;
  std::printf("%s\n",
              json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

void printTime(const estimate::Time &time) {
  std::printf("memory %.2f ms, arithmetic %.2f ms, launches %.2f ms\n",
              time.memoryMicroseconds / 1e3, time.arithmeticMicroseconds / 1e3,
              time.launchMicroseconds / 1e3);
}

void printText(const Report &report) {
  std::printf("estimate for %s\n", report.target.c_str());
  for (const estimate::PromptEstimate &prompt : report.prompts) {
    std::printf("  prefill of %4lld tokens %8.1f tokens/s, first token after "
                "%.1f ms: ",
                static_cast<long long>(prompt.tokens), prompt.tokensPerSecond(),
                prompt.time.totalMicroseconds / 1e3);
    printTime(prompt.time);
  }
  std::printf("  decode after %4lld tokens %7.1f tokens/s, %.1f MB a token: ",
              static_cast<long long>(report.decode.position),
              report.decode.tokensPerSecond(), report.decode.bytes / 1e6);
  printTime(report.decode.time);
  std::printf("  memory %.1f MiB: weights %.1f, KV cache %.1f, scratch %.1f, "
              "other %.1f\n",
              mebibytes(report.memory.total()),
              mebibytes(report.memory.weights), mebibytes(report.memory.state),
              mebibytes(report.memory.scratch), mebibytes(report.memory.other));
  std::puts("  resting on");
  for (const std::string &assumption : report.assumptions)
    std::printf("    - %s\n", assumption.c_str());
}

} // namespace

int runEstimate(const Arguments &arguments) {
  std::string path, target;
  int64_t context = -1; // not given
  bool json = false;
  Options options("estimate FILE --target=NAME [--context=N] [--json]",
                  "Predicts the speed and memory of a .llmc file from its "
                  "program and the target's description:\na roofline with "
                  "occupancy for each dispatch. Needs no device.");
  options.positional("FILE", path, "a .llmc file");
  options.text("target,t", "NAME", target,
               "the target, or the path of a .textproto file");
  options.integer(
      "context", "N", context, 0, int64_t{1} << 24,
      "tokens in the KV cache when decoding (default: 256, or as many "
      "as fit)");
  options.flag("json", json, "print as JSON");
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (target.empty()) {
    std::fputs("llmc: estimate needs --target; `llmc targets` lists them\n",
               stderr);
    return kExitUsage;
  }
  auto reader = format::Reader::open(path);
  if (!reader.ok()) {
    std::fprintf(stderr, "llmc: %s\n", reader.status().message().c_str());
    return kExitRefused;
  }
  auto report = makeReport(**reader, target, context);
  if (!report.ok()) {
    std::fprintf(stderr, "llmc: %s\n", report.status().message().c_str());
    return exitCodeOf(report.status());
  }
  json ? printJson(*report) : printText(*report);
  return kExitOk;
}

} // namespace llmc::tool
