// SPDX-License-Identifier: Apache-2.0
//
// A .llmc file's model compiled once more with every dispatch's result visible,
// run beside the reference evaluator.

#ifndef LLMC_TOOLS_LLMC_VISIBLERUN_H
#define LLMC_TOOLS_LLMC_VISIBLERUN_H

#include "compiler/Verify/ReferenceRun.h"
#include "runtime/session/Session.h"
#include "tools/llmc/ModelVerifier.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::tool {

/// max |found - wanted| / max |wanted|; infinite when a number is none.
double relativeError(const std::vector<double> &found,
                     const std::vector<double> &wanted);

/// The fewest rows of the function's entries that hold |rows|, the most where
/// none does.
int64_t bucketFor(const runtime::Module &module, const std::string &function,
                  int64_t rows);

/// What a function returned, as the evaluator has it, and the bound of the
/// dispatch that gave it (the last one).
struct FunctionResult {
  verify::NamedNumbers numbers;
  double bound = 0;
};

class VisibleRun {
public:
  /// Compiles as |file| says that it was; the entries for |exposedRows| rows
  /// show their dispatches. InvalidFile: the model gives other kernels or
  /// weights than the file has.
  static StatusOr<std::unique_ptr<VisibleRun>>
  create(const VerifyRequest &request, const runtime::Module &file,
         const std::vector<int64_t> &exposedRows);

  /// Runs a function on the device and on the evaluator, which goes on with the
  /// device's numbers after each dispatch; adds a comparison for each.
  /// |arguments| are those of the evaluator; the file's inputs among them go to
  /// the device too. What another function left on the device (hidden states)
  /// is off by up to |inputBound| there, so that the first dispatch may be,
  /// too.
  StatusOr<FunctionResult>
  compareFunction(const std::string &function, const runtime::StepWords &words,
                  const verify::NamedNumbers &arguments,
                  std::vector<Comparison> &dispatches, double inputBound = 0);

  verify::ReferenceRun &reference() { return *evaluator; }

private:
  VisibleRun() = default;

  std::unique_ptr<runtime::Session> session;
  std::unique_ptr<verify::ReferenceRun> evaluator;
};

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_VISIBLERUN_H
