// SPDX-License-Identifier: Apache-2.0
//
// A .llmc file of an earlier compilation, whose packed weights may be copied
// into a new one (docs/decisions/0018-weights-of-an-earlier-file.md).

#ifndef LLMC_COMPILER_SERIALIZATION_EARLIERFILE_H
#define LLMC_COMPILER_SERIALIZATION_EARLIERFILE_H

#include "compiler/Serialization/WeightTable.h"
#include "dialects/Support/LLVM.h"
#include "runtime/format/Reader.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>

namespace llmc::serialization {

/// Immutable; may be used from several threads. It keeps its content when a
/// file of the same name replaces it.
class EarlierFile {
public:
  /// As Reader::open; what is no regular file is refused unopened. With
  /// |mustBeSound| a damaged weight is an error of who copies it, else it is as
  /// if the file did not have it.
  static StatusOr<std::unique_ptr<EarlierFile>> open(const std::string &path,
                                                     bool mustBeSound);

  /// The section with the weight of that recipe and size. None in files whose
  /// weights have no recipes.
  std::optional<uint32_t> find(StringRef recipe, uint64_t size) const;

  /// Whether the first and the last tile of a section, which has the weight's
  /// size, are those that packing gives: a packer that has changed is noticed
  /// although its version was not raised.
  bool hasTilesOf(uint32_t section, const StoredWeight &weight) const;

  const format::Reader &reader() const { return *file; }
  bool mustBeSound() const { return isDamageAnError; }

private:
  EarlierFile(std::unique_ptr<format::Reader> file, bool mustBeSound);

  std::unique_ptr<format::Reader> file;
  bool isDamageAnError;
  llvm::StringMap<uint32_t> sections; // by recipe
};

} // namespace llmc::serialization

#endif // LLMC_COMPILER_SERIALIZATION_EARLIERFILE_H
