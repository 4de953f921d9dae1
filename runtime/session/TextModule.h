// SPDX-License-Identifier: Apache-2.0
//
// A module with the tokenizer of its file.

#ifndef LLMC_RUNTIME_SESSION_TEXTMODULE_H
#define LLMC_RUNTIME_SESSION_TEXTMODULE_H

#include "runtime/session/Module.h"
#include "runtime/text/Tokenizer.h"

namespace llmc::runtime {

struct TextModule {
  std::shared_ptr<Module> module;
  std::unique_ptr<text::Tokenizer> tokenizer; // null: the file has none
};

/// Loads a module, and makes the tokenizer of its file meanwhile; of the
/// options `meanwhile` is not the caller's.
StatusOr<TextModule> loadTextModule(const Engine &engine,
                                    const std::string &path,
                                    ModuleOptions options);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_TEXTMODULE_H
