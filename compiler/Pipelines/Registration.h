// SPDX-License-Identifier: Apache-2.0
//
// What a tool registers to parse every IR that llmc writes and to run each pass
// by its flag.

#ifndef LLMC_COMPILER_PIPELINES_REGISTRATION_H
#define LLMC_COMPILER_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace llmc::pipelines {

/// Adds llmc's dialects and the upstream dialects that lowering produces to
/// |registry|.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers each pass of llmc, and the few upstream passes that tests need,
/// under its flag. Call it once.
void registerAllPasses();

} // namespace llmc::pipelines

#endif // LLMC_COMPILER_PIPELINES_REGISTRATION_H
