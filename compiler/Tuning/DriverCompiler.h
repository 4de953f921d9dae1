// SPDX-License-Identifier: Apache-2.0
//
// The targets' driver compilers, through tools/shader-stats/measure, which
// keeps what they said by the hash of the SPIR-V.

#ifndef LLMC_COMPILER_TUNING_DRIVERCOMPILER_H
#define LLMC_COMPILER_TUNING_DRIVERCOMPILER_H

#include "compiler/Tuning/CostModel.h"
#include "runtime/format/Status.h"

#include <map>
#include <string>
#include <vector>

namespace llmc::tuner {

/// SPIR-V modules that are measured in one call.
struct MeasureJob {
  std::vector<std::string> paths;
  /// Bindings that hold codes of weights, and their bits: "0:4,3:4".
  std::string weights;
  /// Rows of the input that a weight meets in an invocation.
  int64_t rows = 1;
};

class DriverCompiler {
public:
  /// `folder` is tools/shader-stats of the source tree, `target` one that it
  /// knows. Fails with NotFound when the tool is not there, Unsupported when it
  /// says that it is not set up or has no such target.
  static StatusOr<DriverCompiler> create(const std::string &folder,
                                         const description::Target &target);

  /// Figures by path.
  std::map<std::string, KernelFigures> measure(const MeasureJob &job) const;

  /// "Mesa 26.2.6", or empty.
  const std::string &version() const { return theVersion; }

private:
  std::string command, targetName, theVersion;
  bool countsVectors = false; // registers of four words
};

/// Figures from the tool's JSON ({path: figures}).
/// `countsVectors`: registers are of four 32-bit words, occupancy is waves of
/// 16; otherwise registers are 32-bit, occupancy is 1 or 2.
std::map<std::string, KernelFigures> parseFigures(const std::string &json,
                                                  bool countsVectors);

} // namespace llmc::tuner

#endif // LLMC_COMPILER_TUNING_DRIVERCOMPILER_H
