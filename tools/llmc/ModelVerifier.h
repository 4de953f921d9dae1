// SPDX-License-Identifier: Apache-2.0
//
// Compares a .llmc file with the model it was compiled from, on a device.

#ifndef LLMC_TOOLS_LLMC_MODELVERIFIER_H
#define LLMC_TOOLS_LLMC_MODELVERIFIER_H

#include "tools/llmc/RuntimeCommand.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::tool {

/// What is compared: the largest difference as a part of the largest number,
/// and how large it may be (docs/decisions/0008-verify.md).
struct Comparison {
  std::string what;
  double error = 0;
  double bound = 0;
  /// False also where a number is NaN or infinite.
  bool isGood() const { return error <= bound; }
};

struct VerifyRequest {
  std::string path, modelPath;
  /// Empty: |numTokens| pseudo-random ones.
  std::vector<int32_t> tokens;
  int64_t numTokens = 24;
  /// The last so many of the tokens are decoded one by one; an encoder reads
  /// all at once.
  int64_t numDecoded = 4;
  int64_t repeats = 1;
  DeviceOptions device;
};

struct VerifyReport {
  std::string target;
  /// Every dispatch's results, in the order of the steps.
  std::vector<Comparison> dispatches;
  /// The file's logits for all tokens, or an encoder's embeddings.
  Comparison result;
  int64_t numTokens = 0;
  /// Of logits: tokens after which the best id is the reference's.
  int64_t numSameBest = 0;
  int64_t numRepeats = 0, numUnequalRepeats = 0;

  bool isGood() const;
  /// What the dispatches allow the result.
  double boundOfResult() const;
  void addRepeat(const std::vector<float> &first,
                 const std::vector<float> &again);
};

/// Those that are given, or else pseudo-random ones.
std::vector<int32_t> tokensOf(const VerifyRequest &request,
                              uint32_t vocabularySize);

/// Compiles the model once more as the file says it was, with every dispatch's
/// result visible, and compares: kernels and weights with the file's, each
/// dispatch with the evaluator on the device's own inputs, the file's logits or
/// embeddings with the evaluator's, and repeats of the file's with each other.
/// Fails when that can't be done, for instance InvalidFile for another model's
/// file; a difference that is too large is no failure.
StatusOr<VerifyReport> verifyModel(const VerifyRequest &request);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_MODELVERIFIER_H
