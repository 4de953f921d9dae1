// SPDX-License-Identifier: Apache-2.0

#include "compiler/Serialization/EarlierFile.h"

#include "llvm/Support/FileSystem.h"

namespace llmc::serialization {

StatusOr<std::unique_ptr<EarlierFile>>
EarlierFile::open(const std::string &path, bool mustBeSound) {
  // Opening a pipe would wait for a writer.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return Status(StatusCode::InvalidFile, path + ": is not a regular file");
  LLMC_ASSIGN_OR_RETURN(auto reader, format::Reader::open(path));
  return std::unique_ptr<EarlierFile>(
      new EarlierFile(std::move(reader), mustBeSound));
}

EarlierFile::EarlierFile(std::unique_ptr<format::Reader> file, bool mustBeSound)
    : file(std::move(file)), isDamageAnError(mustBeSound) {
  uint32_t index = 0;
  for (const format::Section &section : this->file->manifest().sections()) {
    if (section.kind() == format::Section::WEIGHT && !section.recipe().empty())
      sections.try_emplace(section.recipe(), index);
    ++index;
  }
}

std::optional<uint32_t> EarlierFile::find(StringRef recipe,
                                          uint64_t size) const {
  auto found = sections.find(recipe);
  if (found == sections.end() || file->section(found->second).size != size)
    return std::nullopt;
  return found->second;
}

} // namespace llmc::serialization
