// SPDX-License-Identifier: Apache-2.0
//
// What happens to heads between a linear and attention, as a chain of ops.

#ifndef LLMC_CODEGEN_LOWERING_HEADCHAIN_H
#define LLMC_CODEGEN_LOWERING_HEADCHAIN_H

#include "dialects/Graph/Graph.h"

namespace llmc::codegen {

/// [rms_norm over the head], [rotary], [kv_append], with reshapes that keep
/// rows as they are between them. Ops that a chain lacks are null.
struct HeadChain {
  /// What the first op reads.
  Value source;
  graph::RmsNormOp norm;
  graph::RotaryOp rotary;
  graph::KvAppendOp append;
  /// Of the first op's input: [rows, heads, head dimension] where it is a
  /// chain of heads.
  RankedTensorType type;

  /// Elements of a head that are turned.
  int64_t rotaryDim() {
    return rotary ? static_cast<int64_t>(rotary.getRotaryDim()) : 0;
  }
  bool turnsHalves() {
    return rotary && rotary.getPairs() == graph::RotaryPairs::Half;
  }
};

/// The chain that `value` ends.
HeadChain readHeadChain(Value value);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_LOWERING_HEADCHAIN_H
