// SPDX-License-Identifier: Apache-2.0
//
// A language model made by hand whose logits can be told in the head: after
// tokens t0 … tn, logit v is (t0 + … + tn) · weight[v]. It uses every part of a
// file: weights, KV cache, kept values, step words, barriers, row buckets and
// padded rows.

#ifndef LLMC_TEST_E2E_RUNTIME_COUNTINGMODEL_H
#define LLMC_TEST_E2E_RUNTIME_COUNTINGMODEL_H

#include "runtime/session/Module.h"
#include "test/support/ModuleFile.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::test {

struct CountingModelOptions {
  uint32_t context = 64;
  std::vector<uint32_t> forwardRows = {1, 4, 16};
  std::vector<uint32_t> logitsRows = {1, 2};
  std::vector<float> weight = {1, 2, 3, -4, 0.5f}; // vocabulary of up to 8
  bool sharesStepWords = false; // forward and logits in one place
};

/// The file, not written yet: tests change it first.
ModuleFile makeCountingModel(const CountingModelOptions &options = {});

/// The engine of this process, or null where there is no Vulkan device.
std::shared_ptr<runtime::Engine> sharedEngine();

/// Writes the file, loads it and removes it.
StatusOr<std::shared_ptr<runtime::Module>>
load(ModuleFile file, const runtime::ModuleOptions &options = {});

/// The logits after tokens of this sum.
std::vector<float> expectedLogits(const CountingModelOptions &options,
                                  int32_t sum);

} // namespace llmc::test

/// At the start of a test that needs a device.
#define LLMC_NEED_DEVICE()                                                     \
  if (!::llmc::test::sharedEngine())                                           \
  GTEST_SKIP() << "no Vulkan device"

#endif // LLMC_TEST_E2E_RUNTIME_COUNTINGMODEL_H
