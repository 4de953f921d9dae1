// SPDX-License-Identifier: Apache-2.0
//
// JSON files of model folders. They are untrusted: what is no well-formed JSON,
// or says one thing twice, is refused with the place.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_JSON_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_JSON_H

#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace llmc::huggingface {

/// A name from a file for a message: in quotes, escaped, and cut when long.
std::string inQuotes(StringRef text);

/// Parses one JSON value; `path` stands for the file in messages. Refused: bad
/// syntax, bytes that are no UTF-8, numbers out of range, an object with one
/// key twice, and more than 64 values inside one another.
llvm::Expected<nlohmann::json> parseJson(StringRef text, StringRef path);

/// Reads and parses a file.
llvm::Expected<nlohmann::json> readJsonFile(const Twine &path);

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_JSON_H
