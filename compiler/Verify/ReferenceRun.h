// SPDX-License-Identifier: Apache-2.0
//
// A model's functions, as regions, on the reference evaluator: what a compiled
// file is verified against. No MLIR in this header.

#ifndef LLMC_COMPILER_VERIFY_REFERENCERUN_H
#define LLMC_COMPILER_VERIFY_REFERENCERUN_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace llmc::verify {

/// Numbers in row-major order.
struct Numbers {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
using NamedNumbers = std::map<std::string, Numbers>;

/// Result |result| of a function's region, that is of one dispatch, or a few
/// that belong together.
struct RegionResult {
  /// As llmc-expose-regions names it: "region.4.0".
  std::string name;
  /// "gemv blk.0.attn_q".
  std::string label;
  /// Most of max |difference| / max |number| (decision 0008).
  double bound;
  /// Whether the device stores it as f16.
  bool isHalf;
  Numbers &numbers;
};

class ReferenceRun {
public:
  /// |regions|: MLIR text as Emit::Regions gives it. InvalidFile when it can't
  /// be read or its weights can't.
  static StatusOr<std::unique_ptr<ReferenceRun>>
  create(const std::string &regions);
  ~ReferenceRun();

  /// Sees every region's results in order, and may replace numbers.
  using Observer = std::function<void(const RegionResult &)>;

  /// Runs the clone of |function| for |bucket| rows. Arguments and results by
  /// their names. NotFound names an argument that is missing.
  StatusOr<NamedNumbers> run(const std::string &function, int64_t bucket,
                             const NamedNumbers &arguments,
                             const Observer &observer = {});

  /// Makes every state empty.
  void reset();

private:
  struct State;
  explicit ReferenceRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace llmc::verify

#endif // LLMC_COMPILER_VERIFY_REFERENCERUN_H
