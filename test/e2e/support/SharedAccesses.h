// SPDX-License-Identifier: Apache-2.0
//
// Who accessed workgroup memory last, so that accesses of several invocations
// to one place with no barrier between them are found.

#ifndef LLMC_TEST_E2E_SUPPORT_SHAREDACCESSES_H
#define LLMC_TEST_E2E_SUPPORT_SHAREDACCESSES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llmc::test {

/// Barriers that were passed, by all and by each subgroup.
struct Synchronizations {
  uint32_t ofWorkgroup = 1;
  std::vector<uint32_t> ofSubgroup;
};

/// An invocation, or a subgroup as a whole, whose lanes are not told apart: the
/// device chooses who of them loads which element of a matrix.
struct Accessor {
  uint32_t subgroup;
  /// None: the subgroup.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t lane = kNone;
};

class SharedAccesses {
public:
  /// `granule`: bytes that are accessed as one, 1 to 4.
  SharedAccesses(size_t bytes, size_t granule)
      : granule(granule), readers(bytes / granule), writers(bytes / granule) {}

  /// False if someone else wrote there (or, for a write, read there) since the
  /// last barrier of both.
  bool read(size_t byte, size_t bytes, Accessor who,
            const Synchronizations &now) {
    bool ok = true;
    for (size_t i = byte / granule; i < (byte + bytes) / granule; ++i) {
      ok = ok && isBefore(writers[i], who, now);
      readers[i] = isBefore(readers[i], who, now) ? make(who, now)
                                                  : both(readers[i], who, now);
    }
    return ok;
  }
  /// Several may write what is there already (`changes` is false).
  bool write(size_t byte, size_t bytes, Accessor who,
             const Synchronizations &now, bool changes = true) {
    bool ok = true;
    for (size_t i = byte / granule; i < (byte + bytes) / granule; ++i) {
      ok = ok && (!changes || isBefore(writers[i], who, now)) &&
           isBefore(readers[i], who, now);
      writers[i] = make(who, now);
    }
    return ok;
  }

private:
  struct Access {
    uint32_t ofWorkgroup = 0, ofSubgroup = 0;
    Accessor who = {kSeveral};
  };
  /// As an accessor's subgroup: invocations of several.
  static constexpr uint32_t kSeveral = UINT32_MAX;

  static Access make(Accessor who, const Synchronizations &now) {
    return {now.ofWorkgroup, now.ofSubgroup[who.subgroup], who};
  }
  /// Of two who read with no barrier between them.
  static Access both(const Access &before, Accessor who,
                     const Synchronizations &now) {
    Access access = make(who, now);
    access.who.lane = Accessor::kNone;
    if (before.who.subgroup != who.subgroup)
      access.who.subgroup = kSeveral;
    return access;
  }
  static bool isBefore(const Access &access, Accessor who,
                       const Synchronizations &now) {
    if (access.ofWorkgroup < now.ofWorkgroup)
      return true;
    if (access.who.subgroup != who.subgroup)
      return false;
    return access.ofSubgroup < now.ofSubgroup[who.subgroup] ||
           (who.lane != Accessor::kNone && access.who.lane == who.lane);
  }

  size_t granule;
  std::vector<Access> readers, writers;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_SHAREDACCESSES_H
