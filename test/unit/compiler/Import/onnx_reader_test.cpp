// SPDX-License-Identifier: Apache-2.0
//
// The reader of ONNX files: what it finds, and what it refuses.

#include "compiler/Import/ONNX/OnnxReader.h"
#include "test/unit/compiler/Import/onnx_writer.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

namespace llmc::onnx {
namespace {

using onnx_writer::attribute;
using onnx_writer::bytes;
using onnx_writer::external;
using onnx_writer::floats;
using onnx_writer::Graph;
using onnx_writer::integer;
using onnx_writer::node;
using onnx_writer::raw;
using onnx_writer::tensorHead;
using onnx_writer::value;
using onnx_writer::varint;
using ::testing::HasSubstr;

std::unique_ptr<OnnxFile> read(const std::string &text) {
  auto file = OnnxFile::parse(llvm::MemoryBuffer::getMemBufferCopy(text), "m");
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return nullptr;
  }
  return std::move(*file);
}

std::string refusal(const std::string &text) {
  auto file = OnnxFile::parse(llvm::MemoryBuffer::getMemBufferCopy(text), "m");
  return file ? "" : llvm::toString(file.takeError());
}

Graph toy() {
  Graph graph;
  graph.inputs = {value("x", 1, {"batch", "3"})};
  graph.outputs = {value("y", 1, {"batch", "3"})};
  graph.initializers = {floats("w", {3}, {1, 2, 3})};
  graph.nodes = {
      node("Add", {"x", "w"}, {"y"}, {attribute("axis", int64_t{-1})})};
  return graph;
}

std::string withInitializer(const std::string &tensor) {
  Graph graph = toy();
  graph.initializers.push_back(tensor);
  return graph.model();
}

TEST(OnnxReader, FindsWhatTheGraphHolds) {
  std::string text = toy().model();
  auto file = read(text);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->opset(""), 17);
  EXPECT_EQ(file->opset("ai.onnx"), 17);
  EXPECT_EQ(file->opset("com.microsoft"), std::nullopt);
  ASSERT_EQ(file->nodes().size(), 1u);
  const Node &add = file->nodes()[0];
  EXPECT_EQ(add.opType, "Add");
  EXPECT_EQ(add.name, "y_node");
  EXPECT_EQ(add.inputs[1], "w");
  EXPECT_EQ(add.find("axis")->integer, -1);
  EXPECT_EQ(file->producer("y"), &add);
  ASSERT_EQ(file->inputs().size(), 1u);
  EXPECT_EQ(file->inputs()[0].shape[0].name, "batch");
  EXPECT_EQ(file->inputs()[0].shape[1].size, 3);
  const Tensor *w = file->findInitializer("w");
  ASSERT_TRUE(w);
  EXPECT_EQ(w->file, 0);
  // The numbers stay in the file, at their offset.
  EXPECT_EQ(text.substr(static_cast<size_t>(w->offset), 12),
            raw(std::vector<float>{1, 2, 3}));
}

TEST(OnnxReader, IntegersMayBeVarints) {
  auto file = read(withInitializer(tensorHead("i", 7, {3}) + integer(7, 5) +
                                   bytes(7, varint(300) + varint(~0ull))));
  ASSERT_TRUE(file);
  const Tensor *tensor = file->findInitializer("i");
  EXPECT_LT(tensor->file, 0);
  EXPECT_EQ(tensor->bytes.size(), 24u);
  int64_t numbers[3];
  std::memcpy(numbers, tensor->bytes.data(), 24);
  EXPECT_EQ(numbers[0], 5);
  EXPECT_EQ(numbers[1], 300);
  EXPECT_EQ(numbers[2], -1);
}

TEST(OnnxReader, FloatDataIsLocatedLikeRawData) {
  auto file = read(withInitializer(tensorHead("f", 1, {2}) +
                                   bytes(4, raw(std::vector<float>{7, 8}))));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->findInitializer("f")->file, 0);
  EXPECT_EQ(file->findInitializer("f")->bytes.size(), 8u);
}

TEST(OnnxReader, RefusesWhatIsNoModel) {
  EXPECT_THAT(refusal(""), HasSubstr("has no graph"));
  EXPECT_THAT(refusal("GGUF\3\0\0\0"), HasSubstr("m: "));
  EXPECT_THAT(refusal(std::string(64, '\xff')), HasSubstr("10 bytes"));
  EXPECT_THAT(refusal(bytes(7, toy().graph())), HasSubstr("imports no opset"));
}

TEST(OnnxReader, RefusesEveryTruncation) {
  std::string text = toy().model();
  for (size_t size = 0; size != text.size(); ++size)
    EXPECT_NE(refusal(text.substr(0, size)), "") << size;
}

TEST(OnnxReader, SurvivesEveryChangedByte) {
  std::string text = toy().model();
  for (size_t i = 0; i != text.size(); ++i)
    for (int change : {1, 2, 64, 128, 255}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ change);
      refusal(changed);
    }
}

TEST(OnnxReader, RefusesTensorsWhoseBytesDontFit) {
  EXPECT_THAT(refusal(withInitializer(floats("v", {4}, {1, 2}))),
              HasSubstr("tensor 'v' has 8 bytes, but its shape and type "
                        "(FLOAT) need 16"));
  EXPECT_THAT(refusal(withInitializer(floats("v", {-1}, {1}))),
              HasSubstr("impossible shape"));
  EXPECT_THAT(refusal(withInitializer(
                  floats("v", {int64_t{1} << 40, int64_t{1} << 40}, {1}))),
              HasSubstr("impossible shape"));
  EXPECT_THAT(refusal(withInitializer(
                  floats("v", {int64_t{1} << 31, int64_t{1} << 31}, {1}))),
              HasSubstr("impossible shape"));
  EXPECT_THAT(refusal(withInitializer(tensorHead("v", 8, {1}) + bytes(6, "a"))),
              HasSubstr("of STRING"));
  EXPECT_THAT(refusal(withInitializer(tensorHead("v", 7, {2}) + integer(7, 1))),
              HasSubstr("has 1 integers, but its shape has 2"));
}

TEST(OnnxReader, RefusesNamesThatMeanTwoThings) {
  Graph graph = toy();
  graph.nodes.push_back(graph.nodes[0]);
  EXPECT_THAT(refusal(graph.model()),
              HasSubstr("'y' is computed by two nodes"));
  graph = toy();
  graph.initializers.push_back(graph.initializers[0]);
  EXPECT_THAT(refusal(graph.model()), HasSubstr("initializer 'w' twice"));
  graph = toy();
  graph.inputs.push_back(graph.inputs[0]);
  EXPECT_THAT(refusal(graph.model()), HasSubstr("input 'x' twice"));
  graph = toy();
  graph.opsets.push_back({"ai.onnx", 13});
  EXPECT_THAT(refusal(graph.model()), HasSubstr("domain '' twice"));
}

TEST(OnnxReader, RefusesFunctionsAndSparseTensors) {
  EXPECT_THAT(refusal(toy().model() + bytes(25, "f")),
              HasSubstr("functions of its own"));
  EXPECT_THAT(refusal(integer(1, 8) + bytes(7, toy().graph() + bytes(15, "s")) +
                      bytes(8, integer(2, 17))),
              HasSubstr("sparse initializers"));
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

/// A folder `model` with files, beside a secret.
class OnnxExternalData : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> name;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("onnx", name));
    root = name.str().str();
    std::filesystem::create_directories(root + "/model/sub");
    write("secret.bin");
    write("model/weights.bin");
    write("model/sub/weights.bin");
    std::filesystem::create_symlink("../secret.bin", root + "/model/link.bin");
    std::filesystem::create_symlink(root, root + "/model/up");
    std::filesystem::create_symlink("weights.bin", root + "/model/same.bin");
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &name) {
    std::ofstream(root + "/" + name, std::ios::binary)
        << raw(std::vector<float>{1, 2, 3, 4});
  }

  /// The message, or "" when the file is read.
  std::string open(std::vector<std::pair<std::string, std::string>> entries) {
    std::ofstream(root + "/model/m.onnx", std::ios::binary)
        << withInitializer(external("e", 1, {2}, entries));
    auto file = OnnxFile::open(root + "/model/m.onnx");
    if (!file)
      return llvm::toString(file.takeError());
    const Tensor *tensor = (*file)->findInitializer("e");
    EXPECT_EQ(tensor->file, 1);
    float numbers[2];
    std::memcpy(numbers, tensor->bytes.data(), 8);
    first = numbers[0];
    return "";
  }
  std::string at(const std::string &location) {
    return open({{"location", location}});
  }

  std::string root;
  float first = 0;
};

TEST_F(OnnxExternalData, LiesInTheModelsFolder_B31) {
  EXPECT_EQ(at("weights.bin"), "");
  EXPECT_EQ(at("sub/weights.bin"), "");
  EXPECT_EQ(at("same.bin"), "");
  EXPECT_EQ(
      open({{"location", "weights.bin"}, {"offset", "8"}, {"length", "8"}}),
      "");
  EXPECT_EQ(first, 3);
}

TEST_F(OnnxExternalData, ElsewhereIsRefused_B31) {
  EXPECT_THAT(at("../secret.bin"), HasSubstr("has a part '..'"));
  EXPECT_THAT(at("a/../../secret.bin"), HasSubstr("has a part '..'"));
  EXPECT_THAT(at(root + "/secret.bin"), HasSubstr("is an absolute path"));
  EXPECT_THAT(at(""), HasSubstr("is empty"));
  EXPECT_THAT(at(std::string("weights.bin\0x", 13)), HasSubstr("zero byte"));
  EXPECT_THAT(at("link.bin"), HasSubstr("leads out of the folder"));
  EXPECT_THAT(at("up/secret.bin"), HasSubstr("leads out of the folder"));
  EXPECT_THAT(at("sub"), HasSubstr("no regular file"));
  EXPECT_THAT(at("missing.bin"), HasSubstr("can't be read"));
}

TEST_F(OnnxExternalData, OffsetsAndLengthsAreChecked) {
  auto place = [&](const std::string &offset, const std::string &length) {
    return open(
        {{"location", "weights.bin"}, {"offset", offset}, {"length", length}});
  };
  EXPECT_THAT(place("12", "8"), HasSubstr("8 bytes at offset 12"));
  EXPECT_THAT(place("18446744073709551615", "8"), HasSubstr("has 16 bytes"));
  EXPECT_THAT(place("0", "4"), HasSubstr("has 4 bytes, but its shape"));
  EXPECT_THAT(place("-1", "8"), HasSubstr("allowed is a whole number"));
}

TEST_F(OnnxExternalData, AModelInMemoryHasNone) {
  EXPECT_THAT(refusal(withInitializer(
                  external("e", 1, {2}, {{"location", "weights.bin"}}))),
              HasSubstr("a model in memory"));
}

} // namespace
} // namespace llmc::onnx
