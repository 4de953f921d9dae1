// SPDX-License-Identifier: Apache-2.0
//
// Look-ups in the tables, and the normal forms as chapter 3.11 of the Unicode
// standard defines them.

#include "runtime/text/Unicode.h"

#include "runtime/text/Utf8.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace llmc::text {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

struct ClassRange {
  char32_t first;
  char32_t last;
  uint8_t value;
};

/// Every `step`-th code point becomes `difference` more.
struct CaseRange {
  char32_t first;
  char32_t last;
  uint8_t step;
  int32_t difference;
};

struct Decomposition {
  char32_t codePoint;
  char32_t first;
  char32_t second; // 0: there is none
  bool composes;   // normal form C puts it together again
};

#include "runtime/text/UnicodeTables.inc"

/// The range of `table` that holds `codePoint`, or null.
template <typename Entry, size_t count>
const Entry *findRange(const Entry (&table)[count], char32_t codePoint) {
  const Entry *it = std::lower_bound(
      std::begin(table), std::end(table), codePoint,
      [](const Entry &entry, char32_t value) { return entry.last < value; });
  return it != std::end(table) && it->first <= codePoint ? it : nullptr;
}

uint8_t combiningClass(char32_t codePoint) {
  const ClassRange *range = findRange(kCombiningClasses, codePoint);
  return range ? range->value : 0;
}

const Decomposition *findDecomposition(char32_t codePoint) {
  const Decomposition *it = std::lower_bound(
      std::begin(kDecompositions), std::end(kDecompositions), codePoint,
      [](const Decomposition &entry, char32_t value) {
        return entry.codePoint < value;
      });
  return it != std::end(kDecompositions) && it->codePoint == codePoint
             ? it
             : nullptr;
}

// Hangul: syllables are numbered by leading consonant, vowel and trailing
// consonant.
constexpr char32_t kSyllable = 0xac00, kLeading = 0x1100, kVowel = 0x1161,
                   kTrailing = 0x11a7;
constexpr uint32_t kNumLeading = 19, kNumVowels = 21, kNumTrailing = 28;
constexpr uint32_t kNumSyllables = kNumLeading * kNumVowels * kNumTrailing;

void appendDecomposed(char32_t codePoint, std::u32string &out) {
  if (codePoint < 0xc0) {
    out.push_back(codePoint);
    return;
  }
  if (uint32_t index = codePoint - kSyllable; index < kNumSyllables) {
    out.push_back(kLeading + index / (kNumVowels * kNumTrailing));
    out.push_back(kVowel + index / kNumTrailing % kNumVowels);
    if (uint32_t trailing = index % kNumTrailing)
      out.push_back(kTrailing + trailing);
    return;
  }
  const Decomposition *parts = findDecomposition(codePoint);
  if (!parts) {
    out.push_back(codePoint);
    return;
  }
  appendDecomposed(parts->first, out);
  if (parts->second)
    appendDecomposed(parts->second, out);
}

char32_t composeHangul(char32_t first, char32_t second) {
  uint32_t leading = first - kLeading;
  uint32_t vowel = second - kVowel;
  if (leading < kNumLeading && vowel < kNumVowels)
    return kSyllable + (leading * kNumVowels + vowel) * kNumTrailing;
  uint32_t syllable = first - kSyllable;
  uint32_t trailing = second - kTrailing;
  if (syllable < kNumSyllables && syllable % kNumTrailing == 0 &&
      trailing > 0 && trailing < kNumTrailing)
    return first + trailing;
  return 0;
}

/// The decompositions that compose, by their parts.
const std::vector<Decomposition> &compositions() {
  static const std::vector<Decomposition> sorted = [] {
    std::vector<Decomposition> entries;
    std::copy_if(std::begin(kDecompositions), std::end(kDecompositions),
                 std::back_inserter(entries),
                 [](const Decomposition &entry) { return entry.composes; });
    std::sort(entries.begin(), entries.end(),
              [](const Decomposition &a, const Decomposition &b) {
                return a.first != b.first ? a.first < b.first
                                          : a.second < b.second;
              });
    return entries;
  }();
  return sorted;
}

/// What `first` and `second` become together; 0: they stay two.
char32_t composePair(char32_t first, char32_t second) {
  if (char32_t syllable = composeHangul(first, second))
    return syllable;
  const std::vector<Decomposition> &table = compositions();
  auto it = std::lower_bound(
      table.begin(), table.end(), std::pair(first, second),
      [](const Decomposition &entry, std::pair<char32_t, char32_t> key) {
        return std::pair(entry.first, entry.second) < key;
      });
  return it != table.end() && it->first == first && it->second == second
             ? it->codePoint
             : 0;
}

/// Puts marks in the order of their classes, equal ones as they were.
void orderMarks(char32_t *marks, size_t count) {
  struct Mark {
    uint8_t combiningClass;
    size_t index;
    char32_t codePoint;
  };
  std::vector<Mark> sorted;
  for (size_t i = 0; i < count; ++i)
    sorted.push_back({combiningClass(marks[i]), i, marks[i]});
  std::sort(sorted.begin(), sorted.end(), [](const Mark &a, const Mark &b) {
    return a.combiningClass != b.combiningClass
               ? a.combiningClass < b.combiningClass
               : a.index < b.index;
  });
  for (size_t i = 0; i < count; ++i)
    marks[i] = sorted[i].codePoint;
}

} // namespace

bool isSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
         c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c > 0x20 && c < 0x30) || (c > 0x39 && c < 0x41) ||
           (c > 0x5a && c < 0x61) || (c > 0x7a && c < 0x7f);
  return findRange(kPunctuation, c);
}

bool isNonspacingMark(char32_t c) { return findRange(kNonspacingMarks, c); }

bool isMark(char32_t c) { return findRange(kMarks, c); }

bool isControl(char32_t c) { return findRange(kControls, c); }

bool isHan(char32_t c) {
  return (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x2a6df) ||
         (c >= 0x2a700 && c <= 0x2ceaf) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void appendLower(char32_t codePoint, std::u32string &out) {
  // The one letter whose lower case is two: i and a dot above.
  if (codePoint == 0x130) {
    out.append({'i', 0x307});
    return;
  }
  const CaseRange *range = findRange(kLowerCases, codePoint);
  if (range && (codePoint - range->first) % range->step == 0)
    codePoint += static_cast<char32_t>(range->difference);
  out.push_back(codePoint);
}

std::u32string decompose(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (char32_t c : text)
    appendDecomposed(c, out);
  for (size_t begin = 0; begin < out.size();) {
    size_t end = begin;
    while (end < out.size() && combiningClass(out[end]) != 0)
      ++end;
    if (end - begin > 1)
      orderMarks(&out[begin], end - begin);
    begin = end + 1;
  }
  return out;
}

std::u32string compose(std::u32string_view decomposed) {
  constexpr size_t kNone = SIZE_MAX;
  std::u32string out;
  out.reserve(decomposed.size());
  size_t starter = kNone;
  uint8_t lastClass = 0;
  for (char32_t c : decomposed) {
    uint8_t ownClass = combiningClass(c);
    // Blocked from the starter by a mark of the same or a higher class.
    bool isBlocked = starter == kNone ||
                     (out.size() > starter + 1 && (lastClass >= ownClass));
    if (!isBlocked)
      if (char32_t whole = composePair(out[starter], c)) {
        out[starter] = whole;
        continue;
      }
    if (ownClass == 0)
      starter = out.size();
    lastClass = ownClass;
    out.push_back(c);
  }
  return out;
}

std::u32string toCodePoints(std::string_view bytes) {
  std::u32string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    Utf8Step step = decodeUtf8(bytes);
    if (step.kind == Utf8Kind::Complete)
      out.push_back(step.codePoint);
    else
      for (char c : bytes.substr(0, step.length))
        out.push_back(kFirstIllFormed + static_cast<uint8_t>(c));
    bytes.remove_prefix(step.length);
  }
  return out;
}

std::string fromCodePoints(std::u32string_view codePoints) {
  std::string out;
  out.reserve(codePoints.size());
  for (char32_t c : codePoints) {
    if (c >= kFirstIllFormed)
      out.push_back(static_cast<char>(c - kFirstIllFormed));
    else
      appendUtf8(c, out);
  }
  return out;
}

} // namespace llmc::text
