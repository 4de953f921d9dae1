// SPDX-License-Identifier: Apache-2.0
//
// The next token chosen on the device, against the runtime's own sampler on the
// same logits and the same random numbers.

#include "test/e2e/kernels/KernelTest.h"

#include "runtime/text/Random.h"
#include "runtime/text/Sampler.h"

#include <functional>
#include <limits>

namespace llmc::test {
namespace {

constexpr int kRing = 64;
// What places of the ring behind the window hold.
constexpr int32_t kNotRecent = 1;
// The word of the input `sampling` that the device changes.
constexpr size_t kNext = 5;

/// A model without one: its logits are what the test writes as `h`.
std::string modelText(int vocabulary) {
  std::string row = "tensor<?x" + std::to_string(vocabulary) + "xf32>";
  return "module {\n"
         "  graph.weight @t : tensor<2x4x!graph.encoded<f32>> from "
         "[#graph.source<file = 0, offset = 0, rows = 2>]\n"
         "  func.func @forward_r1(%t: tensor<?xi32> {graph.name = \"tokens\"}) "
         "-> (tensor<?x4xf32> {graph.name = \"x\"}) attributes {graph.rows = 1 "
         ": i64, graph.function = \"forward\"} {\n"
         "    %w = graph.load_weight @t : tensor<2x4x!graph.encoded<f32>>\n"
         "    %y = graph.region (%a = %t : tensor<?xi32>, %b = %w : "
         "tensor<2x4x!graph.encoded<f32>>) -> (tensor<?x4xf32>) {\n"
         "      %0 = graph.quantized_embedding %a, %b : tensor<?xi32>, "
         "tensor<2x4x!graph.encoded<f32>> -> tensor<?x4xf32>\n"
         "      graph.yield %0 : tensor<?x4xf32>\n"
         "    }\n"
         "    return %y : tensor<?x4xf32>\n"
         "  }\n"
         "  func.func @logits_r1(%h: " +
         row + " {graph.name = \"h\"}) -> (" + row +
         " {graph.name = \"logits\"}) attributes {graph.rows = 1 : i64, "
         "graph.function = \"logits\"} {\n    %y = graph.region (%a = %h : " +
         row + ") -> (" + row +
         ") {\n      %k = graph.constant 1.0 : tensor<f32>\n      %0 = "
         "graph.mul %a, %k : " +
         row + ", tensor<f32> -> " + row + "\n      graph.yield %0 : " + row +
         "\n    }\n    return %y : " + row + "\n  }\n}\n";
}

int32_t bitsOf(float number) {
  int32_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

/// Of targets that find candidates in different ways; of others than the
/// machine's, kernels run in lockstep on the host.
class SamplingTest : public KernelTest,
                     public testing::WithParamInterface<const char *> {
protected:
  void open(int size) {
    vocabulary = size;
    ProgramRunner::Options options;
    options.target = GetParam();
    std::string text = modelText(vocabulary);
    runner = options.target == "lavapipe"
                 ? compile(text, options)
                 : ProgramRunner::compileForHost(text, options);
    ASSERT_TRUE(runner);
  }

  /// As the runtime writes them; `recent` in the order of the text.
  void begin(const text::SamplerOptions &options,
             const std::vector<int32_t> &recent) {
    bool isGreedy = options.temperature == 0;
    bool penalizes = options.repetitionPenalty != 1;
    int32_t window = penalizes ? options.repetitionWindow : 0;
    runner->write("sampling",
                  std::vector<int32_t>{
                      bitsOf(options.temperature), isGreedy ? 1 : options.topK,
                      bitsOf(options.topP), bitsOf(options.repetitionPenalty),
                      window, window ? int32_t(recent.size()) % window : 0, 0,
                      0});
    std::vector<int32_t> ring(kRing, -1);
    std::fill(ring.begin() + window, ring.end(), kNotRecent);
    std::copy(recent.begin(), recent.end(), ring.begin());
    runner->write("recent", ring);
  }

  /// With 16 logits an invocation on the machine's device, in four workgroups.
  static int vocabularyOfLargeShares() { return 3 * 4096 + 713; }

  using LogitsOf = std::function<std::vector<float>(int position)>;

  /// Steps at positions 0, 1, … with new logits each, beside the sampler.
  void compareSteps(const text::SamplerOptions &options, int steps,
                    const std::vector<int32_t> &recent = {3, 5, 3}) {
    Numbers numbers(static_cast<uint32_t>(vocabulary));
    compareSteps(options, steps, recent, [&](int) {
      std::vector<float> logits = numbers.take(size_t(vocabulary));
      for (float &logit : logits)
        logit *= 8;
      return logits;
    });
  }
  void compareSteps(const text::SamplerOptions &options, int steps,
                    const std::vector<int32_t> &recent,
                    const LogitsOf &logitsOf) {
    SCOPED_TRACE("temperature " + std::to_string(options.temperature) +
                 ", top-k " + std::to_string(options.topK) + ", top-p " +
                 std::to_string(options.topP) + ", penalty " +
                 std::to_string(options.repetitionPenalty));
    begin(options, recent);
    auto sampler = text::Sampler::create(options, vocabulary);
    ASSERT_TRUE(sampler.ok()) << sampler.status().message();
    for (int32_t id : recent)
      sampler->accept(id);
    text::Random random(options.seed);
    std::vector<float> draws(kRing);
    for (int position = 0; position < steps; ++position) {
      std::vector<float> logits = logitsOf(position);
      draws[position % kRing] = static_cast<float>(random.nextUniform());
      runner->write("h", logits);
      runner->write("draws", draws);
      runner->run("next_r1", position, 1);
      auto wanted = sampler->sample(logits.data(), logits.size());
      ASSERT_TRUE(wanted.ok()) << wanted.status().message();
      sampler->accept(*wanted);
      ASSERT_EQ(runner->read<int32_t>("chosen")[size_t(position % kRing)],
                *wanted)
          << "position " << position;
      ASSERT_EQ(runner->read<int32_t>("tokens")[0], *wanted);
    }
  }

  int vocabulary = 0;
  std::unique_ptr<ProgramRunner> runner;
};

// Numbers are multiples of 1/16, so that there are many equal logits. Of 4096
// four workgroups have a share each, with four logits an invocation; 4095 are
// not a multiple of four. 10007 are five workgroups' with eight, or ten's.
TEST_P(SamplingTest, choosesAsTheSampler) {
  for (int size : {40, 4095, 4097, 10007}) {
    SCOPED_TRACE(size);
    open(size);
    int steps = size == 40 ? kRing + 6 : 12; // around the rings once
    text::SamplerOptions greedy;
    compareSteps(greedy, 3);
    greedy.repetitionPenalty = 1.25F;
    compareSteps(greedy, steps);
    text::SamplerOptions warm;
    warm.temperature = 0.75F;
    warm.topK = 40;
    warm.seed = 7;
    compareSteps(warm, steps);
    warm.topP = 0.5F;
    warm.topK = kRing;
    warm.repetitionPenalty = 1.5F;
    warm.repetitionWindow = 5;
    compareSteps(warm, steps);
  }
}

// Recent tokens of one invocation, of the first and the last token, and one of
// them twice; in a window that is not full, full, and no multiple of four.
TEST_P(SamplingTest, penalizesRecentTokensWhereverTheyAre) {
  open(vocabularyOfLargeShares());
  int32_t last = vocabulary - 1;
  std::vector<int32_t> recent = {0, last, last - 1, 8, 9, 10, 8, 2049};
  auto logitsOf = [&](int position) {
    std::vector<float> logits(size_t(vocabulary), 0.5F);
    for (int32_t id : recent)
      logits[size_t(id)] = position % 2 ? -0.25F : 3;
    logits[kNotRecent] = 2.5F;
    // More than with its penalty, less than without.
    logits[size_t(1000 + position)] = 2;
    return logits;
  };
  text::SamplerOptions options;
  options.repetitionPenalty = 2;
  for (int window : {kRing, 10, 8}) {
    options.repetitionWindow = window;
    options.temperature = 0;
    compareSteps(options, 12, recent, logitsOf);
    options.temperature = 0.5F;
    options.topK = 12;
    compareSteps(options, 12, recent, logitsOf);
  }
  while (recent.size() < size_t(kRing))
    recent.push_back(3 * int32_t(recent.size()));
  options.repetitionWindow = kRing;
  compareSteps(options, 4, recent, logitsOf);
}

// All candidates are of a few invocations, which have one after the other.
TEST_P(SamplingTest, takesNeighbours) {
  open(vocabularyOfLargeShares());
  text::SamplerOptions options;
  options.temperature = 2;
  options.topK = 50;
  for (int first : {0, 1021, vocabulary - 50})
    for (float slope : {0.125F, -0.125F, 0.0F})
      compareSteps(options, 3, {}, [&](int) {
        std::vector<float> logits(size_t(vocabulary), -20);
        for (int i = 0; i < 50; ++i)
          logits[size_t(first + i)] = slope * static_cast<float>(i);
        return logits;
      });
}

TEST_P(SamplingTest, zerosOfEitherSignAreEqual) {
  open(5001);
  text::SamplerOptions options;
  for (float zero : {0.0F, -0.0F})
    for (int candidates : {1, 2}) {
      options.temperature = candidates == 1 ? 0 : 1;
      options.topK = candidates;
      compareSteps(options, 4, {}, [&](int) {
        std::vector<float> logits(5001, -1);
        logits[4000] = -zero;
        logits[4900] = zero;
        return logits;
      });
    }
}

TEST_P(SamplingTest, oneCandidateNeedsNoDraw) {
  open(5001);
  text::SamplerOptions options;
  options.temperature = 0.5F;
  options.topK = 1;
  compareSteps(options, 3);
}

TEST_P(SamplingTest, largeVocabularies) {
  for (int size : {262144, 300001}) {
    open(size);
    text::SamplerOptions warm;
    warm.temperature = 1;
    warm.topK = 3;
    compareSteps(warm, 4);
  }
}

TEST_P(SamplingTest, preparesTheNextStep) {
  open(100);
  text::SamplerOptions options;
  options.repetitionPenalty = 2;
  options.repetitionWindow = 3;
  begin(options, {10, 11});
  std::vector<float> logits(100, -1);
  logits[11] = 8; // 4 with the penalty
  logits[77] = 5;
  runner->write("h", logits);
  runner->run("next_r1", 130, 1, /*firstRow=*/0);
  EXPECT_EQ(runner->read<int32_t>("chosen")[130 % kRing], 77);
  EXPECT_EQ(runner->read<int32_t>("tokens")[0], 77);
  std::vector<int32_t> step = runner->read<int32_t>("step");
  EXPECT_EQ(std::vector<int32_t>(step.begin(), step.begin() + 3),
            (std::vector<int32_t>{131, 1, 0}));
  std::vector<int32_t> recent = runner->read<int32_t>("recent");
  EXPECT_EQ(std::vector<int32_t>(recent.begin(), recent.begin() + 4),
            (std::vector<int32_t>{10, 11, 77, kNotRecent}));
  EXPECT_EQ(runner->read<int32_t>("sampling")[kNext], 0) << "the oldest";
}

TEST_P(SamplingTest, tellsOfLogitsThatAreNotFinite) {
  open(5000);
  for (float broken : {std::numeric_limits<float>::quiet_NaN(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::infinity()})
    for (auto [temperature, penalty] :
         {std::pair(0.0F, 1.0F), {1.0F, 1.0F}, {0.0F, 0.5F}, {1.0F, 2.0F}}) {
      text::SamplerOptions options;
      options.repetitionPenalty = penalty;
      options.temperature = temperature;
      options.topK = 20;
      begin(options, {4321, 6});
      std::vector<float> logits(5000, 1);
      logits[4321] = logits[6] = broken;
      runner->write("h", logits);
      runner->write("draws", std::vector<float>(kRing, 0.99F));
      runner->run("next_r1", 5, 1);
      EXPECT_EQ(runner->read<int32_t>("chosen")[5], -1) << broken;
      EXPECT_EQ(runner->read<int32_t>("tokens")[0], 0) << broken;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Targets, SamplingTest,
    testing::Values("lavapipe", "nvidia-h200", "adreno-840"),
    [](const auto &target) {
      return llvm::StringRef(target.param).take_front(6).str();
    });

} // namespace
} // namespace llmc::test
