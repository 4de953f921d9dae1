// SPDX-License-Identifier: Apache-2.0
//
// Errors of passes as sentences.

#include "compiler/Driver/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using llmc::driver::DiagnosticCollector;

TEST(DiagnosticsTest, ErrorsAreKeptWithNotesAndWarningsDropped) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  mlir::Location part = mlir::NameLoc::get(builder.getStringAttr("output"));
  DiagnosticCollector collector(context);
  mlir::emitWarning(part) << "slow";
  {
    auto error = mlir::emitError(part) << "needs 5 registers";
    error.attachNote() << "the device has 4";
  }
  EXPECT_EQ(collector.sentences(),
            "output: needs 5 registers; the device has 4");
}

TEST(DiagnosticsTest, ManyErrorsAreCut) {
  mlir::MLIRContext context;
  DiagnosticCollector collector(context);
  for (int i = 0; i < 7; ++i)
    mlir::emitError(mlir::UnknownLoc::get(&context)) << "error " << i;
  EXPECT_EQ(collector.sentences(),
            "error 0\nerror 1\nerror 2\nerror 3\nerror 4\n… and 2 more");
}
