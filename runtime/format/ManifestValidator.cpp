// SPDX-License-Identifier: Apache-2.0
//
// ManifestValidator.h, one class for the walk: each method checks one message
// and knows its path.

#include "runtime/format/ManifestValidator.h"

#include "runtime/format/FileHeader.h"

#include <algorithm>
#include <string>

namespace llmc::format {

namespace {

/// In a submission.
constexpr uint64_t kMostDecodeSteps = 16;

std::string indexed(const std::string &path, int index) {
  return path + "[" + std::to_string(index) + "]";
}

Status invalid(const std::string &field, const std::string &found,
               const std::string &allowed) {
  return Status(StatusCode::InvalidFile,
                field + " is " + found + ", allowed is " + allowed);
}

Status checkRange(const std::string &field, uint64_t found, uint64_t least,
                  uint64_t most) {
  if (found >= least && found <= most)
    return okStatus();
  return invalid(field, std::to_string(found),
                 std::to_string(least) + " to " + std::to_string(most));
}

Status checkIndex(const std::string &field, uint64_t found, int count) {
  if (found < static_cast<uint64_t>(count))
    return okStatus();
  const std::string allowed =
      count ? "0 to " + std::to_string(count - 1) : "none, the list is empty";
  return invalid(field, std::to_string(found), allowed);
}

Status checkMultiple(const std::string &field, uint64_t found, uint64_t unit) {
  if (found % unit == 0)
    return okStatus();
  return invalid(field, std::to_string(found),
                 "a multiple of " + std::to_string(unit));
}

/// [offset, offset + size) inside of `whole` bytes, without overflow.
Status checkInside(const std::string &field, uint64_t offset, uint64_t size,
                   uint64_t whole, const std::string &ofWhat) {
  if (offset <= whole && size <= whole - offset)
    return okStatus();
  return invalid(
      field, std::to_string(size) + " bytes at " + std::to_string(offset),
      "inside of " + ofWhat + " of " + std::to_string(whole) + " bytes");
}

Status checkNotEmpty(const std::string &field, const std::string &text) {
  return text.empty() ? invalid(field, "empty", "a name") : okStatus();
}

class Validator {
public:
  Validator(const Manifest &manifest, uint64_t fileSize)
      : manifest(manifest), fileSize(fileSize) {}

  Status run() const {
    LLMC_RETURN_IF_ERROR(checkSections());
    if (manifest.variants_size() == 0)
      return invalid("variants", "empty", "at least one");
    for (int i = 0; i < manifest.variants_size(); ++i)
      LLMC_RETURN_IF_ERROR(
          checkVariant(indexed("variants", i), manifest.variants(i)));
    return okStatus();
  }

private:
  Status checkSections() const {
    uint64_t end = kFileHeaderBytes;
    for (int i = 0; i < manifest.sections_size(); ++i) {
      const Section &section = manifest.sections(i);
      const std::string path = indexed("sections", i);
      if (section.kind() != Section::WEIGHT && section.kind() != Section::CODE)
        return invalid(path + ".kind", std::to_string(section.kind()),
                       "1 (weight) or 2 (code)");
      LLMC_RETURN_IF_ERROR(
          checkMultiple(path + ".offset", section.offset(), kSectionAlignment));
      LLMC_RETURN_IF_ERROR(checkInside(path, section.offset(), section.size(),
                                       fileSize, "the file"));
      if (section.size() == 0)
        return invalid(path + ".size", "0", "at least 1");
      if (section.offset() < end)
        return invalid(path + ".offset", std::to_string(section.offset()),
                       "at least " + std::to_string(end) +
                           ", the end of what lies before");
      end = section.offset() + section.size();
    }
    return okStatus();
  }

  Status checkVariant(const std::string &path, const Variant &variant) const {
    LLMC_RETURN_IF_ERROR(
        checkNotEmpty(path + ".target.name", variant.target().name()));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".target.decode_steps_per_submit",
                                    variant.target().decode_steps_per_submit(),
                                    0, kMostDecodeSteps));
    LLMC_RETURN_IF_ERROR(checkBuffers(path, variant));
    for (int i = 0; i < variant.weights_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkPlacement(indexed(path + ".weights", i),
                                          variant, variant.weights(i)));
    for (int i = 0; i < variant.kernels_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkKernel(indexed(path + ".kernels", i), variant,
                                       variant.kernels(i)));
    LLMC_RETURN_IF_ERROR(checkEntries(path, {variant, variant}));
    return variant.has_self_test() ? checkSelfTest(path + ".self_test", variant)
                                   : okStatus();
  }

  static Status checkBuffers(const std::string &path, const Variant &variant) {
    for (int i = 0; i < variant.buffers_size(); ++i) {
      const std::string field = indexed(path + ".buffers", i);
      const Buffer &buffer = variant.buffers(i);
      LLMC_RETURN_IF_ERROR(checkRange(
          field + ".kind", static_cast<uint64_t>(buffer.kind()), 1, 5));
      LLMC_RETURN_IF_ERROR(
          checkRange(field + ".size", buffer.size(), 1, kMaxBufferBytes));
      LLMC_RETURN_IF_ERROR(
          checkMultiple(field + ".size", buffer.size(), kSliceAlignment));
    }
    return okStatus();
  }

  Status checkPlacement(const std::string &path, const Variant &variant,
                        const WeightPlacement &placement) const {
    LLMC_RETURN_IF_ERROR(checkIndex(path + ".section", placement.section(),
                                    manifest.sections_size()));
    LLMC_RETURN_IF_ERROR(checkIndex(path + ".buffer", placement.buffer(),
                                    variant.buffers_size()));
    const Section &section =
        manifest.sections(static_cast<int>(placement.section()));
    const Buffer &buffer =
        variant.buffers(static_cast<int>(placement.buffer()));
    if (section.kind() != Section::WEIGHT)
      return invalid(path + ".section", "a section of code",
                     "a section of weights");
    if (buffer.kind() != Buffer::WEIGHTS)
      return invalid(path + ".buffer",
                     "a buffer of kind " + std::to_string(buffer.kind()),
                     "one of weights");
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".offset", placement.offset(), kSliceAlignment));
    return checkInside(path, placement.offset(), section.size(), buffer.size(),
                       "its buffer");
  }

  Status checkKernel(const std::string &path, const Variant &variant,
                     const Kernel &kernel) const {
    LLMC_RETURN_IF_ERROR(checkNotEmpty(path + ".name", kernel.name()));
    LLMC_RETURN_IF_ERROR(checkIndex(path + ".code_section",
                                    kernel.code_section(),
                                    manifest.sections_size()));
    const Section &section =
        manifest.sections(static_cast<int>(kernel.code_section()));
    if (section.kind() != Section::CODE)
      return invalid(path + ".code_section", "a section of weights",
                     "a section of code");
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".code_offset", kernel.code_offset(), 4));
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".code_size", kernel.code_size(), 4));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".code_size", kernel.code_size(), 20,
                                    uint64_t{1} << 28));
    LLMC_RETURN_IF_ERROR(checkInside(path + ".code", kernel.code_offset(),
                                     kernel.code_size(), section.size(),
                                     "its section"));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".num_bindings",
                                    kernel.num_bindings(), 1, kMaxBindings));
    return checkWorkgroup(path, variant, kernel);
  }

  static Status checkWorkgroup(const std::string &path, const Variant &variant,
                               const Kernel &kernel) {
    const TargetInfo &target = variant.target();
    const uint32_t most = target.max_workgroup_invocations()
                              ? target.max_workgroup_invocations()
                              : kMaxWorkgroupInvocations;
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".workgroup's length",
                   static_cast<uint64_t>(kernel.workgroup_size()), 3, 3));
    uint64_t invocations = 1;
    for (uint32_t extent : kernel.workgroup()) {
      LLMC_RETURN_IF_ERROR(checkRange(path + ".workgroup", extent, 1, most));
      invocations *= extent;
    }
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".workgroup's product", invocations, 1, most));
    if (target.workgroup_memory_bytes() == 0)
      return okStatus();
    return checkRange(path + ".workgroup_memory_bytes",
                      kernel.workgroup_memory_bytes(), 0,
                      target.workgroup_memory_bytes());
  }

  /// Entries and buffers of `body` dispatch the kernels of `owner`: the same
  /// variant, or the one whose kernels a self-test runs.
  struct Program {
    const Variant &body;
    const Variant &owner;
  };

  static Status checkEntries(const std::string &path, const Program &program) {
    if (program.body.entries_size() == 0)
      return invalid(path + ".entries", "empty", "at least one");
    for (int i = 0; i < program.body.entries_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkEntry(indexed(path + ".entries", i), program,
                                      program.body.entries(i)));
    return okStatus();
  }

  static Status checkEntry(const std::string &path, const Program &program,
                           const Entry &entry) {
    const Variant &body = program.body;
    LLMC_RETURN_IF_ERROR(checkNotEmpty(path + ".function", entry.function()));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".rows", entry.rows(), 1, kMaxRows));
    if (!entry.has_step())
      return invalid(path + ".step", "absent", "a slice of a step buffer");
    LLMC_RETURN_IF_ERROR(
        checkSlice(path + ".step", body, entry.step(), Buffer::STEP));
    if (entry.step().range() < kStepBytes)
      return invalid(path + ".step.range", std::to_string(entry.step().range()),
                     "at least " + std::to_string(kStepBytes));
    for (int i = 0; i < entry.commands_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkCommand(indexed(path + ".commands", i), program,
                                        entry.commands(i)));
    for (int i = 0; i < entry.inputs_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkPort(indexed(path + ".inputs", i), body,
                                     entry.inputs(i), Buffer::STEP));
    for (int i = 0; i < entry.outputs_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkPort(indexed(path + ".outputs", i), body,
                                     entry.outputs(i), Buffer::OUTPUT));
    return okStatus();
  }

  static Status checkCommand(const std::string &path, const Program &program,
                             const Command &command) {
    if (command.act_case() == Command::kBarrier)
      return okStatus();
    if (command.act_case() != Command::kDispatch)
      return invalid(path, "neither dispatch nor barrier", "one of them");
    const Dispatch &dispatch = command.dispatch();
    const std::string field = path + ".dispatch";
    LLMC_RETURN_IF_ERROR(checkIndex(field + ".kernel", dispatch.kernel(),
                                    program.owner.kernels_size()));
    const Kernel &kernel =
        program.owner.kernels(static_cast<int>(dispatch.kernel()));
    LLMC_RETURN_IF_ERROR(
        checkRange(field + ".bindings' number",
                   static_cast<uint64_t>(dispatch.bindings_size()),
                   kernel.num_bindings(), kernel.num_bindings()));
    LLMC_RETURN_IF_ERROR(
        checkRange(field + ".groups' length",
                   static_cast<uint64_t>(dispatch.groups_size()), 3, 3));
    for (uint32_t groups : dispatch.groups())
      LLMC_RETURN_IF_ERROR(
          checkRange(field + ".groups", groups, 1, UINT32_MAX));
    const uint64_t mostRange =
        program.owner.target().max_storage_buffer_range();
    for (int i = 0; i < dispatch.bindings_size(); ++i) {
      const std::string binding = indexed(field + ".bindings", i);
      LLMC_RETURN_IF_ERROR(checkSlice(binding, program.body,
                                      dispatch.bindings(i), Buffer::UNKNOWN));
      if (mostRange)
        LLMC_RETURN_IF_ERROR(checkRange(
            binding + ".range", dispatch.bindings(i).range(), 1, mostRange));
    }
    return okStatus();
  }

  /// Buffers of weights are the variant's own: the same ones, in the same
  /// places of the list.
  static Status checkSelfTest(const std::string &path, const Variant &variant) {
    const Variant &body = variant.self_test().program();
    const std::string program = path + ".program";
    LLMC_RETURN_IF_ERROR(checkBuffers(program, body));
    for (int i = 0; i < body.buffers_size(); ++i)
      if (body.buffers(i).kind() == Buffer::WEIGHTS &&
          (i >= variant.buffers_size() ||
           variant.buffers(i).kind() != Buffer::WEIGHTS ||
           variant.buffers(i).size() != body.buffers(i).size()))
        return invalid(indexed(program + ".buffers", i), "one of weights",
                       "such only where the variant has the same");
    LLMC_RETURN_IF_ERROR(checkEntries(program, {body, variant}));
    for (int i = 0; i < variant.self_test().cases_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkCase(indexed(path + ".cases", i), body,
                                     variant.self_test().cases(i)));
    return okStatus();
  }

  static Status checkCase(const std::string &path, const Variant &body,
                          const SelfTestCase &test) {
    LLMC_RETURN_IF_ERROR(
        checkIndex(path + ".entry", test.entry(), body.entries_size()));
    const Entry &entry = body.entries(static_cast<int>(test.entry()));
    if (test.steps_size() == 0)
      return invalid(path + ".steps", "empty", "at least one");
    for (int i = 0; i < test.steps_size(); ++i)
      LLMC_RETURN_IF_ERROR(
          checkStep(indexed(path + ".steps", i), entry, test.steps(i)));
    for (int i = 0; i < test.expectations_size(); ++i)
      LLMC_RETURN_IF_ERROR(checkExpectation(indexed(path + ".expectations", i),
                                            entry, test.expectations(i)));
    return okStatus();
  }

  static Status checkStep(const std::string &path, const Entry &entry,
                          const SelfTestStep &step) {
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".rows", step.rows(), 1, entry.rows()));
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".position", step.position(), 0, INT32_MAX));
    for (int i = 0; i < step.indices_size(); ++i) {
      const IndexInput &given = step.indices(i);
      const std::string field = indexed(path + ".indices", i);
      LLMC_RETURN_IF_ERROR(
          checkIndex(field + ".input", given.input(), entry.inputs_size()));
      const Port &port = entry.inputs(static_cast<int>(given.input()));
      const auto count = static_cast<uint64_t>(given.values_size());
      LLMC_RETURN_IF_ERROR(
          checkMultiple(field + ".values' number", count, port.row_elements()));
      LLMC_RETURN_IF_ERROR(checkRange(field + ".values' rows",
                                      count / port.row_elements(), 0,
                                      port.slice().range() / port.row_bytes()));
    }
    return okStatus();
  }

  static Status checkExpectation(const std::string &path, const Entry &entry,
                                 const Expectation &expected) {
    LLMC_RETURN_IF_ERROR(
        checkIndex(path + ".output", expected.output(), entry.outputs_size()));
    const Port &port = entry.outputs(static_cast<int>(expected.output()));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".rows", expected.rows(), 1,
                                    port.slice().range() / port.row_bytes()));
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".block", expected.block(), 1, UINT32_MAX));
    const uint64_t count = expected.rows() * port.row_elements();
    const uint64_t sums = (count + expected.block() - 1) / expected.block();
    return checkRange(path + ".sums' number",
                      static_cast<uint64_t>(expected.sums_size()), sums, sums);
  }

  /// `kind`: what the buffer must be; UNKNOWN: any.
  static Status checkSlice(const std::string &path, const Variant &variant,
                           const Slice &slice, Buffer::Kind kind) {
    LLMC_RETURN_IF_ERROR(
        checkIndex(path + ".buffer", slice.buffer(), variant.buffers_size()));
    const Buffer &buffer = variant.buffers(static_cast<int>(slice.buffer()));
    if (kind != Buffer::UNKNOWN && buffer.kind() != kind)
      return invalid(path + ".buffer",
                     "a buffer of kind " + std::to_string(buffer.kind()),
                     "one of kind " + std::to_string(kind));
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".offset", slice.offset(), kSliceAlignment));
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".range", slice.range(), kSliceAlignment));
    LLMC_RETURN_IF_ERROR(
        checkRange(path + ".range", slice.range(), 1, kMaxBufferBytes));
    return checkInside(path, slice.offset(), slice.range(), buffer.size(),
                       "its buffer");
  }

  static Status checkPort(const std::string &path, const Variant &variant,
                          const Port &port, Buffer::Kind kind) {
    LLMC_RETURN_IF_ERROR(checkNotEmpty(path + ".name", port.name()));
    if (port.element_type() != "i32" && port.element_type() != "f32")
      return invalid(path + ".element_type", "'" + port.element_type() + "'",
                     "'i32' or 'f32'");
    LLMC_RETURN_IF_ERROR(
        checkSlice(path + ".slice", variant, port.slice(), kind));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".row_bytes", port.row_bytes(), 4,
                                    port.slice().range()));
    LLMC_RETURN_IF_ERROR(
        checkMultiple(path + ".row_bytes", port.row_bytes(), 4));
    LLMC_RETURN_IF_ERROR(checkRange(path + ".row_elements", port.row_elements(),
                                    1, port.row_bytes() / 4));
    return checkMultiple(path + ".slice.range", port.slice().range(),
                         port.row_bytes());
  }

  const Manifest &manifest;
  uint64_t fileSize;
};

} // namespace

Status validateManifest(const Manifest &manifest, uint64_t fileSize) {
  return Validator(manifest, fileSize).run();
}

} // namespace llmc::format
