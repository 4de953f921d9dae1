// SPDX-License-Identifier: Apache-2.0
//
// Names from untrusted files in messages.

#ifndef LLMC_COMPILER_IMPORT_QUOTED_H
#define LLMC_COMPILER_IMPORT_QUOTED_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace llmc::importer {

/// 'text': escaped, and cut when long.
inline std::string quoted(llvm::StringRef text) {
  constexpr size_t kMostBytes = 80;
  std::string result = "'";
  llvm::raw_string_ostream stream(result);
  llvm::printEscapedString(text.take_front(kMostBytes), stream);
  if (text.size() > kMostBytes)
    stream << "…";
  stream << "'";
  return result;
}

} // namespace llmc::importer

#endif // LLMC_COMPILER_IMPORT_QUOTED_H
