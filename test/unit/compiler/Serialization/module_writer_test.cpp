// SPDX-License-Identifier: Apache-2.0
//
// Files written from small programs, read back by the runtime's reader.

#include "compiler/Serialization/ModuleWriter.h"

#include "runtime/format/Reader.h"
#include "test/unit/compiler/Serialization/WriterTest.h"

#include <cstring>
#include <fstream>

using llmc::serialization::TargetProgram;
using llmc::serialization::writeModule;
using llmc::serialization::WriteOptions;
namespace format = llmc::format;

namespace {

/// The model file has 64 floats: 1, 2, 3, ….
class ModuleWriterTest : public llmc::test::WriterTest {
protected:
  void SetUp() override {
    WriterTest::SetUp();
    std::ofstream file(modelPath(), std::ios::binary);
    for (int i = 0; i < 64; ++i) {
      float value = static_cast<float>(i % 32 + 1); // the halves are equal
      file.write(reinterpret_cast<const char *>(&value), 4);
    }
  }

  /// A planned program: kernels @a and @b are equal, @c is not; weights w0 and
  /// w1 have equal bytes, `other` has others. `lastOffset` is where `other`
  /// begins.
  mlir::OwningOpRef<mlir::ModuleOp> program(int64_t maxAllocation = 1 << 30,
                                            int64_t lastOffset = 64) {
    std::string text = R"(
      module attributes {graph.files = ["MODEL"], DEVICE} {
        graph.weight @w0 : tensor<4x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 4>]
        graph.weight @w1 : tensor<4x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 128, rows = 4>]
        graph.weight @other : tensor<4x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = LAST, rows = 4>]
        graph.weight @unused : tensor<1x8x!graph.encoded<f32>> from [#graph.source<file = 0, offset = 0, rows = 1>]
        program.kernel @a "linear" workgroup [32, 1, 1] bindings 3 workgroup_memory 256
          config #graph.lowering_config<"gemv", workgroup = [32, 1, 1], tile = [1, 4, 8], splits = 2, accumulators = 4, registers = 20, arithmetic = f16>
          spirv [119734787, 65536, 1, 2, 3]
        program.kernel @b "linear" workgroup [32, 1, 1] bindings 3 workgroup_memory 256 spirv [119734787, 65536, 1, 2, 3]
        program.kernel @c "copy" workgroup [64, 2, 1] bindings 2 workgroup_memory 0 spirv [119734787, 65536, 1, 2, 4, 5]
        program.entry @forward_r8 "forward" rows 8 arena 512 {
          %step = program.slice step bytes 64 offset 0
          %x = program.slice input "x" bytes 256 offset 64 value tensor<?x5xf32>
          %w = program.slice weight "w0" bytes 512
          %t = program.slice arena bytes 256 offset 256
          %h = program.slice kept "hidden" bytes 320 offset 0 value tensor<?x5xf32>
          %k = program.slice state "blk.0.k" bytes 1024 offset 128
          program.barrier
          program.dispatch @a groups [3, 2, 1](%x, %w, %t) access [1, 1, 2] "linear" loc("blk.0.attn_q")
          program.barrier
          program.dispatch @b groups [1, 1, 1](%t, %step, %h) access [1, 1, 2]
          program.dispatch @c groups [1, 1, 1](%t, %k) access [1, 2]
        }
        program.entry @logits_r2 "logits" rows 2 {
          %h = program.slice kept "hidden" bytes 320 offset 0 value tensor<?x5xf32>
          %w1 = program.slice weight "w1" bytes 512
          %other = program.slice weight "other" bytes 512
          %y = program.slice output "logits" bytes 32 offset 0 value tensor<?x3xf32>
          program.barrier
          program.dispatch @a groups [1, 1, 1](%h, %w1, %y) access [1, 1, 2]
          program.dispatch @a groups [1, 1, 1](%h, %other, %y) access [1, 1, 2]
        }
      })";
    replace(text, "LAST", std::to_string(lastOffset));
    return parse(std::move(text), maxAllocation);
  }

  std::string outputPath() const { return pathOf("model.llmc"); }

  /// What went wrong, or nothing.
  std::string write(std::vector<TargetProgram> programs) {
    WriteOptions options;
    options.path = outputPath();
    options.manifest.set_producer("test");
    auto written = writeModule(programs, options);
    return written ? "" : llvm::toString(written.takeError());
  }

  std::unique_ptr<format::Reader> read() {
    auto reader = format::Reader::open(outputPath());
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    if (!reader.ok())
      return nullptr;
    EXPECT_TRUE((*reader)->verify().ok());
    return std::move(*reader);
  }
};

TEST_F(ModuleWriterTest, WeightsAreStoredOnceForAllTargets) {
  auto module = program();
  ASSERT_TRUE(module);
  ASSERT_EQ(write({{*module, target("one")}, {*module, target("two")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  const format::Manifest &manifest = reader->manifest();
  // w0 and w1 are one section, `unused` is none; each target has its code.
  ASSERT_EQ(manifest.sections_size(), 4);
  EXPECT_EQ(manifest.sections(0).name(), "w0");
  EXPECT_EQ(manifest.sections(0).layout(), "tile16");
  EXPECT_EQ(manifest.sections(0).encoding(), "F32");
  EXPECT_EQ(manifest.sections(0).elements(), 32u);
  EXPECT_EQ(manifest.sections(1).name(), "other");
  EXPECT_EQ(manifest.sections(2).name(), "one");
  EXPECT_EQ(manifest.sections(3).name(), "two");
  ASSERT_EQ(manifest.variants_size(), 2);
  for (const format::Variant &variant : manifest.variants()) {
    ASSERT_EQ(variant.weights_size(), 2);
    // Both entries bind the same bytes under two names.
    const auto &w0 = variant.entries(0).commands(1).dispatch().bindings(1);
    const auto &w1 = variant.entries(1).commands(1).dispatch().bindings(1);
    const auto &other = variant.entries(1).commands(2).dispatch().bindings(1);
    EXPECT_EQ(w0.offset(), w1.offset());
    EXPECT_NE(w0.offset(), other.offset());
    EXPECT_EQ(w0.range(), 512u);
  }
  EXPECT_EQ(numFiles(), 2u); // the model and the output, no temporary file
}

TEST_F(ModuleWriterTest, SectionHoldsThePackedWeight) {
  auto module = program();
  ASSERT_EQ(write({{*module, target("one")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  // f32: a unit of 16 bytes is one column of four rows, quads side by side.
  format::ByteSpan bytes = reader->section(0);
  ASSERT_EQ(bytes.size, 512u); // 16 rows, 8 columns
  float values[128];
  std::memcpy(values, bytes.data, sizeof(values));
  for (int k = 0; k < 8; ++k)
    for (int row = 0; row < 16; ++row)
      EXPECT_EQ(values[k * 16 + row],
                row < 4 ? static_cast<float>(row * 8 + k + 1) : 0.0f);
}

TEST_F(ModuleWriterTest, EqualKernelsAreOne) {
  auto module = program();
  ASSERT_EQ(write({{*module, target("one")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  const format::Variant &variant = reader->manifest().variants(0);
  ASSERT_EQ(variant.kernels_size(), 2);
  const format::Kernel &a = variant.kernels(0), &c = variant.kernels(1);
  EXPECT_EQ(a.code_size(), 20u);
  EXPECT_EQ(c.code_offset(), 20u);
  EXPECT_EQ(c.code_size(), 24u);
  EXPECT_EQ(a.label(), "linear");
  EXPECT_EQ(a.estimate().kind(), "gemv");
  EXPECT_EQ(a.estimate().accumulators(), 4u);
  EXPECT_EQ(a.estimate().registers(), 20u);
  EXPECT_EQ(a.estimate().splits(), 2u);
  EXPECT_EQ(a.estimate().arithmetic(), "f16");
  const auto &commands = variant.entries(0).commands();
  ASSERT_EQ(commands.size(), 5);
  EXPECT_TRUE(commands[0].has_barrier());
  EXPECT_EQ(commands[1].dispatch().kernel(), 0u);
  EXPECT_EQ(commands[1].dispatch().label(), "blk.0.attn_q");
  EXPECT_EQ(commands[1].dispatch().groups(0), 3u);
  EXPECT_TRUE(commands[2].has_barrier());
  EXPECT_EQ(commands[3].dispatch().kernel(), 0u); // @b is @a
  EXPECT_EQ(commands[4].dispatch().kernel(), 1u);
  // What the device must offer follows from the kernels.
  EXPECT_EQ(variant.target().max_workgroup_invocations(), 128u);
  EXPECT_EQ(variant.target().workgroup_memory_bytes(), 256u);
  EXPECT_EQ(variant.target().max_storage_buffer_range(), 1024u);
}

TEST_F(ModuleWriterTest, BuffersAndPorts) {
  auto module = program();
  ASSERT_EQ(write({{*module, target("one")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  const format::Variant &variant = reader->manifest().variants(0);
  ASSERT_EQ(variant.buffers_size(), 5);
  EXPECT_EQ(variant.buffers(0).kind(), format::Buffer::WEIGHTS);
  EXPECT_EQ(variant.buffers(0).size(), 1024u);
  // 512 bytes of arena, then 320 of kept values.
  EXPECT_EQ(variant.buffers(1).kind(), format::Buffer::ARENA);
  EXPECT_EQ(variant.buffers(1).size(), 832u);
  EXPECT_EQ(variant.buffers(2).kind(), format::Buffer::STATE);
  EXPECT_EQ(variant.buffers(2).size(), 128u + 1024u);
  EXPECT_EQ(variant.buffers(3).kind(), format::Buffer::STEP);
  EXPECT_EQ(variant.buffers(3).size(), 64u + 256u);
  EXPECT_EQ(variant.buffers(4).kind(), format::Buffer::OUTPUT);
  EXPECT_EQ(variant.buffers(4).size(), 32u);

  const format::Entry &forward = variant.entries(0);
  EXPECT_EQ(forward.commands(3).dispatch().bindings(2).buffer(), 1u);
  EXPECT_EQ(forward.commands(3).dispatch().bindings(2).offset(), 512u);
  EXPECT_EQ(forward.step().buffer(), 3u);
  ASSERT_EQ(forward.inputs_size(), 1);
  EXPECT_EQ(forward.inputs(0).name(), "x");
  EXPECT_EQ(forward.inputs(0).element_type(), "f32");
  EXPECT_EQ(forward.inputs(0).row_elements(), 5u);
  EXPECT_EQ(forward.inputs(0).row_bytes(), 32u); // 8 floats apart
  EXPECT_EQ(forward.inputs(0).slice().range(), 8 * 32u);
  ASSERT_EQ(forward.outputs_size(), 0); // kept, not put out
  const format::Entry &logits = variant.entries(1);
  ASSERT_EQ(logits.outputs_size(), 1);
  EXPECT_EQ(logits.outputs(0).row_elements(), 3u);
  EXPECT_EQ(logits.outputs(0).slice().range(), 2 * 16u);
}

TEST_F(ModuleWriterTest, WeightsThatExceedAnAllocationGetSeveralBuffers) {
  auto module = program(/*maxAllocation=*/600);
  // What is not cut has to fit: 256 bytes of arena with 320 kept, one state.
  module->walk([](llmc::program::SliceOp slice) {
    if (slice.getStorage() == llmc::program::Storage::Arena)
      slice.setOffset(0);
    if (slice.getStorage() == llmc::program::Storage::State) {
      slice.setOffset(0);
      slice.setBytes(512);
    }
  });
  ASSERT_EQ(write({{*module, target("one")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  const format::Variant &variant = reader->manifest().variants(0);
  EXPECT_EQ(variant.buffers(0).kind(), format::Buffer::WEIGHTS);
  EXPECT_EQ(variant.buffers(1).kind(), format::Buffer::WEIGHTS);
  EXPECT_EQ(variant.weights(0).buffer(), 0u);
  EXPECT_EQ(variant.weights(1).buffer(), 1u);
  EXPECT_EQ(variant.entries(1).commands(2).dispatch().bindings(1).buffer(), 1u);
}

TEST_F(ModuleWriterTest, AnArenaThatExceedsAnAllocationIsRefused) {
  auto module = program(/*maxAllocation=*/600);
  EXPECT_EQ(write({{*module, target("one")}}),
            "a buffer of kind arena takes 832 bytes; target 'one' allocates "
            "at most 600");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(ModuleWriterTest, StatesThatExceedAnAllocationGetSeveralBuffers) {
  // 832 bytes of arena fit, two states of 1024 do not.
  auto module = program(/*maxAllocation=*/1200);
  module->walk([](llmc::program::SliceOp slice) {
    if (slice.getStorage() != llmc::program::Storage::State)
      return;
    mlir::OpBuilder builder(slice);
    auto second = llvm::cast<llmc::program::SliceOp>(
        builder.clone(*slice.getOperation()));
    second.setSymbol("blk.0.v");
    second.setOffset(1152);
  });
  ASSERT_EQ(write({{*module, target("one")}}), "");
  auto reader = read();
  ASSERT_TRUE(reader);
  std::vector<uint64_t> sizes;
  for (const format::Buffer &buffer : reader->manifest().variants(0).buffers())
    if (buffer.kind() == format::Buffer::STATE)
      sizes.push_back(buffer.size());
  EXPECT_EQ(sizes, (std::vector<uint64_t>{1152, 1024}));
}

TEST_F(ModuleWriterTest, ShortModelFileIsRefusedWithoutOutput) {
  auto module = program(/*maxAllocation=*/1 << 30, /*lastOffset=*/132);
  EXPECT_EQ(write({{*module, target("one")}}),
            modelPath() + ": weight 'other' has 128 bytes at offset 132, but "
                          "the file has 256 bytes: it is truncated or not the "
                          "file that was imported");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(ModuleWriterTest, FailureAfterTheFileIsBegunLeavesNothing) {
  auto module = program();
  module->walk(
      [](llmc::program::KernelOp kernel) { kernel.removeSpirvAttr(); });
  EXPECT_EQ(write({{*module, target("one")}}), "kernel 'a' has no SPIR-V");
  EXPECT_EQ(numFiles(), 1u);
}

TEST_F(ModuleWriterTest, MissingFolderIsNamed) {
  auto module = program();
  WriteOptions options;
  options.path = pathOf("absent/model.llmc");
  std::string message = llvm::toString(
      writeModule({{*module, target("one")}}, options).takeError());
  EXPECT_NE(message.find("cannot create '" + options.path + "'"),
            std::string::npos)
      << message;
}

} // namespace
