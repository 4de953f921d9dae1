// SPDX-License-Identifier: Apache-2.0
//
// Which files of a model directory belong together, and what is wrong with
// others.

#include "compiler/Import/HuggingFace/Json.h"
#include "compiler/Import/HuggingFace/ModelFolder.h"
#include "test/unit/compiler/Import/toy_folder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using llmc::huggingface::ModelFolder;
using llmc::huggingface::parseJson;
using llmc::test::SafetensorsBuilder;
using llmc::test::TemporaryDirectory;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char *kIndex = "model.safetensors.index.json";

/// Two shards: "a" and "b" in the first, "c" in the second.
class Shards : public testing::Test {
protected:
  void SetUp() override {
    folder.write("config.json", "{}");
    folder.write(
        "one.safetensors",
        SafetensorsBuilder().numbers("a", {2}).numbers("b", {1}).build());
    folder.write("two.safetensors",
                 SafetensorsBuilder().numbers("c", {1}, 3.0f).build());
    map = {{"a", "one.safetensors"},
           {"b", "one.safetensors"},
           {"c", "two.safetensors"}};
  }
  std::string refusal() {
    folder.write(kIndex, json{{"weight_map", map}}.dump());
    auto opened = ModelFolder::open(folder.path());
    return opened ? "" : llvm::toString(opened.takeError());
  }

  TemporaryDirectory folder;
  json map;
};

TEST_F(Shards, TensorsAreFoundInTheirFiles) {
  ASSERT_EQ(refusal(), "");
  auto opened = llvm::cantFail(ModelFolder::open(folder.path()));
  auto tensor = opened.findTensor("c");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(opened.filePaths()[tensor->file], folder.path("two.safetensors"));
  float value;
  std::memcpy(&value, opened.tensorBytes(*tensor).data(), 4);
  EXPECT_EQ(value, 3.0f);
  EXPECT_FALSE(opened.findTensor("d"));
  EXPECT_THAT(opened.tensorNames(), testing::ElementsAre("a", "b", "c"));
}

TEST_F(Shards, MissingFilesAreNamed) {
  map["d"] = "three.safetensors";
  EXPECT_THAT(refusal(), AllOf(HasSubstr(kIndex),
                               HasSubstr("file 'three.safetensors', which is "
                                         "missing")));
}

TEST_F(Shards, IndexAndFilesMustAgree) {
  map["d"] = "two.safetensors";
  EXPECT_THAT(refusal(), HasSubstr("tensor 'd' is in 'two.safetensors', which "
                                   "does not have it"));
  map.erase("d");
  map["b"] = "two.safetensors";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("one.safetensors: has tensor 'b'"),
                               HasSubstr("places in 'two.safetensors'")));
  map.erase("b");
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("has tensor 'b'"), HasSubstr("does not name")));
}

TEST_F(Shards, TheIndexMayNotNamePaths) {
  for (json name : {json("../one.safetensors"), json("/etc/passwd"),
                    json("a/b"), json(".."), json(""), json("."),
                    json(std::string("one.safetensors\0x", 17)), json(3)}) {
    map["a"] = name;
    EXPECT_THAT(refusal(), HasSubstr("allowed are names of files of the same "
                                     "folder"))
        << name;
  }
}

TEST_F(Shards, TheIndexMustHaveAMap) {
  for (const char *text : {"[]", "{}", "{\"weight_map\":[]}"}) {
    folder.write(kIndex, text);
    auto opened = ModelFolder::open(folder.path());
    ASSERT_FALSE(bool(opened));
    EXPECT_THAT(llvm::toString(opened.takeError()),
                HasSubstr("has no object 'weight_map'"));
  }
}

TEST(ModelFolder, SaysWhatIsMissing) {
  TemporaryDirectory folder;
  auto refusal = [&] {
    auto opened = ModelFolder::open(folder.path());
    return opened ? "" : llvm::toString(opened.takeError());
  };
  EXPECT_THAT(refusal(), HasSubstr("without config.json"));
  folder.write("config.json", "[1]");
  EXPECT_THAT(refusal(), HasSubstr("config.json: holds array, allowed is an "
                                   "object"));
  folder.write("config.json", "{}");
  folder.write("pytorch_model.bin", "");
  EXPECT_THAT(refusal(), HasSubstr("has neither model.safetensors nor " +
                                   std::string(kIndex)));
}

TEST(Json, MistakesAreNamedWithTheirPlace) {
  auto refusal = [](llvm::StringRef text) {
    auto value = parseJson(text, "x.json");
    return value ? "" : llvm::toString(value.takeError());
  };
  EXPECT_EQ(refusal(R"({"a":{"b":1},"c":{"b":[1,{"b":2}]}})"), "");
  EXPECT_THAT(refusal(R"({"a":1,"b":{"c":1,"c":2}})"),
              HasSubstr("x.json: an object has the key 'c' twice"));
  EXPECT_THAT(refusal("{\"a\":}"), HasSubstr("no valid JSON in UTF-8 at byte"));
  EXPECT_THAT(refusal("\"\xff\""), HasSubstr("no valid JSON in UTF-8"));
  EXPECT_THAT(refusal(""), HasSubstr("no valid JSON"));
  EXPECT_THAT(refusal("[1e999]"), HasSubstr("no valid JSON"));
  EXPECT_THAT(refusal(std::string(100000, '[')),
              HasSubstr("more than 64 arrays and objects"));
}

} // namespace
