// SPDX-License-Identifier: Apache-2.0
//
// Collects errors and names their places.

#include "compiler/Driver/Diagnostics.h"

#include "dialects/Support/Location.h"

#include "llvm/ADT/StringExtras.h"

namespace llmc::driver {

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : handler(&context, [this](mlir::Diagnostic &diagnostic) {
        add(diagnostic);
        return success();
      }) {}

void DiagnosticCollector::add(mlir::Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
    return;
  std::string place = describeLocation(diagnostic.getLocation());
  std::string line = (place.empty() ? "" : place + ": ") + diagnostic.str();
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    line += "; " + note.str();
  std::lock_guard<std::mutex> lock(mutex);
  lines.push_back(line);
}

std::string DiagnosticCollector::sentences() const {
  constexpr size_t kMost = 5;
  std::lock_guard<std::mutex> lock(mutex);
  if (lines.empty())
    return "a pass failed without saying why";
  std::string text = llvm::join(ArrayRef(lines).take_front(kMost), "\n");
  if (lines.size() > kMost)
    text += "\n… and " + std::to_string(lines.size() - kMost) + " more";
  return text;
}

} // namespace llmc::driver
