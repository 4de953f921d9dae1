// SPDX-License-Identifier: Apache-2.0
//
// Tuning files: parsed, checked, and turned into the attributes that Strategy
// looks a linear up in before it chooses by itself.

#ifndef LLMC_CODEGEN_STRATEGY_TUNING_H
#define LLMC_CODEGEN_STRATEGY_TUNING_H

#include "codegen/Strategy/tuning.pb.h"
#include "dialects/Graph/Graph.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llmc::codegen {

/// Module attributes, dictionaries from keys to lowering configs. An entry of
/// the first that does not fit its region or the device is an error, one of the
/// second is passed over.
inline constexpr llvm::StringLiteral kTuningAttr = "target.tuning";
inline constexpr llvm::StringLiteral kTuningDefaultsAttr =
    "target.tuning_defaults";

/// Parses and checks a tuning file. Each problem is a line of the error,
/// `fileName:line:column: error: …` for bad syntax and unknown fields, else
/// `fileName: entry N: …`.
llvm::Expected<tuning::Tuning> parseTuning(llvm::StringRef text,
                                           llvm::StringRef fileName);

/// Reads and parses the file at `path`.
llvm::Expected<tuning::Tuning> loadTuning(llvm::StringRef path);

/// The entries that ship with the compiler for a target; none for most.
tuning::Tuning getTuningDefaults(llvm::StringRef target);

/// What an entry is found by: "q4_0 2048x1024 x2 norm rows 1 f32".
std::string tuningKey(const tuning::Entry &entry);

/// The entries for `target` as a dictionary: key → #graph.lowering_config.
mlir::DictionaryAttr toTuningAttr(const tuning::Tuning &tuning,
                                  llvm::StringRef target,
                                  mlir::MLIRContext *context);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_TUNING_H
