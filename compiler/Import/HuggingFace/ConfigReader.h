// SPDX-License-Identifier: Apache-2.0
//
// Typed look-ups of the fields of a config.json.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H

#include "dialects/Support/LLVM.h"

#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace llmc::huggingface {

/// An object of a configuration. A field that is null counts as absent. The
/// functions fail when a field has another type or value than allowed, and when
/// it is absent without a value for that case.
class ConfigReader {
public:
  /// Sizes beyond it are refused, so that products of two of them can't wrap.
  static constexpr int64_t kMaxSize = int64_t(1) << 28;

  /// `path` is the file's; `prefix` stands before fields in messages. The
  /// object must live as long as the reader.
  ConfigReader(const nlohmann::json &object, std::string path,
               std::string prefix = "")
      : object(&object), path(std::move(path)), prefix(std::move(prefix)) {}

  bool has(const char *field) const { return find(field) != nullptr; }

  /// An integer from 1 to `most`.
  llvm::Error readSize(const char *field, int64_t &result,
                       std::optional<int64_t> absent = std::nullopt,
                       int64_t most = kMaxSize) const;
  /// A positive finite number.
  llvm::Error readReal(const char *field, float &result,
                       std::optional<float> absent = std::nullopt) const;
  llvm::Error readFlag(const char *field, bool &result, bool absent) const;
  llvm::Error readText(const char *field, std::string &result,
                       std::optional<std::string> absent = std::nullopt) const;
  llvm::Error readTexts(const char *field, std::vector<std::string> &result,
                        std::vector<std::string> absent = {}) const;
  /// None when absent.
  llvm::Expected<std::optional<ConfigReader>>
  findObject(const char *field) const;

  /// Whether a field is this number.
  bool isNumber(const char *field, int64_t number) const;
  /// Whether a field is an array or object without elements.
  bool isEmpty(const char *field) const;
  /// The names of all fields.
  std::vector<std::string> fields() const;

  /// "FILE: field 'F' is FOUND, allowed ALLOWED".
  llvm::Error refuse(const char *field, const Twine &allowed) const;

private:
  const nlohmann::json *find(const char *field) const;
  llvm::Error missing(const char *field) const;

  const nlohmann::json *object;
  std::string path, prefix;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_CONFIGREADER_H
