// SPDX-License-Identifier: Apache-2.0
//
// LimitOverrides.h: a table of the limits by name, with how to read and set
// each.

#include "codegen/Targets/LimitOverrides.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace llmc::targets {

using description::Target;

namespace {

struct Limit {
  const char *name;
  /// Absent facts read as 0.
  uint64_t (*get)(const Target &);
  void (*set)(Target &, uint64_t);
};

template <typename Values>
uint64_t largest(const Values &values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// None becomes larger than `most`.
template <typename Values>
void lowerEach(Values &values, uint64_t most) {
  for (auto &value : values)
    value = std::min<uint64_t>(value, most);
}

constexpr const char *kSubgroupSize = "subgroup_size";
constexpr uint64_t kMostSubgroupSize = 128;

const Limit kLimits[] = {
    {"max_allocation_bytes",
     [](const Target &t) -> uint64_t {
       return t.memory().max_allocation_bytes();
     },
     [](Target &t, uint64_t value) {
       t.mutable_memory()->set_max_allocation_bytes(value);
     }},
    {"max_buffer_range",
     [](const Target &t) -> uint64_t { return t.memory().max_buffer_range(); },
     [](Target &t, uint64_t value) {
       t.mutable_memory()->set_max_buffer_range(value);
     }},
    {"max_invocations",
     [](const Target &t) -> uint64_t {
       return t.workgroup().max_invocations();
     },
     [](Target &t, uint64_t value) {
       t.mutable_workgroup()->set_max_invocations(value);
     }},
    {"max_push_constant_bytes",
     [](const Target &t) -> uint64_t {
       return t.memory().max_push_constant_bytes();
     },
     [](Target &t, uint64_t value) {
       t.mutable_memory()->set_max_push_constant_bytes(value);
     }},
    {"max_storage_buffers",
     [](const Target &t) -> uint64_t {
       return t.memory().has_max_storage_buffers()
                  ? t.memory().max_storage_buffers()
                  : std::numeric_limits<uint32_t>::max();
     },
     [](Target &t, uint64_t value) {
       t.mutable_memory()->set_max_storage_buffers(value);
     }},
    {"max_uniform_range",
     [](const Target &t) -> uint64_t { return t.memory().max_uniform_range(); },
     [](Target &t, uint64_t value) {
       t.mutable_memory()->set_max_uniform_range(value);
     }},
    {"max_workgroup_count",
     [](const Target &t) { return largest(t.workgroup().max_count()); },
     [](Target &t, uint64_t value) {
       lowerEach(*t.mutable_workgroup()->mutable_max_count(), value);
     }},
    {"max_workgroup_size",
     [](const Target &t) { return largest(t.workgroup().max_size()); },
     [](Target &t, uint64_t value) {
       lowerEach(*t.mutable_workgroup()->mutable_max_size(), value);
     }},
    {kSubgroupSize,
     [](const Target &) -> uint64_t { return kMostSubgroupSize; },
     [](Target &t, uint64_t value) { t.mutable_subgroup()->set_size(value); }},
    {"workgroup_memory_bytes",
     [](const Target &t) -> uint64_t { return t.workgroup().memory_bytes(); },
     [](Target &t, uint64_t value) {
       t.mutable_workgroup()->set_memory_bytes(value);
     }},
};

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error lowerLimit(Target &description, llvm::StringRef assignment) {
  llvm::StringRef name, text;
  std::tie(name, text) = assignment.split('=');
  const Limit *limit = llvm::find_if(
      kLimits, [&](const Limit &known) { return name == known.name; });
  if (limit == std::end(kLimits))
    return makeError("there is no limit '" + name +
                     "'; the limits are: " + llvm::join(getLimitNames(), ", "));
  uint64_t value = 0, most = limit->get(description);
  bool isPowerWanted = name == kSubgroupSize;
  if (text.getAsInteger(10, value) || value < 1 || value > most ||
      (isPowerWanted && !llvm::isPowerOf2_64(value)))
    return makeError("limit '" + name + "' of target '" + description.name() +
                     "' is '" + text + "', allowed is " +
                     (isPowerWanted ? "a power of two" : "an integer") +
                     " from 1 to " + llvm::Twine(most));
  limit->set(description, value);
  return llvm::Error::success();
}

} // namespace

std::vector<std::string> getLimitNames() {
  std::vector<std::string> names;
  for (const Limit &limit : kLimits)
    names.emplace_back(limit.name);
  return names;
}

llvm::Error lowerLimits(Target &description,
                        llvm::ArrayRef<std::string> assignments) {
  for (const std::string &assignment : assignments)
    if (llvm::Error error = lowerLimit(description, assignment))
      return error;
  return llvm::Error::success();
}

} // namespace llmc::targets
