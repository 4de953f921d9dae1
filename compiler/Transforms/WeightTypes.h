// SPDX-License-Identifier: Apache-2.0
//
// What the weights of a model are to be: the types of `--weights`, and which
// weight gets which. Plain C++.

#ifndef LLMC_COMPILER_TRANSFORMS_WEIGHTTYPES_H
#define LLMC_COMPILER_TRANSFORMS_WEIGHTTYPES_H

#include "dialects/Graph/Encoding.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc::transforms {

/// "f16, int8, int4-g32, …": the names of types, for messages.
std::string weightTypeNames();

/// Types by the names of weights. Without any, all stay as they are in the
/// file.
class WeightTypes {
public:
  /// |general|: the type of all weights that no rule names; empty: as in the
  /// file. |rules|: "REGEX=TYPE", POSIX extended, matching anywhere in a name;
  /// the first that matches counts. TYPE may also be `keep`. Fails for unknown
  /// types and bad expressions.
  static llvm::Expected<WeightTypes> create(llvm::StringRef general,
                                            llvm::ArrayRef<std::string> rules);

  /// The encoding for a weight of that name, of rows of |columns| numbers; none
  /// when it stays as it is. A general type whose groups do not divide a row
  /// gives way to one with smaller groups, at last to F16; a rule's type that
  /// does not fit is an error.
  llvm::Expected<std::optional<graph::Encoding>> choose(llvm::StringRef name,
                                                        int64_t columns);

  /// Rules that no name has matched so far.
  std::vector<std::string> unusedRules() const;

private:
  struct Rule {
    std::string text;
    llvm::Regex regex;
    std::optional<graph::Encoding> encoding; // none: keep
    bool isUsed = false;
  };

  std::optional<graph::Encoding> general;
  std::vector<Rule> rules;
};

} // namespace llmc::transforms

#endif // LLMC_COMPILER_TRANSFORMS_WEIGHTTYPES_H
