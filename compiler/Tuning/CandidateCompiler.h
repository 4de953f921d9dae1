// SPDX-License-Identifier: Apache-2.0
//
// The linears of a model that may be tuned, and each alone as a kernel with a
// tile of choice.

#ifndef LLMC_COMPILER_TUNING_CANDIDATECOMPILER_H
#define LLMC_COMPILER_TUNING_CANDIDATECOMPILER_H

#include "codegen/Strategy/TunedLinear.h"
#include "compiler/Tuning/DeviceTiming.h"
#include "runtime/format/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace llmc::tuner {

/// A linear of a model, which may occur in many layers.
struct LinearOccurrence {
  tuning::Entry entry; // without target and config
  codegen::LinearProblem problem;
  codegen::LinearTile chosen; // by Strategy
  /// Its choice where it takes matrix units; `chosen` is nothing then.
  std::optional<codegen::MatrixTile> matrix;
  /// Its choice where it takes them for one row; `chosen` is what it would take
  /// otherwise.
  std::optional<codegen::GemvMatrixSizes> rowInMatrices;
  graph::LoweringConfigAttr config;
  graph::RegionOp region;          // the first such
  int64_t weightBytes;             // of one pass, all linears
  std::string encoding;            // of the weights: Q4_0
  std::vector<LinearPlace> places; // all
};

/// The distinct linears of a module with regions, in the order of the module.
/// Linears for which no tile fits are left out: compiling says why.
std::vector<LinearOccurrence> findLinears(ModuleOp module,
                                          target::DeviceAttr device);

struct CandidateKernel {
  std::vector<uint32_t> spirv;
  /// Bindings with codes of weights, and their bits: "0:4,3:4".
  std::string weights;
};

/// The kernel of one linear with that tile. Fails with Unsupported, and the
/// compiler's words, when the tile cannot be lowered.
StatusOr<CandidateKernel> compileCandidate(const LinearOccurrence &linear,
                                           const codegen::LinearTile &tile);

} // namespace llmc::tuner

#endif // LLMC_COMPILER_TUNING_CANDIDATECOMPILER_H
