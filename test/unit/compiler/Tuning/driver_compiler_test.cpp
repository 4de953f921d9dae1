// SPDX-License-Identifier: Apache-2.0
//
// What the driver compilers' tool prints, and a tool that is not there.

#include "compiler/Tuning/DriverCompiler.h"

#include "test/support/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace llmc::tuner {
namespace {

const char *const kOutput = R"({
  "a.spv": {"registers": 18, "occupancy": 14, "spills": 0, "fills": 0, "tls": 0,
            "instructions": 602,
            "hot_loop": {"per_mac": 3.25, "weight_bytes_per_load": 16.0}},
  "b.spv": {"registers": 64, "occupancy": 1, "spills": 3, "fills": 4, "tls": 96,
            "instructions": 900,
            "hot_loop": {"per_mac": 5.0, "weight_bytes_per_load": null}},
  "c.spv": {"error": "the driver's compiler took longer than 120 s"},
  "d.spv": {"registers": 8, "hot_loop": null}
})";

TEST(Figures, OfVectorRegistersAreInWords) {
  auto figures = parseFigures(kOutput, /*countsVectors=*/true);
  ASSERT_EQ(figures.count("a.spv"), 1u);
  const KernelFigures &one = figures["a.spv"];
  EXPECT_EQ(one.registers, 72);
  EXPECT_EQ(one.occupancyPercent, 87);
  EXPECT_DOUBLE_EQ(one.instructionsPerMultiplyAdd, 3.25);
  EXPECT_DOUBLE_EQ(one.bytesPerLoad, 16);
  EXPECT_TRUE(one.staysInRegisters());
}

TEST(Figures, TellWhatSpills) {
  auto figures = parseFigures(kOutput, /*countsVectors=*/false);
  const KernelFigures &one = figures["b.spv"];
  EXPECT_EQ(one.registers, 64);
  EXPECT_EQ(one.occupancyPercent, 50);
  EXPECT_EQ(one.spills, 7);
  EXPECT_EQ(one.threadLocalBytes, 96);
  EXPECT_FALSE(one.staysInRegisters());
}

TEST(Figures, OfFailuresSaySo) {
  auto figures = parseFigures(kOutput, false);
  EXPECT_TRUE(figures["c.spv"].isRefused);
  EXPECT_FALSE(figures["c.spv"].staysInRegisters());
  EXPECT_TRUE(figures["d.spv"].isRefused);
  EXPECT_FALSE(figures["a.spv"].isRefused);
  EXPECT_TRUE(parseFigures("no JSON", false).empty());
  EXPECT_TRUE(parseFigures("[1]", false).empty());
}

/// A tool that is a script.
class Tool : public testing::Test {
protected:
  void SetUp() override { folder = test::makeTestFolder(); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  void write(const std::string &script) {
    std::ofstream(folder / "measure") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(folder / "measure",
                                 std::filesystem::perms::owner_all);
  }
  StatusOr<DriverCompiler> create() {
    description::Target target;
    target.set_name("phone");
    return DriverCompiler::create(folder.string(), target);
  }

  std::filesystem::path folder;
};

TEST_F(Tool, ThatIsMissingIsNamed) {
  EXPECT_EQ(create().status().code(), StatusCode::NotFound);
  EXPECT_EQ(create().status().message(),
            "'" + (folder / "measure").string() + "' does not exist");
}

TEST_F(Tool, ThatIsNotSetUpOrHasNoSuchTargetSaysSo) {
  write("exit 77\n");
  EXPECT_EQ(create().status().message(),
            "'" + folder.string() + "' is not set up; run its setup");
  write("exit 2\n");
  EXPECT_EQ(create().status().message(),
            "there is no driver compiler for target 'phone'");
}

TEST_F(Tool, IsAskedAboutTheTargetsModules) {
  // Prints its arguments as the key.
  write("[ \"$2\" = /dev/null ] && exit 1\n"
        "echo \"{\\\"$*\\\": {\\\"registers\\\": 8, \\\"hot_loop\\\": "
        "{\\\"per_mac\\\": 2}}}\"\nexit 1\n");
  auto compiler = create();
  ASSERT_TRUE(compiler.ok()) << compiler.status().message();
  auto figures = compiler->measure({{"a.spv", "it's.spv"}, "0:4,3:4", 8});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures.begin()->first,
            "phone --json --rows=8 --weights=0:4,3:4 a.spv it's.spv");
}

} // namespace
} // namespace llmc::tuner
