// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt with llmc's dialects and passes: runs one pass or a pipeline on a
// file, for tests and debugging.

#include "compiler/Pipelines/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  llmc::pipelines::registerAllDialects(registry);
  llmc::pipelines::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "llmc-opt: runs llmc's passes on an MLIR file\n", registry));
}
