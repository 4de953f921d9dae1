// SPDX-License-Identifier: Apache-2.0
//
// llmc verify: a .llmc file against the model it was compiled from.

#include "tools/llmc/Commands.h"
#include "tools/llmc/ModelVerifier.h"
#include "tools/llmc/Options.h"

#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdio>
#include <map>

namespace llmc::tool {

namespace {

/// Dispatches of all layers as one line: "blk.3." becomes "blk.*.".
std::string withoutNumbers(const std::string &text) {
  const size_t begin = text.find("blk.");
  if (begin == std::string::npos)
    return text;
  size_t end = begin + 4;
  while (end < text.size() &&
         std::isdigit(static_cast<unsigned char>(text[end])))
    ++end;
  return text.substr(0, begin + 4) + "*" + text.substr(end);
}

struct Line {
  int64_t count = 0, numBad = 0;
  Comparison worst;
};

void printTable(const VerifyReport &report) {
  std::vector<std::string> order;
  std::map<std::string, Line> lines;
  for (const Comparison &dispatch : report.dispatches) {
    std::string what = withoutNumbers(dispatch.what);
    auto [line, isNew] = lines.try_emplace(what);
    if (isNew)
      order.push_back(what);
    ++line->second.count;
    line->second.numBad += !dispatch.isGood();
    if (isNew || dispatch.error > line->second.worst.error)
      line->second.worst = dispatch;
  }
  std::printf("target %s\n\n%-44s %6s %10s %10s  %s\n", report.target.c_str(),
              "dispatch", "count", "error", "bound", "worst");
  for (const std::string &what : order) {
    const Line &line = lines[what];
    std::printf("%-44s %6lld %10.2e %10.2e  %s%s\n", what.c_str(),
                static_cast<long long>(line.count), line.worst.error,
                line.worst.bound, line.worst.what.c_str(),
                line.numBad ? "  TOO LARGE" : "");
  }
  std::printf("%-44s %6lld %10.2e %10.2e%s\n", report.result.what.c_str(),
              static_cast<long long>(report.numTokens), report.result.error,
              report.result.bound, report.result.isGood() ? "" : "  TOO LARGE");
  if (report.result.what == "logits")
    std::printf("best id as the reference's after %lld of %lld tokens\n",
                static_cast<long long>(report.numSameBest),
                static_cast<long long>(report.numTokens));
  if (report.numRepeats)
    std::printf(
        "%lld of %lld repeats gave the same bits\n",
        static_cast<long long>(report.numRepeats - report.numUnequalRepeats),
        static_cast<long long>(report.numRepeats));
}

nlohmann::json toJson(const Comparison &one) {
  return {{"what", one.what},
          {"error", one.error},
          {"bound", one.bound},
          {"good", one.isGood()}};
}

void printJson(const VerifyReport &report) {
  nlohmann::json dispatches = nlohmann::json::array();
  for (const Comparison &dispatch : report.dispatches)
    dispatches.push_back(toJson(dispatch));
  const nlohmann::json json = {{"target", report.target},
                               {"dispatches", dispatches},
                               {"result", toJson(report.result)},
                               {"same_best", report.numSameBest},
                               {"tokens", report.numTokens},
                               {"repeats", report.numRepeats},
                               {"unequal_repeats", report.numUnequalRepeats},
                               {"good", report.isGood()}};
  std::puts(json.dump(2).c_str());
}

} // namespace

int runVerify(const Arguments &arguments) {
  VerifyRequest request;
  std::string tokenText;
  bool asJson = false;
  Options options(
      "verify F --model=M [--repeat=N]",
      "Compares a .llmc file with the model it was compiled from: every "
      "dispatch and the whole on the device with a plain\nevaluation in double "
      "precision, and repeats with each other. The exit code is 1 when an "
      "error exceeds its bound.");
  options.positional("F", request.path, "a .llmc file");
  options.text("model", "M", request.modelPath, "what it was compiled from");
  options.integer("repeat", "N", request.repeats, 1, 100000,
                  "times that the result is computed (default 1)");
  options.text("tokens", "IDS", tokenText,
               "token ids, between commas (default: pseudo-random ones)");
  options.integer("num-tokens", "N", request.numTokens, 1, 4096,
                  "how many pseudo-random ones (default 24)");
  options.integer(
      "decode", "N", request.numDecoded, 0, 4096,
      "the last N tokens are read one by one (default 4); not of an encoder");
  options.flag("json", asJson, "print JSON, with every dispatch");
  request.device.declare(options);
  if (auto outcome = options.parse(arguments);
      outcome != Options::Outcome::Ready)
    return outcome == Options::Outcome::Done ? kExitOk : kExitUsage;
  if (request.modelPath.empty())
    return fail(Status(StatusCode::InvalidArgument, "--model is missing"));
  auto tokens = parseTokens(tokenText);
  if (!tokens.ok())
    return fail(tokens.status());
  request.tokens = std::move(*tokens);
  auto report = verifyModel(request);
  if (!report.ok())
    return fail(report.status());
  asJson ? printJson(*report) : printTable(*report);
  return report->isGood() ? kExitOk : kExitFailure;
}

} // namespace llmc::tool
