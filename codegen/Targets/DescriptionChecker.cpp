// SPDX-License-Identifier: Apache-2.0
//
// The rules of device descriptions. Ranges are those that the code which uses a
// fact relies on; each Vulkan limit must be at least what Vulkan 1.1
// guarantees.

#include "codegen/Targets/DescriptionChecker.h"

#include "codegen/Targets/Targets.h"

#include <algorithm>
#include <cctype>
#include <limits>

namespace llmc::targets {

using description::Target;

namespace {

constexpr uint64_t kNoMaximum = std::numeric_limits<uint64_t>::max();

bool isPowerOfTwo(uint64_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

/// Collects findings; each check appends at most one for a field.
class Checker {
public:
  explicit Checker(const Target &target) : target(target) {}

  std::vector<Finding> run() {
    checkIdentity();
    checkMatch();
    checkWorkgroup();
    checkRegisters();
    checkMemory();
    checkCooperativeMatrices();
    checkPlan();
    checkQuirks();
    return std::move(findings);
  }

private:
  void add(std::string path, std::string claim, int index = 0) {
    findings.push_back({std::move(path), index, std::move(claim)});
  }

  /// A required text.
  void checkText(const std::string &path, const std::string &value) {
    if (value.empty())
      add(path, "is required");
  }

  /// A required number in [least, most].
  void checkNumber(const std::string &path, bool isPresent, uint64_t value,
                   uint64_t least, uint64_t most = kNoMaximum) {
    if (!isPresent)
      return add(path, "is required");
    if (value >= least && value <= most)
      return;
    std::string allowed =
        most == kNoMaximum
            ? "at least " + std::to_string(least)
            : "from " + std::to_string(least) + " to " + std::to_string(most);
    add(path, "is " + std::to_string(value) + "; allowed: " + allowed);
  }

  /// Three required numbers, for x, y and z, each at least `least`.
  template <typename Values>
  void checkTriple(const std::string &path, const Values &values,
                   uint64_t least) {
    if (values.size() == 0)
      return add(path, "is required");
    if (values.size() != 3)
      return add(path, "has " + std::to_string(values.size()) +
                           " value(s); 3 are needed: x, y, z");
    for (int i = 0; i < 3; ++i)
      if (values[i] < least)
        add(path,
            "is " + std::to_string(values[i]) + "; allowed: at least " +
                std::to_string(least),
            i);
  }

  void checkIdentity() {
    checkText("name", target.name());
    for (char c : target.name())
      if (!std::islower(static_cast<unsigned char>(c)) &&
          !std::isdigit(static_cast<unsigned char>(c)) && c != '-' &&
          c != '.') {
        add("name", "is '" + target.name() +
                        "'; allowed: lower case letters, digits, '-', '.'");
        break;
      }
    checkText("summary", target.summary());
    if (target.family() == description::FAMILY_UNKNOWN)
      add("family", "is required");
    const auto &versions = target.versions();
    checkNumber("versions.vulkan_minor", versions.has_vulkan_minor(),
                versions.vulkan_minor(), 1, 4);
    checkNumber("versions.spirv_minor", versions.has_spirv_minor(),
                versions.spirv_minor(), 3, 6);
    checkNumber("subgroup.size", target.subgroup().has_size(),
                target.subgroup().size(), 1, 128);
    if (target.subgroup().size() != 0 &&
        !isPowerOfTwo(target.subgroup().size()))
      add("subgroup.size", "is " + std::to_string(target.subgroup().size()) +
                               "; allowed: powers of two");
  }

  void checkMatch() {
    const auto &names = target.match().name_contains();
    for (int i = 0; i < names.size(); ++i)
      if (names[i].empty() ||
          std::any_of(names[i].begin(), names[i].end(),
                      [](unsigned char c) { return std::isupper(c); }))
        add("match.name_contains",
            "is '" + names[i] + "'; it must be text in lower case", i);
  }

  void checkWorkgroup() {
    const auto &workgroup = target.workgroup();
    checkNumber("workgroup.max_invocations", workgroup.has_max_invocations(),
                workgroup.max_invocations(), 128);
    checkTriple("workgroup.max_size", workgroup.max_size(), 64);
    checkTriple("workgroup.max_count", workgroup.max_count(), 65535);
    checkNumber("workgroup.memory_bytes", workgroup.has_memory_bytes(),
                workgroup.memory_bytes(), 16384);
    if (!workgroup.has_memory_on_chip())
      add("workgroup.memory_on_chip", "is required");
    if (workgroup.has_max_invocations() &&
        target.subgroup().size() > workgroup.max_invocations())
      add("subgroup.size", "is " + std::to_string(target.subgroup().size()) +
                               ", more than workgroup.max_invocations");
  }

  void checkRegisters() {
    const auto &steps = target.registers().steps();
    if (steps.empty())
      return add("registers.steps", "is required");
    for (int i = 0; i < steps.size(); ++i) {
      const auto &step = steps[i];
      if (step.registers() == 0)
        add("registers.steps", "needs registers", i);
      if (step.occupancy_percent() == 0 || step.occupancy_percent() > 100)
        add("registers.steps", "needs occupancy_percent from 1 to 100", i);
      if (i > 0 &&
          (step.registers() <= steps[i - 1].registers() ||
           step.occupancy_percent() >= steps[i - 1].occupancy_percent()))
        add("registers.steps",
            "must have more registers and less occupancy than the step before",
            i);
    }
  }

  void checkMemory() {
    const auto &memory = target.memory();
    checkNumber("memory.buffer_alignment", memory.has_buffer_alignment(),
                memory.buffer_alignment(), 4, 256);
    if (memory.buffer_alignment() != 0 &&
        !isPowerOfTwo(memory.buffer_alignment()))
      add("memory.buffer_alignment",
          "is " + std::to_string(memory.buffer_alignment()) +
              "; allowed: powers of two");
    checkNumber("memory.max_buffer_range", memory.has_max_buffer_range(),
                memory.max_buffer_range(), uint64_t(1) << 27,
                std::numeric_limits<uint32_t>::max());
    checkNumber("memory.max_allocation_bytes",
                memory.has_max_allocation_bytes(),
                memory.max_allocation_bytes(), uint64_t(1) << 30);
    checkNumber("memory.max_push_constant_bytes",
                memory.has_max_push_constant_bytes(),
                memory.max_push_constant_bytes(), 128);
    if (memory.has_max_storage_buffers())
      checkNumber("memory.max_storage_buffers", true,
                  memory.max_storage_buffers(), 4);
  }

  void checkCooperativeMatrices() {
    const auto &matrices = target.features().cooperative_matrices();
    for (int i = 0; i < matrices.size(); ++i) {
      const auto &matrix = matrices[i];
      if (matrix.element_type() != "f16" && matrix.element_type() != "i8")
        add("features.cooperative_matrices",
            "has element_type '" + matrix.element_type() +
                "'; allowed: f16, i8",
            i);
      if (matrix.m() == 0 || matrix.n() == 0 || matrix.k() == 0)
        add("features.cooperative_matrices", "needs m, n and k", i);
    }
  }

  void checkRowBuckets() {
    const auto &buckets = target.plan().row_buckets();
    if (buckets.empty())
      return add("plan.row_buckets", "is required");
    if (buckets[0] != 1)
      add("plan.row_buckets", "must begin with 1, for decode");
    for (int i = 1; i < buckets.size(); ++i)
      if (buckets[i] <= buckets[i - 1])
        add("plan.row_buckets", "must rise", i);
  }

  void checkPlan() {
    checkNumber("performance.compute_units",
                target.performance().has_compute_units(),
                target.performance().compute_units(), 1);
    checkRowBuckets();
    const auto &plan = target.plan();
    if (plan.kv_type() == description::ELEMENT_TYPE_UNKNOWN)
      add("plan.kv_type", "is required");
    if (plan.activations() == description::I8)
      add("plan.activations", "is I8, allowed are F32 and F16");
    if (plan.prefill_activations() == description::F16 &&
        !offersF16Matrix(target.features()))
      add("plan.prefill_activations",
          "is F16, which needs features.f16_arithmetic and a "
          "features.cooperative_matrices of f16 with m, n and k 16");
    if (plan.prefill_activations() == description::I8 &&
        !target.features().int_dot())
      add("plan.prefill_activations", "is I8, which needs features.int_dot");
    if (plan.kv_type() == description::F16 && !target.features().f16_storage())
      add("plan.kv_type", "is F16, which needs features.f16_storage");
    checkNumber("plan.max_unroll", plan.has_max_unroll(), plan.max_unroll(), 4,
                1024);
    if (plan.has_decode_steps_per_submit())
      checkNumber("plan.decode_steps_per_submit", /*isPresent=*/true,
                  plan.decode_steps_per_submit(), 1, 16);
  }

  void checkQuirks() {
    const auto &known = getKnownQuirks();
    const auto &quirks = target.quirks();
    for (int i = 0; i < quirks.size(); ++i) {
      if (quirks[i].source().empty())
        add("quirks", "needs a source", i);
      if (std::find(known.begin(), known.end(), quirks[i].name()) !=
          known.end())
        continue;
      std::string allowed;
      for (const std::string &name : known)
        allowed += (allowed.empty() ? "" : ", ") + name;
      add("quirks", "has name '" + quirks[i].name() + "'; allowed: " + allowed,
          i);
    }
  }

  const Target &target;
  std::vector<Finding> findings;
};

} // namespace

const std::vector<std::string> &getKnownQuirks() {
  static const std::vector<std::string> kNames = {
      "clamp_tanh",
      "no_clustered_subgroups",
      "no_early_exit",
      "no_robust_access",
      "no_square_workgroups",
      "no_subgroup_reduction",
      "no_subgroup_shuffle_in_gemm",
      "no_unused_bindings",
      "no_workgroup_staging",
  };
  return kNames;
}

std::vector<Finding> checkDescription(const Target &description) {
  return Checker(description).run();
}

} // namespace llmc::targets
