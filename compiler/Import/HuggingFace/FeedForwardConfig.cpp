// SPDX-License-Identifier: Apache-2.0
//
// The feed-forward size of a decoder's configuration.

#include "compiler/Import/HuggingFace/FeedForwardConfig.h"

#include "llvm/Support/MathExtras.h"

namespace llmc::huggingface {

llvm::Error readFeedForwardSize(const ConfigReader &config, bool isLfm2,
                                int64_t &size) {
  if (llvm::Error error = config.readSize(isLfm2 && config.has("block_ff_dim")
                                              ? "block_ff_dim"
                                              : "intermediate_size",
                                          size))
    return error;
  bool isAdjusted;
  if (llvm::Error error = config.readFlag("block_auto_adjust_ff_dim",
                                          isAdjusted, /*absent=*/isLfm2))
    return error;
  if (!isAdjusted)
    return llvm::Error::success();
  float multiplier;
  int64_t multiple;
  if (llvm::Error error =
          config.readReal("block_ffn_dim_multiplier", multiplier, 1.0f))
    return error;
  if (llvm::Error error = config.readSize("block_multiple_of", multiple, 256))
    return error;
  double scaled =
      static_cast<double>(multiplier) * static_cast<double>(2 * size / 3);
  if (!(scaled >= 1) || scaled > static_cast<double>(ConfigReader::kMaxSize))
    return config.refuse("block_ffn_dim_multiplier",
                         "are numbers that give a size from 1 to " +
                             Twine(ConfigReader::kMaxSize));
  size = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(scaled),
                                            static_cast<uint64_t>(multiple)));
  return llvm::Error::success();
}

} // namespace llmc::huggingface
