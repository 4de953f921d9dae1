// SPDX-License-Identifier: Apache-2.0
//
// What tests of written files begin with: a folder, and small programs.

#ifndef LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H
#define LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H

#include "dialects/Graph/Graph.h"
#include "dialects/Program/Program.h"
#include "dialects/Target/Target.h"
#include "runtime/format/manifest.pb.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace llmc::test {

/// A folder of its own, removed behind the test.
class WriterTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("module-writer", path));
    folder = path.str().str();
    context.loadDialect<graph::GraphDialect, program::ProgramDialect,
                        target::TargetDialect>();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string pathOf(const std::string &name) const {
    return folder + "/" + name;
  }
  std::string modelPath() const { return pathOf("model.bin"); }

  /// A module whose text names its model file MODEL and its device DEVICE.
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string text,
                                          int64_t maxAllocation = 1 << 30) {
    replace(text, "MODEL", modelPath());
    replace(text, "DEVICE", R"(
      target.device = #target.device<name = "test", family = generic,
          subgroup_size = 0, max_invocations = 128, max_workgroup_size = [128, 128, 64],
          max_workgroup_count = [65535, 65535, 65535], workgroup_memory_bytes = 16384, workgroup_memory_on_chip = false,
          registers_full_occupancy = 32, registers_max = 64, compute_units = 1, buffer_alignment = 64,
          max_buffer_range = 134217728, max_allocation = ALLOCATION, max_push_constant_bytes = 128, spirv_minor = 3,
          vulkan_minor = 1, max_unroll = 16, row_buckets = [1, 8], kv_type = "f32", features = [], quirks = []>)");
    replace(text, "ALLOCATION", std::to_string(maxAllocation));
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  static void replace(std::string &text, const std::string &what,
                      const std::string &with) {
    text.replace(text.find(what), what.size(), with);
  }

  static format::TargetInfo target(const std::string &name) {
    format::TargetInfo info;
    info.set_name(name);
    return info;
  }

  size_t numFiles() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto &entry :
         std::filesystem::directory_iterator(folder))
      ++count;
    return count;
  }

private:
  std::string folder;
  mlir::MLIRContext context;
};

} // namespace llmc::test

#endif // LLMC_TEST_UNIT_COMPILER_SERIALIZATION_WRITERTEST_H
