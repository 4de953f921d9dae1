// SPDX-License-Identifier: Apache-2.0
//
// What ranks the tiles of a linear: the time that the roofline of
// compiler/Estimate foresees, with the driver compiler's figures where there
// are any. docs/tuning.md explains it. Plain C++.

#ifndef LLMC_COMPILER_TUNING_COSTMODEL_H
#define LLMC_COMPILER_TUNING_COSTMODEL_H

#include "codegen/Strategy/LinearTile.h"
#include "codegen/Targets/target.pb.h"

#include <optional>
#include <string>
#include <vector>

namespace llmc::tuner {

/// What a driver compiler says of a kernel.
struct KernelFigures {
  int64_t registers = 0; // 32-bit, of an invocation
  int64_t occupancyPercent = 0;
  int64_t spills = 0;           // spills and fills
  int64_t threadLocalBytes = 0; // of an invocation
  double instructionsPerMultiplyAdd = 0;
  double bytesPerLoad = 0; // of weights; 0: unknown
  /// The compiler failed or took too long; there are no other figures.
  bool isRefused = false;

  bool staysInRegisters() const {
    return !isRefused && spills == 0 && threadLocalBytes == 0;
  }
};

/// A tile that a linear might have.
struct Candidate {
  codegen::LinearTile tile;
  /// Nothing: not compiled.
  std::optional<KernelFigures> figures;
};

/// A linear and the device, for the cost. `arithmetic` is the type in which it
/// multiplies, `weightBytes` what one pass over its weights reads.
struct CostProblem {
  codegen::LinearShape shape;
  double weightBytes;
  std::string encoding;   // as model files name it: Q4_0, F16, …
  std::string arithmetic; // f32, f16, i8
};

/// Microseconds, for comparisons: the larger of memory and arithmetic time, and
/// a quarter of the smaller, since the two never overlap wholly. Padding of
/// rows and columns to the tile is computed, too; a GEMV reads its weights for
/// each tile of rows; loads narrower than 16 bytes lengthen the memory time;
/// lanes of a subgroup without an invocation idle.
double costMicroseconds(const CostProblem &problem, const Candidate &candidate,
                        const description::Target &device);

/// Index of the best candidate. The first is Strategy's choice and stays
/// unless it spills or another that doesn't costs at least 2 % less. Another
/// may not have less occupancy; for a GEMM, half is enough. Where some
/// candidates have figures, only those are compared. `candidates` is not empty.
size_t selectCandidate(const CostProblem &problem,
                       const std::vector<Candidate> &candidates,
                       const description::Target &device);

} // namespace llmc::tuner

#endif // LLMC_COMPILER_TUNING_COSTMODEL_H
