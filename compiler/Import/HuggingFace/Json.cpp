// SPDX-License-Identifier: Apache-2.0
//
// The text is read twice: once for what is wrong with it, which the library
// tells to handlers of events only, and once for its values.

#include "compiler/Import/HuggingFace/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace llmc::huggingface {

using nlohmann::json;

namespace {

constexpr size_t kMaxDepth = 64;

/// Looks for mistakes; every event returns whether to go on.
class Checker : public nlohmann::json_sax<json> {
public:
  std::string mistake; // empty: none

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t &name) override {
    if (keys.back().insert(name).second)
      return true;
    mistake = "an object has the key " + inQuotes(name) + " twice";
    return false;
  }
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    mistake = "no valid JSON in UTF-8 at byte " + std::to_string(position);
    return false;
  }

private:
  bool enter() {
    keys.emplace_back();
    if (keys.size() <= kMaxDepth)
      return true;
    mistake = "more than " + std::to_string(kMaxDepth) +
              " arrays and objects inside one another";
    return false;
  }
  bool leave() {
    keys.pop_back();
    return true;
  }

  std::vector<llvm::StringSet<>> keys; // of the open objects and arrays
};

} // namespace

std::string inQuotes(StringRef text) {
  std::string result = "'";
  llvm::raw_string_ostream stream(result);
  llvm::printEscapedString(text.take_front(80), stream);
  stream << (text.size() > 80 ? "…'" : "'");
  return result;
}

llvm::Expected<json> parseJson(StringRef text, StringRef path) {
  Checker checker;
  if (!json::sax_parse(text.begin(), text.end(), &checker))
    return llvm::createStringError(path + ": " + checker.mistake);
  return json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                     /*allow_exceptions=*/false);
}

llvm::Expected<json> readJsonFile(const Twine &path) {
  std::string name = path.str();
  auto bytes = llvm::MemoryBuffer::getFile(name);
  if (!bytes)
    return llvm::createStringError(
        name + ": can't be read: " + bytes.getError().message());
  return parseJson((*bytes)->getBuffer(), name);
}

} // namespace llmc::huggingface
