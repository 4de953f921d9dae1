// SPDX-License-Identifier: Apache-2.0
//
// MergeTable.h.

#include "runtime/text/MergeTable.h"

namespace llmc::text {

namespace {

uint64_t pairKey(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) |
         static_cast<uint32_t>(right);
}

} // namespace

StatusOr<MergeTable> MergeTable::create(const Vocabulary &vocabulary) {
  MergeTable table(vocabulary);
  LLMC_RETURN_IF_ERROR(table.read());
  return table;
}

Status MergeTable::read() {
  const std::vector<std::string> &lines = vocabulary->spec().merges;
  merges.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    // From 1 on: the left symbol may not be empty.
    size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size())
      return Status(StatusCode::InvalidFile,
                    "tokenizer: merges[" + std::to_string(i) + "] is '" +
                        std::string(line) + "', expected 'left right'");
    std::string left(line.substr(0, space));
    std::string right(line.substr(space + 1));
    int32_t whole = numberSymbol(left + right);
    // Of equal merges the first counts: it has the lower rank.
    merges.try_emplace(pairKey(numberSymbol(left), numberSymbol(right)),
                       RankedMerge{static_cast<uint32_t>(i), whole});
  }
  return okStatus();
}

int32_t MergeTable::numberSymbol(std::string_view spelling) {
  if (int32_t id = vocabulary->findMergeable(spelling); id != kNoToken)
    return id;
  auto next = static_cast<int32_t>(vocabulary->size() + others.size());
  return others.try_emplace(std::string(spelling), next).first->second;
}

int32_t MergeTable::symbolOf(std::string_view spelling) const {
  if (int32_t id = vocabulary->findMergeable(spelling); id != kNoToken)
    return id;
  auto it = others.find(std::string(spelling));
  return it == others.end() ? kNoToken : it->second;
}

std::optional<Merge> MergeTable::find(int32_t left, int32_t right) const {
  auto it = merges.find(pairKey(left, right));
  if (it == merges.end())
    return std::nullopt;
  return Merge{static_cast<double>(it->second.rank), it->second.symbol};
}

} // namespace llmc::text
