// SPDX-License-Identifier: Apache-2.0
//
// From a planned module in the program dialect to a variant of the manifest.

#ifndef LLMC_COMPILER_SERIALIZATION_PROGRAMENCODER_H
#define LLMC_COMPILER_SERIALIZATION_PROGRAMENCODER_H

#include "compiler/Serialization/SelfTestCase.h"
#include "compiler/Serialization/WeightTable.h"
#include "runtime/format/manifest.pb.h"

namespace llmc::serialization {

/// A variant and the bytes of its code section.
struct EncodedProgram {
  format::Variant variant;
  std::vector<uint32_t> code;
};

struct EncodeOptions {
  /// What the device must match; the fields that depend on the code are filled
  /// in here.
  format::TargetInfo target;
  /// Index of the section that will hold this program's code.
  uint32_t codeSection;
  /// Section i holds weight i of the table.
  const WeightTable *weights;
  /// The planned entries that test the kernels, null for none, and the cases,
  /// of which those without an entry are left out.
  ModuleOp selfTests = nullptr;
  ArrayRef<SelfTestCase> cases;
};

/// Encodes all kernels (equal SPIR-V once), buffers and entries of |module|,
/// which has `target.device` and has been planned. An error is about a program
/// that is not: no SPIR-V, no offset.
llvm::Expected<EncodedProgram> encodeProgram(ModuleOp module,
                                             const EncodeOptions &options);

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_PROGRAMENCODER_H
