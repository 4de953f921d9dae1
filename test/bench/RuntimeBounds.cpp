// SPDX-License-Identifier: Apache-2.0
//
// What the runtime costs besides the device's work, for runtime-bounds: a
// program that loads a file, answers prompts in turn and tells as JSON its
// times, memory, allocations and answers. It counts every `new` of the thread
// that uses the session; what the driver does with malloc is the driver's.

#include "runtime/format/MemoryPlan.h"
#include "runtime/session/LanguageModel.h"
#include "test/support/AllocationCounter.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <unistd.h>

namespace llmc {
namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<int32_t>;

constexpr uint32_t kNumPrompts = 4;
constexpr uint32_t kAnswerTokens = 25;

double secondsBetween(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

double secondsSince(Clock::time_point start) {
  return secondsBetween(start, Clock::now());
}

/// CPU time of this thread, which does nothing while it waits for the device.
double hostSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Bytes of the process that are in memory.
uint64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Bytes in memory by what is mapped there: libraries (of which the driver's
/// are most), the .llmc file, and all else, which was allocated.
nlohmann::json residentBytesByKind(const std::string &modelPath) {
  std::ifstream file("/proc/self/smaps");
  uint64_t libraries = 0, model = 0, others = 0;
  uint64_t *kind = &others;
  for (std::string line; std::getline(file, line);) {
    unsigned long long kibibytes = 0;
    if (std::sscanf(line.c_str(), "Rss: %llu kB", &kibibytes) == 1)
      *kind += kibibytes << 10;
    else if (line.find_first_of("0123456789abcdef") == 0 &&
             line.find('-') < line.find(' '))
      kind = line.find(".so") != std::string::npos       ? &libraries
             : line.find(modelPath) != std::string::npos ? &model
                                                         : &others;
  }
  return {{"libraries", libraries}, {"model", model}, {"allocated", others}};
}

/// Prompt `number`, of a length of its own.
Tokens makePrompt(uint32_t number, uint32_t vocabularySize) {
  Tokens tokens(5 + 13 * number);
  uint64_t state = number + 1;
  for (int32_t &token : tokens) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    token = static_cast<int32_t>((state >> 33) % vocabularySize);
  }
  return tokens;
}

/// What a number of tokens cost the host.
struct HostCost {
  uint64_t numTokens = 0;
  double seconds = 0;
  uint64_t allocations = 0;

  nlohmann::json asJson() const {
    const auto tokens = static_cast<double>(numTokens);
    return {
        {"tokens", numTokens},
        {"host_milliseconds_per_token", seconds / tokens * 1e3},
        {"allocations_per_token", static_cast<double>(allocations) / tokens}};
  }
};

class Bounds {
public:
  Bounds(std::string path, std::string cacheFolder)
      : path(std::move(path)), cacheFolder(std::move(cacheFolder)) {}

  /// Loads the file; times and bytes go into the report.
  Status start();
  /// Answers all prompts in turn until `numTokens` were generated.
  Status answer(uint64_t numTokens);
  /// Answers one prompt, as a process does that was just started.
  Status answerOnce(uint32_t prompt);
  /// Decodes with the logits given to the host.
  Status decode(uint64_t numTokens);

  nlohmann::json report;

private:
  StatusOr<Tokens> answerTo(uint32_t prompt, HostCost *cost);

  std::string path, cacheFolder;
  std::unique_ptr<runtime::LanguageModel> model;
  Clock::time_point firstToken; // of the last answer
};

Status Bounds::start() {
  const uint64_t before = residentBytes();
  const Clock::time_point begin = Clock::now();
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Engine> engine,
                        runtime::Engine::create());
  report["engine_seconds"] = secondsSince(begin);
  report["resident_bytes_of_engine"] = residentBytes();
  runtime::ModuleOptions options;
  options.pipelineCacheFolder = cacheFolder;
  LLMC_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Module> module,
                        runtime::Module::load(*engine, path, options));
  report["load_seconds"] = secondsSince(begin);
  report["resident_bytes_of_module"] = residentBytes();
  LLMC_ASSIGN_OR_RETURN(model, runtime::LanguageModel::create(module, {}));
  report["start_seconds"] = secondsSince(begin);
  report["resident_bytes_of_session"] = residentBytes();
  LLMC_RETURN_IF_ERROR(answerTo(0, nullptr).status());
  report["first_token_seconds"] = secondsBetween(begin, firstToken);
  report["first_answer_seconds"] = secondsSince(begin);
  const format::MemoryPlan plan = format::planMemory(
      module->variant(), module->manifest().model().max_context());
  report["planned_bytes"] = plan.total();
  report["resident_bytes_before"] = before;
  report["resident_bytes"] = residentBytes();
  report["resident_bytes_by_kind"] = residentBytesByKind(path);
  report["imports_weights"] = module->weights().areImported();
  report["self_test"] = module->selfTestSummary();
  return okStatus();
}

StatusOr<Tokens> Bounds::answerTo(uint32_t prompt, HostCost *cost) {
  LLMC_RETURN_IF_ERROR(model->reset());
  LLMC_ASSIGN_OR_RETURN(const bool canChoose, model->canChoose({}));
  if (!canChoose)
    return Status(StatusCode::Unsupported,
                  path + ": the device does not choose tokens");
  Tokens answer;
  answer.reserve(kAnswerTokens);
  double seconds = 0;
  uint64_t allocations = 0;
  // The prompt is evaluated when the first token comes.
  const auto take = [&](int32_t token) {
    if (answer.empty()) {
      firstToken = Clock::now();
      seconds = hostSeconds();
      allocations = test::allocationsOfThread();
    }
    answer.push_back(token);
    return true;
  };
  LLMC_RETURN_IF_ERROR(model->generate(
      makePrompt(prompt, model->vocabularySize()), {}, kAnswerTokens, take));
  if (cost) {
    cost->numTokens += answer.size() - 1;
    cost->seconds += hostSeconds() - seconds;
    cost->allocations += test::allocationsOfThread() - allocations;
  }
  return answer;
}

Status Bounds::answer(uint64_t numTokens) {
  std::vector<Tokens> answers(kNumPrompts);
  nlohmann::json resident = nlohmann::json::array();
  HostCost cost;
  bool areEqual = true;
  for (uint64_t done = 0; done < numTokens;
       done += kNumPrompts * kAnswerTokens) {
    // The first round warms the process up.
    for (uint32_t prompt = 0; prompt < kNumPrompts; ++prompt) {
      LLMC_ASSIGN_OR_RETURN(const Tokens answer,
                            answerTo(prompt, done ? &cost : nullptr));
      areEqual &= done == 0 || answer == answers[prompt];
      answers[prompt] = answer;
    }
    resident.push_back(residentBytes());
  }
  report["answers"] = answers;
  report["answers_are_equal"] = areEqual;
  report["tokens_per_round"] = kNumPrompts * kAnswerTokens;
  report["resident_bytes_by_round"] = resident;
  report["device_chooses"] = cost.asJson();
  return okStatus();
}

Status Bounds::answerOnce(uint32_t prompt) {
  LLMC_ASSIGN_OR_RETURN(const Tokens answer, answerTo(prompt, nullptr));
  report["answer"] = answer;
  return okStatus();
}

Status Bounds::decode(uint64_t numTokens) {
  std::vector<float> logits(model->vocabularySize());
  LLMC_RETURN_IF_ERROR(model->reset());
  LLMC_RETURN_IF_ERROR(model->decode(1, logits.data()));
  HostCost cost{numTokens, -hostSeconds(), 0};
  const uint64_t allocations = test::allocationsOfThread();
  for (uint64_t i = 0; i < numTokens; ++i)
    LLMC_RETURN_IF_ERROR(model->decode(1, logits.data()));
  cost.seconds += hostSeconds();
  cost.allocations = test::allocationsOfThread() - allocations;
  report["host_reads_logits"] = cost.asJson();
  return okStatus();
}

Status run(int argc, char **argv) {
  Bounds bounds(argv[1], argv[2]);
  const std::string act = argv[3];
  const auto number = static_cast<uint32_t>(std::strtoul(argv[4], nullptr, 10));
  LLMC_RETURN_IF_ERROR(bounds.start());
  if (act == "tokens") {
    LLMC_RETURN_IF_ERROR(bounds.answer(number));
    LLMC_RETURN_IF_ERROR(bounds.decode(50));
  } else {
    LLMC_RETURN_IF_ERROR(bounds.answerOnce(number));
  }
  std::puts(bounds.report.dump(2).c_str());
  return okStatus();
}

} // namespace
} // namespace llmc

int main(int argc, char **argv) {
  if (argc != 5) {
    std::fputs("usage: RuntimeBounds FILE CACHE_FOLDER tokens N | prompt N\n",
               stderr);
    return 2;
  }
  const llmc::Status status = llmc::run(argc, argv);
  if (!status.ok())
    std::fprintf(stderr, "RuntimeBounds: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
