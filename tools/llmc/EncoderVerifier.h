// SPDX-License-Identifier: Apache-2.0
//
// `llmc verify` for a text encoder.

#ifndef LLMC_TOOLS_LLMC_ENCODERVERIFIER_H
#define LLMC_TOOLS_LLMC_ENCODERVERIFIER_H

#include "tools/llmc/ModelVerifier.h"

#include <memory>

namespace llmc::tool {

/// As verifyModel, for a module whose function is `encode`: the tokens are one
/// text. Where the file has pooling, its embedding is compared, else the
/// vectors of all tokens.
StatusOr<VerifyReport>
verifyEncoder(const VerifyRequest &request,
              std::shared_ptr<const runtime::Module> module);

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_ENCODERVERIFIER_H
