// SPDX-License-Identifier: Apache-2.0
//
// SelfTestModel.h.

#include "test/unit/runtime/session/SelfTestModel.h"

#include "runtime/format/SelfTestFormula.h"

namespace llmc::test {

void addSelfTestCase(format::Variant &variant, uint32_t forwardRows) {
  format::SelfTest &test = *variant.mutable_self_test();
  *test.mutable_program()->mutable_buffers() = variant.buffers();
  format::Entry &entry = *test.mutable_program()->add_entries();
  for (const format::Entry &part : variant.entries())
    if (part.rows() == (part.function() == "forward" ? forwardRows : 2u)) {
      entry.MergeFrom(part);
      entry.add_commands()->mutable_barrier();
    }
  entry.set_function("selftest");
  entry.set_rows(2);
  // Logits read the step words of forward.
  *entry.mutable_step() = variant.entries(0).step();
  for (format::Command &command : *entry.mutable_commands())
    if (command.has_dispatch())
      *command.mutable_dispatch()->mutable_bindings(0) = entry.step();
  format::SelfTestCase &one = *test.add_cases();
  one.set_entry(static_cast<uint32_t>(test.program().entries_size()) - 1);
  format::SelfTestStep &step = *one.add_steps();
  step.set_rows(2);
  format::IndexInput &tokens = *step.add_indices();
  for (const int32_t token : {3, 4})
    tokens.add_values(token);
  const float logits[] = {3, 6, 9, -12, 1.5f, 7, 14, 21, -28, 3.5f};
  format::Expectation &expected = *one.add_expectations();
  expected.set_rows(2);
  expected.set_block(4);
  expected.set_tolerance(1e-3f);
  for (size_t block = 0; block < 3; ++block)
    expected.add_sums(
        static_cast<float>(format::selfTestSum(logits, 10, 4, block)));
}

Bytes setSpecialCode(ModuleFile &file, format::Variant &variant, int number) {
  format::Kernel &kernel = *variant.mutable_kernels(number);
  Bytes code =
      readBytes(std::string(LLMC_KERNEL_FOLDER) + "/" + kernel.name() + ".spv");
  code.resize(code.size() + 4);
  kernel.set_code_section(
      file.addSection(format::Section::CODE, "special", code));
  kernel.set_code_size(code.size());
  return code;
}

} // namespace llmc::test
