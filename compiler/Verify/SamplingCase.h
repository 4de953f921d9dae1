// SPDX-License-Identifier: Apache-2.0
//
// What the entry that tests the choice of tokens gives, by the sampler of the
// host.

#ifndef LLMC_COMPILER_VERIFY_SAMPLINGCASE_H
#define LLMC_COMPILER_VERIFY_SAMPLINGCASE_H

#include "compiler/Serialization/SelfTestCase.h"
#include "dialects/Support/LLVM.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace llmc::verify {

/// The case of the entry program::kSamplingTest of |program|, if it has one and
/// its vocabulary has as many tokens as are chosen.
std::optional<serialization::SelfTestCase> makeSamplingCase(ModuleOp program);

/// The case for a vocabulary: the likeliest tokens of the formula's logits one
/// after the other, since those before are recent and have a penalty; then
/// draws that a slightly different number would decide alike.
std::optional<serialization::SelfTestCase>
makeSamplingCase(int64_t vocabularySize);

} // namespace llmc::verify

#endif // LLMC_COMPILER_VERIFY_SAMPLINGCASE_H
