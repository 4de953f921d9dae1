// SPDX-License-Identifier: Apache-2.0
//
// One rule, one wrong manifest: a right one is changed in one place, and the
// refusal has to name that place.

#include "runtime/format/ManifestValidator.h"

#include <gtest/gtest.h>

#include <functional>

namespace llmc::format {
namespace {

constexpr uint64_t kFileSize = 20000;

void setSlice(Slice *slice, uint32_t buffer, uint64_t offset, uint64_t range) {
  slice->set_buffer(buffer);
  slice->set_offset(offset);
  slice->set_range(range);
}

void setPort(Port *port, const char *name, uint32_t buffer, uint64_t offset) {
  port->set_name(name);
  port->set_element_type("f32");
  setSlice(port->mutable_slice(), buffer, offset, 64);
  port->set_row_elements(3);
  port->set_row_bytes(16);
}

void addSection(Manifest &manifest, Section::Kind kind, uint64_t offset) {
  Section *section = manifest.add_sections();
  section->set_kind(kind);
  section->set_offset(offset);
  section->set_size(100);
}

void addKernelAndEntry(Variant &variant) {
  Kernel *kernel = variant.add_kernels();
  kernel->set_name("k");
  kernel->set_code_section(1);
  kernel->set_code_offset(20);
  kernel->set_code_size(80);
  kernel->set_num_bindings(2);
  for (const uint32_t extent : {8, 4, 2})
    kernel->add_workgroup(extent);
  kernel->set_workgroup_memory_bytes(1024);
  Entry *entry = variant.add_entries();
  entry->set_function("f");
  entry->set_rows(4);
  Dispatch *dispatch = entry->add_commands()->mutable_dispatch();
  setSlice(dispatch->add_bindings(), 0, 128, 128);
  setSlice(dispatch->add_bindings(), 1, 0, 512);
  for (const uint32_t groups : {1, 65535, 2})
    dispatch->add_groups(groups);
  entry->add_commands()->mutable_barrier();
  setSlice(entry->mutable_step(), 2, 0, 64);
  setPort(entry->add_inputs(), "in", 2, 64);
  setPort(entry->add_outputs(), "out", 3, 0);
}

/// One case on the variant's own program.
void addSelfTest(Variant &variant) {
  SelfTest test;
  *test.mutable_program()->mutable_buffers() = variant.buffers();
  *test.mutable_program()->mutable_entries() = variant.entries();
  SelfTestCase *one = test.add_cases();
  SelfTestStep *step = one->add_steps();
  step->set_rows(2);
  IndexInput *indices = step->add_indices();
  for (int32_t value : {1, 2, 3, 4, 5, 6})
    indices->add_values(value);
  Expectation *expected = one->add_expectations();
  expected->set_rows(2);
  expected->set_block(4);
  for (float sum : {1.0f, 2.0f})
    expected->add_sums(sum);
  *variant.mutable_self_test() = test;
}

Manifest rightManifest() {
  Manifest manifest;
  addSection(manifest, Section::WEIGHT, 4096);
  addSection(manifest, Section::CODE, 8192);
  Variant *variant = manifest.add_variants();
  variant->mutable_target()->set_name("t");
  variant->mutable_target()->set_max_workgroup_invocations(64);
  variant->mutable_target()->set_workgroup_memory_bytes(1024);
  variant->mutable_target()->set_max_storage_buffer_range(512);
  const std::pair<Buffer::Kind, uint64_t> buffers[] = {{Buffer::WEIGHTS, 256},
                                                       {Buffer::ARENA, 512},
                                                       {Buffer::STEP, 128},
                                                       {Buffer::OUTPUT, 64}};
  for (const auto &[kind, size] : buffers) {
    variant->add_buffers()->set_kind(kind);
    variant->mutable_buffers(variant->buffers_size() - 1)->set_size(size);
  }
  WeightPlacement *placement = variant->add_weights();
  placement->set_section(0);
  placement->set_buffer(0);
  placement->set_offset(156);
  addKernelAndEntry(*variant);
  addSelfTest(*variant);
  return manifest;
}

struct WrongManifest {
  const char *field; // that the refusal begins with
  std::function<void(Manifest &)> change;
};

Variant &variantOf(Manifest &m) { return *m.mutable_variants(0); }
Kernel &kernelOf(Manifest &m) { return *variantOf(m).mutable_kernels(0); }
Entry &entryOf(Manifest &m) { return *variantOf(m).mutable_entries(0); }
Dispatch &dispatchOf(Manifest &m) {
  return *entryOf(m).mutable_commands(0)->mutable_dispatch();
}
Slice &bindingOf(Manifest &m) { return *dispatchOf(m).mutable_bindings(0); }
Port &inputOf(Manifest &m) { return *entryOf(m).mutable_inputs(0); }
Section &sectionOf(Manifest &m, int i) { return *m.mutable_sections(i); }
WeightPlacement &placementOf(Manifest &m) {
  return *variantOf(m).mutable_weights(0);
}
Variant &testProgramOf(Manifest &m) {
  return *variantOf(m).mutable_self_test()->mutable_program();
}
SelfTestCase &caseOf(Manifest &m) {
  return *variantOf(m).mutable_self_test()->mutable_cases(0);
}
SelfTestStep &stepOf(Manifest &m) { return *caseOf(m).mutable_steps(0); }
Expectation &expectationOf(Manifest &m) {
  return *caseOf(m).mutable_expectations(0);
}

const WrongManifest kWrongManifests[] = {
    {"sections[0].kind", [](Manifest &m) { sectionOf(m, 0).clear_kind(); }},
    {"sections[0].offset",
     [](Manifest &m) { sectionOf(m, 0).set_offset(4097); }},
    {"sections[0].offset", [](Manifest &m) { sectionOf(m, 0).set_offset(0); }},
    {"sections[0].size", [](Manifest &m) { sectionOf(m, 0).set_size(0); }},
    {"sections[1]", [](Manifest &m) { sectionOf(m, 1).set_offset(20480); }},
    {"sections[1]", [](Manifest &m) { sectionOf(m, 1).set_size(UINT64_MAX); }},
    {"sections[1].offset",
     [](Manifest &m) { sectionOf(m, 1).set_offset(4096); }},
    {"variants ", [](Manifest &m) { m.clear_variants(); }},
    {"variants[0].target.decode_steps_per_submit",
     [](Manifest &m) {
       variantOf(m).mutable_target()->set_decode_steps_per_submit(17);
     }},
    {"variants[0].target.name",
     [](Manifest &m) { variantOf(m).clear_target(); }},
    {"variants[0].buffers[1].kind",
     [](Manifest &m) { variantOf(m).mutable_buffers(1)->clear_kind(); }},
    {"variants[0].buffers[1].size",
     [](Manifest &m) { variantOf(m).mutable_buffers(1)->set_size(0); }},
    {"variants[0].buffers[1].size",
     [](Manifest &m) { variantOf(m).mutable_buffers(1)->set_size(511); }},
    {"variants[0].buffers[1].size",
     [](Manifest &m) {
       variantOf(m).mutable_buffers(1)->set_size(uint64_t{1} << 41);
     }},
    {"variants[0].weights[0].section",
     [](Manifest &m) { placementOf(m).set_section(2); }},
    {"variants[0].weights[0].section",
     [](Manifest &m) { placementOf(m).set_section(1); }},
    {"variants[0].weights[0].buffer",
     [](Manifest &m) { placementOf(m).set_buffer(4); }},
    {"variants[0].weights[0].buffer",
     [](Manifest &m) { placementOf(m).set_buffer(1); }},
    {"variants[0].weights[0] is",
     [](Manifest &m) { placementOf(m).set_offset(160); }},
    {"variants[0].weights[0].offset",
     [](Manifest &m) { placementOf(m).set_offset(1); }},
    {"variants[0].weights[0] is",
     [](Manifest &m) { placementOf(m).set_offset(UINT64_MAX - 3); }},
    {"variants[0].kernels[0].name",
     [](Manifest &m) { kernelOf(m).clear_name(); }},
    {"variants[0].kernels[0].code_section",
     [](Manifest &m) { kernelOf(m).set_code_section(0); }},
    {"variants[0].kernels[0].code_section",
     [](Manifest &m) { kernelOf(m).set_code_section(9); }},
    {"variants[0].kernels[0].code_offset",
     [](Manifest &m) { kernelOf(m).set_code_offset(18); }},
    {"variants[0].kernels[0].code_size",
     [](Manifest &m) { kernelOf(m).set_code_size(78); }},
    {"variants[0].kernels[0].code_size",
     [](Manifest &m) { kernelOf(m).set_code_size(16); }},
    {"variants[0].kernels[0].code is",
     [](Manifest &m) { kernelOf(m).set_code_size(84); }},
    {"variants[0].kernels[0].num_bindings",
     [](Manifest &m) { kernelOf(m).set_num_bindings(0); }},
    {"variants[0].kernels[0].num_bindings",
     [](Manifest &m) { kernelOf(m).set_num_bindings(65); }},
    {"variants[0].kernels[0].workgroup's length",
     [](Manifest &m) { kernelOf(m).add_workgroup(1); }},
    {"variants[0].kernels[0].workgroup is",
     [](Manifest &m) { kernelOf(m).set_workgroup(0, 0); }},
    {"variants[0].kernels[0].workgroup's product",
     [](Manifest &m) { kernelOf(m).set_workgroup(0, 9); }},
    {"variants[0].kernels[0].workgroup_memory_bytes",
     [](Manifest &m) { kernelOf(m).set_workgroup_memory_bytes(1025); }},
    {"variants[0].entries ", [](Manifest &m) { variantOf(m).clear_entries(); }},
    {"variants[0].entries[0].function",
     [](Manifest &m) { entryOf(m).clear_function(); }},
    {"variants[0].entries[0].rows",
     [](Manifest &m) { entryOf(m).set_rows(0); }},
    {"variants[0].entries[0].rows",
     [](Manifest &m) { entryOf(m).set_rows(UINT32_MAX); }},
    {"variants[0].entries[0].step",
     [](Manifest &m) { entryOf(m).clear_step(); }},
    {"variants[0].entries[0].step.buffer",
     [](Manifest &m) { entryOf(m).mutable_step()->set_buffer(1); }},
    {"variants[0].entries[0].step.range",
     [](Manifest &m) { entryOf(m).mutable_step()->set_range(60); }},
    {"variants[0].entries[0].commands[1]",
     [](Manifest &m) { entryOf(m).mutable_commands(1)->clear_barrier(); }},
    {"variants[0].entries[0].commands[0].dispatch.kernel",
     [](Manifest &m) { dispatchOf(m).set_kernel(1); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings' number",
     [](Manifest &m) { dispatchOf(m).mutable_bindings()->RemoveLast(); }},
    {"variants[0].entries[0].commands[0].dispatch.groups' length",
     [](Manifest &m) { dispatchOf(m).mutable_groups()->RemoveLast(); }},
    {"variants[0].entries[0].commands[0].dispatch.groups is",
     [](Manifest &m) { dispatchOf(m).set_groups(1, 0); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[0].buffer",
     [](Manifest &m) { bindingOf(m).set_buffer(4); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[0].offset",
     [](Manifest &m) { bindingOf(m).set_offset(2); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[0].range",
     [](Manifest &m) { bindingOf(m).set_range(0); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[0] is",
     [](Manifest &m) { bindingOf(m).set_offset(132); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[0] is",
     [](Manifest &m) { bindingOf(m).set_offset(UINT64_MAX - 127); }},
    {"variants[0].entries[0].commands[0].dispatch.bindings[1].range",
     [](Manifest &m) {
       variantOf(m).mutable_target()->set_max_storage_buffer_range(508);
     }},
    {"variants[0].entries[0].inputs[0].name",
     [](Manifest &m) { inputOf(m).clear_name(); }},
    {"variants[0].entries[0].inputs[0].element_type",
     [](Manifest &m) { inputOf(m).set_element_type("f16"); }},
    {"variants[0].entries[0].inputs[0].slice.buffer",
     [](Manifest &m) { inputOf(m).mutable_slice()->set_buffer(3); }},
    {"variants[0].entries[0].inputs[0].slice is",
     [](Manifest &m) { inputOf(m).mutable_slice()->set_range(80); }},
    {"variants[0].entries[0].inputs[0].row_bytes",
     [](Manifest &m) { inputOf(m).set_row_bytes(0); }},
    {"variants[0].entries[0].inputs[0].row_bytes",
     [](Manifest &m) { inputOf(m).set_row_bytes(14); }},
    {"variants[0].entries[0].inputs[0].row_bytes",
     [](Manifest &m) { inputOf(m).set_row_bytes(68); }},
    {"variants[0].entries[0].inputs[0].row_elements",
     [](Manifest &m) { inputOf(m).set_row_elements(5); }},
    {"variants[0].entries[0].inputs[0].row_elements",
     [](Manifest &m) { inputOf(m).set_row_elements(0); }},
    {"variants[0].entries[0].inputs[0].slice.range",
     [](Manifest &m) { inputOf(m).set_row_bytes(24); }},
    {"variants[0].entries[0].outputs[0].slice.buffer",
     [](Manifest &m) { setPort(entryOf(m).mutable_outputs(0), "out", 2, 0); }},
    {"variants[0].self_test.program.buffers[0]",
     [](Manifest &m) { testProgramOf(m).mutable_buffers(0)->set_size(260); }},
    {"variants[0].self_test.program.buffers[1]",
     [](Manifest &m) {
       testProgramOf(m).mutable_buffers(1)->set_kind(Buffer::WEIGHTS);
     }},
    {"variants[0].self_test.program.entries ",
     [](Manifest &m) { testProgramOf(m).clear_entries(); }},
    {"variants[0].self_test.program.entries[0].commands[0].dispatch.kernel",
     [](Manifest &m) {
       testProgramOf(m)
           .mutable_entries(0)
           ->mutable_commands(0)
           ->mutable_dispatch()
           ->set_kernel(1);
     }},
    {"variants[0].self_test.cases[0].entry",
     [](Manifest &m) { caseOf(m).set_entry(1); }},
    {"variants[0].self_test.cases[0].steps ",
     [](Manifest &m) { caseOf(m).clear_steps(); }},
    {"variants[0].self_test.cases[0].steps[0].rows",
     [](Manifest &m) { stepOf(m).set_rows(5); }},
    {"variants[0].self_test.cases[0].steps[0].position",
     [](Manifest &m) { stepOf(m).set_position(UINT32_MAX); }},
    {"variants[0].self_test.cases[0].steps[0].indices[0].input",
     [](Manifest &m) { stepOf(m).mutable_indices(0)->set_input(1); }},
    {"variants[0].self_test.cases[0].steps[0].indices[0].values' number",
     [](Manifest &m) { stepOf(m).mutable_indices(0)->add_values(7); }},
    {"variants[0].self_test.cases[0].steps[0].indices[0].values' rows",
     [](Manifest &m) {
       for (int i = 0; i < 9; ++i)
         stepOf(m).mutable_indices(0)->add_values(7);
     }},
    {"variants[0].self_test.cases[0].expectations[0].output",
     [](Manifest &m) { expectationOf(m).set_output(1); }},
    {"variants[0].self_test.cases[0].expectations[0].rows",
     [](Manifest &m) { expectationOf(m).set_rows(5); }},
    {"variants[0].self_test.cases[0].expectations[0].block",
     [](Manifest &m) { expectationOf(m).set_block(0); }},
    {"variants[0].self_test.cases[0].expectations[0].sums' number",
     [](Manifest &m) { expectationOf(m).add_sums(0); }},
};

TEST(ManifestValidator, acceptsARightManifest) {
  const Status status = validateManifest(rightManifest(), kFileSize);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(ManifestValidator, namesTheWrongField) {
  for (const WrongManifest &wrong : kWrongManifests) {
    Manifest manifest = rightManifest();
    wrong.change(manifest);
    const Status status = validateManifest(manifest, kFileSize);
    EXPECT_EQ(status.code(), StatusCode::InvalidFile) << wrong.field;
    EXPECT_EQ(status.message().rfind(wrong.field, 0), 0u)
        << "expected " << wrong.field << ", got " << status.message();
    EXPECT_NE(status.message().find("allowed is"), std::string::npos);
  }
}

} // namespace
} // namespace llmc::format
