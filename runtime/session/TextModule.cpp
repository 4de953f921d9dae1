// SPDX-License-Identifier: Apache-2.0
//
// TextModule.h.

#include "runtime/session/TextModule.h"

namespace llmc::runtime {

StatusOr<TextModule> loadTextModule(const Engine &engine,
                                    const std::string &path,
                                    ModuleOptions options) {
  TextModule result;
  options.meanwhile = [&](const format::Reader &file) -> Status {
    LLMC_ASSIGN_OR_RETURN(result.tokenizer, text::Tokenizer::read(file));
    return okStatus();
  };
  LLMC_ASSIGN_OR_RETURN(result.module, Module::load(engine, path, options));
  return result;
}

} // namespace llmc::runtime
