// SPDX-License-Identifier: Apache-2.0
//
// The feed-forward size of a decoder's configuration.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_FEEDFORWARDCONFIG_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_FEEDFORWARDCONFIG_H

#include "compiler/Import/HuggingFace/ConfigReader.h"

namespace llmc::huggingface {

/// `intermediate_size`; lfm2's files say `block_ff_dim` too, and mean the size
/// before it is made two thirds and whole blocks.
llvm::Error readFeedForwardSize(const ConfigReader &config, bool isLfm2,
                                int64_t &size);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_FEEDFORWARDCONFIG_H
