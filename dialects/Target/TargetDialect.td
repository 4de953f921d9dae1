// SPDX-License-Identifier: Apache-2.0

#ifndef LLMC_DIALECTS_TARGET_TARGETDIALECT_TD
#define LLMC_DIALECTS_TARGET_TARGETDIALECT_TD

include "mlir/IR/OpBase.td"

def TargetDialect : Dialect {
  let name = "target";
  let cppNamespace = "::llmc::target";
  let summary = "The vocabulary of device facts, as one attribute.";
  let useDefaultAttributePrinterParser = 1;
}

#endif // LLMC_DIALECTS_TARGET_TARGETDIALECT_TD
