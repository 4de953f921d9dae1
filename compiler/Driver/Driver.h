// SPDX-License-Identifier: Apache-2.0
//
// The compiler as a library: options in, a .llmc file or some text out. No MLIR
// in this header.

#ifndef LLMC_COMPILER_DRIVER_DRIVER_H
#define LLMC_COMPILER_DRIVER_DRIVER_H

#include "runtime/format/Status.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace llmc::driver {

/// Where to stop. All but File give text.
enum class Emit {
  File,    // the whole way
  Graph,   // the graph of primitives, after import
  Fused,   // the graph after fusion
  Regions, // what each dispatch of the one target computes
  Program, // the planned program of each target, without SPIR-V words
  Spirv,   // each kernel disassembled
};

struct CompileOptions {
  /// A .gguf file, or a .mlir file in the graph dialect.
  std::string inputPath;
  /// Names of shipped targets or paths of .textproto files, in the order of
  /// preference. Not used by Emit::Graph and Emit::Fused.
  std::vector<std::string> targets;
  /// Limits of the targets to lower, `name=value` (codegen/Targets/
  /// LimitOverrides.h).
  std::vector<std::string> limits;
  /// The .llmc file; only for Emit::File.
  std::string outputPath;
  /// A .llmc file whose packed weights are copied where packing would give the
  /// same (decision 0018); may be the output. Empty: none.
  std::string earlierPath;
  /// Whether compiling fails when that file can't be read or is damaged;
  /// otherwise weights are packed then.
  bool needsEarlier = false;
  /// Tokens to plan KV caches for; 0: the model's own limit, but at most 4096.
  int64_t maxContext = 0;
  /// How an encoder's rows become an embedding: "none", "mean", "first" or
  /// "last"; empty: as the model's files say.
  std::string pooling;
  /// Whether embeddings get length 1; only with a `pooling`.
  bool normalizesEmbeddings = false;
  /// Type of all matrices that no rule names, as --weights has it; empty: as in
  /// the model file.
  std::string weights;
  /// "REGEX=TYPE" for weights of matching names; the first that matches counts
  /// (compiler/Transforms/WeightTypes.h).
  std::vector<std::string> weightRules;
  /// A tuning file, looked up before the shipped ones; empty: none.
  std::string tuningPath;
  /// Element type of KV caches, "f32", "f16" or "int8"; empty: the target's.
  std::string kvType;
  /// Type of activations: "f16" of values between dispatches that it holds for
  /// certain, "int8" ("i8" too) of those that linears of many rows read, else
  /// "f32"; empty: the target's.
  std::string activations;
  Emit emit = Emit::File;
  /// Functions of these numbers of rows return what each region computes
  /// (llmc-expose-regions), to verify a file; empty: none.
  std::vector<int64_t> exposedRows;
  /// Whether the file holds tests of its kernels (decision 0010).
  bool selfTests = true;
  /// A folder for the IR after each phase, in numbered files; empty: none.
  std::string dumpFolder;
  /// Where to write IR and passes when a pass fails or crashes; empty: nowhere.
  std::string reproducerPath;
  /// Threads that pack weights.
  unsigned numThreads = 2;
  /// What is being done, and how much of it (0 to 1). May be empty; called from
  /// one thread at a time.
  std::function<void(const std::string &what, double done)> progress;
};

struct CompileResult {
  /// For an Emit that gives text.
  std::string text;
  /// Bytes of packed weights in the file, and how many of them were copied from
  /// an earlier one.
  uint64_t weightBytes = 0;
  uint64_t copiedWeightBytes = 0;
};

/// Compiles.
///
/// Fails with InvalidArgument for options that make no sense, NotFound for an
/// unknown target, InvalidFile for a refused model, Unsupported for what a
/// target cannot run, Io for a file that can't be written, Internal for a
/// mistake of the compiler. No output file is left then.
StatusOr<CompileResult> compileModel(const CompileOptions &options);

} // namespace llmc::driver

#endif // LLMC_COMPILER_DRIVER_DRIVER_H
