// SPDX-License-Identifier: Apache-2.0
//
// A decoder of one layer, or a few, as a GGUF file, small enough to write by
// hand.

#ifndef LLMC_TEST_E2E_COMPILED_TOYMODEL_H
#define LLMC_TEST_E2E_COMPILED_TOYMODEL_H

#include "test/unit/compiler/Import/gguf_builder.h"

#include <string>
#include <vector>

namespace llmc::test {

constexpr uint64_t kToyVocabulary = 40;
constexpr uint64_t kToyHidden = 64;

struct ToyOptions {
  std::string architecture = "llama"; // or qwen2, qwen3
  uint32_t headDim = 16;              // of 4 heads, 2 KV heads
  size_t alignment = 32;              // 32: the file does not say it
  uint32_t version = 3;
  uint32_t numLayers = 1;
  std::string leftOut; // the tensor or metadata key that is missing
};

/// |count| numbers that depend on |seed|, -0.5 … 0.5.
std::vector<float> makeNumbers(uint64_t count, uint32_t seed);

/// Adds an F32 tensor, innermost dimension first.
void addTensor(GgufBuilder &file, const std::string &name,
               const std::vector<uint64_t> &dimensions,
               const std::vector<float> &numbers);

/// All but the output matrix, which is tied to the embedding until a test adds
/// one.
GgufBuilder makeToyModel(const ToyOptions &options = {});

/// The seed of the embedding's numbers.
constexpr uint32_t kToyEmbeddingSeed = 1;

} // namespace llmc::test

#endif // LLMC_TEST_E2E_COMPILED_TOYMODEL_H
