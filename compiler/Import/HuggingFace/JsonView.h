// SPDX-License-Identifier: Apache-2.0
//
// Reading values of an untrusted JSON file one wants something of: a wrong one
// reads as the default, and the first mistake is kept for the end.

#ifndef LLMC_COMPILER_IMPORT_HUGGINGFACE_JSONVIEW_H
#define LLMC_COMPILER_IMPORT_HUGGINGFACE_JSONVIEW_H

#include "dialects/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace llmc::huggingface {

/// The first mistake found in a file.
class JsonMistake {
public:
  explicit JsonMistake(StringRef path) : path(path.str()) {}

  /// Keeps "path: 'name' sentence" unless there is a mistake already.
  void report(StringRef name, const Twine &sentence) {
    if (message.empty())
      message = (path + ": '" + name + "' " + sentence).str();
  }

  bool isFound() const { return !message.empty(); }
  llvm::Error take() const {
    return isFound() ? llvm::createStringError(message)
                     : llvm::Error::success();
  }

private:
  std::string path;
  std::string message;
};

/// A value in a file, or null for one that is not there. Refers to the file's
/// JSON and to the mistake, which must outlive it.
class JsonView {
public:
  JsonView(const nlohmann::json &value, std::string name, JsonMistake &mistake)
      : value(&value), name(std::move(name)), mistake(&mistake) {}

  bool isNull() const { return value->is_null(); }
  bool isString() const { return value->is_string(); }
  bool isObject() const { return value->is_object(); }
  bool isArray() const { return value->is_array(); }
  const nlohmann::json &json() const { return *value; }

  /// The member of an object; null if it has none. Other kinds of value than
  /// objects and null are a mistake.
  JsonView operator[](StringRef key) const;

  /// The elements of an array; none for null.
  std::vector<JsonView> elements() const;

  // `otherwise` for null; also for a value of the wrong kind, a mistake.
  std::string string(StringRef otherwise = "") const;
  bool boolean(bool otherwise) const;
  int64_t integer(int64_t otherwise) const;

  void refuse(const Twine &sentence) const { mistake->report(name, sentence); }

  /// refuse("is 'found', supported are supported").
  void refuseValue(StringRef found, StringRef supported) const;

private:
  void refuseKind(const char *expected) const;

  const nlohmann::json *value;
  std::string name;
  JsonMistake *mistake;
};

} // namespace llmc::huggingface

#endif // LLMC_COMPILER_IMPORT_HUGGINGFACE_JSONVIEW_H
