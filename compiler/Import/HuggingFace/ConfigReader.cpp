// SPDX-License-Identifier: Apache-2.0
//
// Fields are checked where they are read, so that messages name them.

#include "compiler/Import/HuggingFace/ConfigReader.h"

#include <limits>

namespace llmc::huggingface {

using nlohmann::json;

const json *ConfigReader::find(const char *field) const {
  auto found = object->find(field);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

llvm::Error ConfigReader::missing(const char *field) const {
  return llvm::createStringError(path + ": field '" + prefix + field +
                                 "' is missing");
}

llvm::Error ConfigReader::refuse(const char *field,
                                 const Twine &allowed) const {
  const json *value = find(field);
  std::string found =
      value ? value->dump(-1, ' ', /*ensure_ascii=*/true) : "absent";
  if (found.size() > 200)
    found = found.substr(0, 200) + "…";
  return llvm::createStringError(path + ": field '" + prefix + field + "' is " +
                                 found + ", allowed " + allowed);
}

llvm::Error ConfigReader::readSize(const char *field, int64_t &result,
                                   std::optional<int64_t> absent,
                                   int64_t most) const {
  const json *value = find(field);
  if (!value && !absent)
    return missing(field);
  if (!value) {
    result = *absent;
    return llvm::Error::success();
  }
  // A negative number becomes huge and is refused too.
  auto size = value->is_number_integer() ? value->get<uint64_t>() : 0;
  if (size < 1 || size > static_cast<uint64_t>(most))
    return refuse(field, "are whole numbers from 1 to " + Twine(most));
  result = static_cast<int64_t>(size);
  return llvm::Error::success();
}

llvm::Error ConfigReader::readReal(const char *field, float &result,
                                   std::optional<float> absent) const {
  const json *value = find(field);
  if (!value && !absent)
    return missing(field);
  double number =
      value ? (value->is_number() ? value->get<double>() : 0.0) : *absent;
  if (!(number >= std::numeric_limits<float>::min()) ||
      number > std::numeric_limits<float>::max())
    return refuse(field, "are positive numbers in the range of a float");
  result = static_cast<float>(number);
  return llvm::Error::success();
}

llvm::Error ConfigReader::readFlag(const char *field, bool &result,
                                   bool absent) const {
  const json *value = find(field);
  if (value && !value->is_boolean())
    return refuse(field, "are true and false");
  result = value ? value->get<bool>() : absent;
  return llvm::Error::success();
}

llvm::Error ConfigReader::readText(const char *field, std::string &result,
                                   std::optional<std::string> absent) const {
  const json *value = find(field);
  if (!value && !absent)
    return missing(field);
  if (value && !value->is_string())
    return refuse(field, "are strings");
  result = value ? value->get<std::string>() : *absent;
  return llvm::Error::success();
}

llvm::Error ConfigReader::readTexts(const char *field,
                                    std::vector<std::string> &result,
                                    std::vector<std::string> absent) const {
  const json *value = find(field);
  if (!value) {
    result = std::move(absent);
    return llvm::Error::success();
  }
  if (!value->is_array() ||
      !llvm::all_of(*value, [](const json &item) { return item.is_string(); }))
    return refuse(field, "are arrays of strings");
  result = value->get<std::vector<std::string>>();
  return llvm::Error::success();
}

bool ConfigReader::isNumber(const char *field, int64_t number) const {
  const json *value = find(field);
  return value && value->is_number_integer() && *value == number;
}

bool ConfigReader::isEmpty(const char *field) const {
  const json *value = find(field);
  return value && value->is_structured() && value->empty();
}

std::vector<std::string> ConfigReader::fields() const {
  std::vector<std::string> names;
  for (const auto &[name, value] : object->items())
    names.push_back(name);
  return names;
}

llvm::Expected<std::optional<ConfigReader>>
ConfigReader::findObject(const char *field) const {
  const json *value = find(field);
  if (!value)
    return std::optional<ConfigReader>();
  if (!value->is_object())
    return refuse(field, "are objects");
  return std::optional<ConfigReader>(
      ConfigReader(*value, path, prefix + field + "."));
}

} // namespace llmc::huggingface
