// SPDX-License-Identifier: Apache-2.0
//
// The loop that both kinds of tokenizer share: merge the best pair of
// neighbours until no pair merges, in O(n log n).

#ifndef LLMC_RUNTIME_TEXT_PAIRMERGER_H
#define LLMC_RUNTIME_TEXT_PAIRMERGER_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

namespace llmc::text {

/// A stretch of the text that is one symbol.
struct Symbol {
  size_t begin;
  size_t length;
  /// Whatever the caller knows symbols by.
  int32_t value;
};

/// What two neighbours become.
struct Merge {
  /// Lower merges first; of equal costs the leftmost.
  double cost;
  int32_t value;
};

/// Merges neighbours in `symbols`, which are adjacent stretches in order;
/// leaves the final ones. `findMerge(left, right)` returns an optional Merge.
template <typename FindMerge>
void mergePairs(std::vector<Symbol> &symbols, FindMerge findMerge) {
  constexpr size_t kNone = SIZE_MAX;
  struct Links {
    size_t previous;
    size_t next;
  };
  struct Candidate {
    double cost;
    size_t left;
    size_t right;
    size_t length; // of both when queued; another length: out of date
    int32_t value;
    bool operator<(const Candidate &other) const {
      return cost != other.cost ? cost > other.cost : left > other.left;
    }
  };
  std::vector<Links> links(symbols.size());
  std::priority_queue<Candidate> queue;
  auto enqueue = [&](size_t left, size_t right) {
    if (std::optional<Merge> merge = findMerge(symbols[left], symbols[right]))
      queue.push({merge->cost, left, right,
                  symbols[left].length + symbols[right].length, merge->value});
  };
  for (size_t i = 0; i < symbols.size(); ++i) {
    links[i] = {i == 0 ? kNone : i - 1, i + 1 < symbols.size() ? i + 1 : kNone};
    if (i > 0)
      enqueue(i - 1, i);
  }
  while (!queue.empty()) {
    Candidate best = queue.top();
    queue.pop();
    Symbol &left = symbols[best.left];
    Symbol &right = symbols[best.right];
    // A symbol of length 0 is part of another one already.
    if (left.length == 0 || right.length == 0 ||
        left.length + right.length != best.length)
      continue;
    left.length = best.length;
    left.value = best.value;
    right.length = 0;
    size_t next = links[best.right].next;
    links[best.left].next = next;
    if (next != kNone) {
      links[next].previous = best.left;
      enqueue(best.left, next);
    }
    if (links[best.left].previous != kNone)
      enqueue(links[best.left].previous, best.left);
  }
  size_t kept = 0;
  for (const Symbol &symbol : symbols)
    if (symbol.length != 0)
      symbols[kept++] = symbol;
  symbols.resize(kept);
}

} // namespace llmc::text

#endif // LLMC_RUNTIME_TEXT_PAIRMERGER_H
