// SPDX-License-Identifier: Apache-2.0
//
// MLIR's diagnostics as sentences for people.

#ifndef LLMC_COMPILER_DRIVER_DIAGNOSTICS_H
#define LLMC_COMPILER_DRIVER_DIAGNOSTICS_H

#include "dialects/Support/LLVM.h"

#include "mlir/IR/Diagnostics.h"

#include <mutex>
#include <string>

namespace llmc::driver {

/// While it lives, errors of a context are kept here instead of being printed.
/// Passes may emit them from several threads.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context);

  /// The errors, a line each: the place (the part of the model, or file, line
  /// and column) and the message. The first few, when there are many.
  std::string sentences() const;

private:
  void add(mlir::Diagnostic &diagnostic);

  mutable std::mutex mutex;
  SmallVector<std::string> lines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace llmc::driver

#endif // LLMC_COMPILER_DRIVER_DIAGNOSTICS_H
