// SPDX-License-Identifier: Apache-2.0
//
// DeviceTiming.h.

#include "compiler/Tuning/DeviceTiming.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

namespace llmc::tuner {

namespace {

/// Function, rows, label.
using Place = std::tuple<std::string, int64_t, std::string>;

/// The tuning file of a round; linears with fewer proposals have their first.
tuning::Tuning tuningOf(const std::vector<TimedLinear> &linears, size_t round) {
  tuning::Tuning tuning;
  for (const TimedLinear &linear : linears) {
    tuning::Entry &entry = *tuning.add_entries();
    entry = linear.entry;
    *entry.mutable_config() =
        linear.proposals[round < linear.proposals.size() ? round : 0];
  }
  return tuning;
}

Status writeTuning(const tuning::Tuning &tuning, const std::string &path) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(tuning, &text);
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? okStatus()
              : Status(StatusCode::Io, "cannot write '" + path + "'");
}

/// The mean over those of the places that were run; nothing if none was.
std::optional<double>
meanOf(const std::vector<LinearPlace> &places,
       const std::vector<std::map<Place, double>> &times) {
  double sum = 0;
  int64_t count = 0;
  for (const LinearPlace &place : places) {
    const auto &ofModel = times[place.model];
    auto found = ofModel.find({place.function, place.rows, place.label});
    if (found == ofModel.end())
      continue;
    sum += found->second;
    ++count;
  }
  return count != 0 ? std::optional(sum / static_cast<double>(count))
                    : std::nullopt;
}

} // namespace

StatusOr<TimingOutcome> timeProposals(std::vector<TimedLinear> &linears,
                                      const DeviceTiming &timing) {
  TimingOutcome outcome;
  size_t rounds = 0;
  for (TimedLinear &linear : linears) {
    rounds = std::max(rounds, linear.proposals.size());
    linear.microseconds.assign(linear.proposals.size(), std::nullopt);
  }
  const std::string path = timing.folder + "/round.textproto";
  for (size_t round = 0; round < rounds; ++round) {
    LLMC_RETURN_IF_ERROR(writeTuning(tuningOf(linears, round), path));
    std::vector<std::map<Place, double>> times(timing.models.size());
    for (size_t model = 0; model < timing.models.size(); ++model) {
      timing.report("timing",
                    static_cast<double>(round * timing.models.size() + model) /
                        static_cast<double>(rounds * timing.models.size()));
      StatusOr<ModelTimes> found = timing.timeModel(timing.models[model], path);
      if (!found.ok()) {
        Status status = found.status().withContext(timing.models[model]);
        if (round == 0)
          return status;
        outcome.remark += (outcome.remark.empty() ? "" : "\n") +
                          ("tiles number " + std::to_string(round + 1) +
                           " were not timed: " + status.message());
        continue;
      }
      outcome.device = found->device;
      for (const PlaceTime &time : found->dispatches)
        times[model][{time.function, time.rows, time.label}] +=
            time.microseconds;
    }
    for (TimedLinear &linear : linears)
      if (round < linear.proposals.size())
        linear.microseconds[round] = meanOf(linear.places, times);
  }
  return outcome;
}

std::optional<size_t> fastestProposal(const TimedLinear &linear) {
  constexpr double kWorthIt = 0.98;
  const auto &times = linear.microseconds;
  if (times.empty() || !times.front())
    return std::nullopt;
  size_t best = 0;
  for (size_t i = 1; i < times.size(); ++i)
    if (times[i] && *times[i] <= *times[best] * (best == 0 ? kWorthIt : 1))
      best = i;
  return best;
}

} // namespace llmc::tuner
