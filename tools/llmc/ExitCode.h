// SPDX-License-Identifier: Apache-2.0
//
// Exit codes of the commands that compile.

#ifndef LLMC_TOOLS_LLMC_EXITCODE_H
#define LLMC_TOOLS_LLMC_EXITCODE_H

#include "runtime/format/Status.h"
#include "tools/llmc/Options.h"

namespace llmc::tool {

inline int exitCodeOf(const Status &status) {
  switch (status.code()) {
  case StatusCode::Ok:
    return kExitOk;
  case StatusCode::InvalidArgument:
  case StatusCode::NotFound:
    return kExitUsage;
  case StatusCode::InvalidFile:
  case StatusCode::Unsupported:
    return kExitRefused;
  default:
    return kExitFailure;
  }
}

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_EXITCODE_H
