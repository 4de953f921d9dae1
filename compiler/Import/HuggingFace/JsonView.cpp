// SPDX-License-Identifier: Apache-2.0
//
// JsonView.h.

#include "compiler/Import/HuggingFace/JsonView.h"

#include "compiler/Import/HuggingFace/Json.h"

#include <limits>

namespace llmc::huggingface {

static const nlohmann::json kNull;

JsonView JsonView::operator[](StringRef key) const {
  std::string path = name.empty() ? key.str() : name + "." + key.str();
  if (!value->is_object()) {
    if (!value->is_null())
      refuseKind("an object");
    return JsonView(kNull, std::move(path), *mistake);
  }
  auto it = value->find(key.str());
  return JsonView(it == value->end() ? kNull : *it, std::move(path), *mistake);
}

std::vector<JsonView> JsonView::elements() const {
  std::vector<JsonView> views;
  if (!value->is_array()) {
    if (!value->is_null())
      refuseKind("an array");
    return views;
  }
  views.reserve(value->size());
  for (size_t i = 0; i < value->size(); ++i)
    views.emplace_back((*value)[i], name + "[" + std::to_string(i) + "]",
                       *mistake);
  return views;
}

std::string JsonView::string(StringRef otherwise) const {
  if (value->is_string())
    return value->get_ref<const std::string &>();
  if (!value->is_null())
    refuseKind("a string");
  return otherwise.str();
}

bool JsonView::boolean(bool otherwise) const {
  if (value->is_boolean())
    return value->get<bool>();
  if (!value->is_null())
    refuseKind("true or false");
  return otherwise;
}

int64_t JsonView::integer(int64_t otherwise) const {
  constexpr auto kMost =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (value->is_number_unsigned() && value->get<uint64_t>() > kMost)
    refuse("is larger than 64 bits hold with a sign");
  else if (value->is_number_integer())
    return value->get<int64_t>();
  else if (!value->is_null())
    refuseKind("an integer");
  return otherwise;
}

void JsonView::refuseValue(StringRef found, StringRef supported) const {
  refuse("is " + inQuotes(found) + ", supported are " + supported);
}

void JsonView::refuseKind(const char *expected) const {
  refuse(Twine("is of the kind ") + value->type_name() + ", expected " +
         expected);
}

} // namespace llmc::huggingface
