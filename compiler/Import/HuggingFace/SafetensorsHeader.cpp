// SPDX-License-Identifier: Apache-2.0
//
// The header is one object: a tensor's name → {"dtype": string, "shape":
// [sizes], "data_offsets": [begin, end]}; "__metadata__" → {string: string}.

#include "compiler/Import/HuggingFace/SafetensorsHeader.h"

#include "compiler/Import/HuggingFace/Json.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <nlohmann/json.hpp>

namespace llmc::huggingface {

namespace {

constexpr size_t kMaxDimensions = 16;

struct DtypeFacts {
  Dtype dtype;
  const char *name;
  int64_t bytes;
};

constexpr DtypeFacts kDtypes[] = {
    {Dtype::Bool, "BOOL", 1},       {Dtype::U8, "U8", 1},
    {Dtype::I8, "I8", 1},           {Dtype::F8_E5M2, "F8_E5M2", 1},
    {Dtype::F8_E4M3, "F8_E4M3", 1}, {Dtype::U16, "U16", 2},
    {Dtype::I16, "I16", 2},         {Dtype::F16, "F16", 2},
    {Dtype::BF16, "BF16", 2},       {Dtype::U32, "U32", 4},
    {Dtype::I32, "I32", 4},         {Dtype::F32, "F32", 4},
    {Dtype::U64, "U64", 8},         {Dtype::I64, "I64", 8},
    {Dtype::F64, "F64", 8}};

/// Bytes of a tensor; none beyond 2^63 - 1.
std::optional<int64_t> sizeOf(ArrayRef<int64_t> shape, Dtype dtype) {
  int64_t bytes = kDtypes[static_cast<size_t>(dtype)].bytes;
  // A product that a zero makes small is refused where it would wrap before.
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : bytes;
}

/// What events fill in. Each returns whether to go on; `mistake` says why not.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
public:
  std::vector<Tensor> tensors;
  std::string mistake;

  bool null() override { return refuseValue("null"); }
  bool boolean(bool) override { return refuseValue("a boolean"); }
  bool number_integer(number_integer_t value) override {
    return refuseValue(std::to_string(value));
  }
  bool number_float(number_float_t, const string_t &text) override {
    return refuseValue(text);
  }
  bool binary(binary_t &) override { return refuseValue("bytes"); }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t &value) override;
  bool start_object(std::size_t) override;
  bool key(string_t &name) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return refuse("the header is no valid JSON in UTF-8 at its byte " +
                  Twine(position));
  }

private:
  enum class Level { Outside, File, Metadata, Tensor, Shape, Offsets };

  bool refuse(const Twine &message) {
    mistake = message.str();
    return false;
  }
  bool refuseValue(const Twine &found);
  bool finishTensor();
  Tensor &tensor() { return tensors.back(); }

  Level level = Level::Outside;
  std::string field; // the last key
  llvm::StringSet<> names, metadataKeys;
  bool hasDtype = false, hasShape = false, hasOffsets = false;
  SmallVector<uint64_t, 2> offsets;
};

bool HeaderEvents::refuseValue(const Twine &found) {
  switch (level) {
  case Level::Outside:
    return refuse("the header is " + found + ", allowed is an object");
  case Level::File:
    return refuse("the header's field " + inQuotes(field) + " is " + found +
                  ", allowed is an object");
  case Level::Metadata:
    return refuse("__metadata__ field " + inQuotes(field) + " is " + found +
                  ", allowed is a string");
  default:
    return refuse("tensor " + inQuotes(tensor().name) + ": field " +
                  inQuotes(field) + " holds " + found +
                  ", allowed are a string in 'dtype' and arrays of "
                  "non-negative integers in 'shape' and 'data_offsets'");
  }
}

bool HeaderEvents::number_unsigned(number_unsigned_t value) {
  if (level == Level::Shape) {
    if (value > uint64_t(INT64_MAX))
      return refuseValue(std::to_string(value));
    if (tensor().shape.size() == kMaxDimensions)
      return refuse("tensor " + inQuotes(tensor().name) + " has more than " +
                    Twine(kMaxDimensions) + " dimensions");
    tensor().shape.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (level == Level::Offsets && offsets.size() < 2) {
    offsets.push_back(value);
    return true;
  }
  return refuseValue(std::to_string(value));
}

bool HeaderEvents::string(string_t &value) {
  if (level == Level::Metadata)
    return true;
  if (level != Level::Tensor || field != "dtype")
    return refuseValue("a string");
  for (const DtypeFacts &facts : kDtypes)
    if (value == facts.name) {
      tensor().dtype = facts.dtype;
      return hasDtype = true;
    }
  std::string known;
  for (const DtypeFacts &facts : kDtypes)
    known += (known.empty() ? "" : ", ") + std::string(facts.name);
  return refuse("tensor " + inQuotes(tensor().name) + " has dtype " +
                inQuotes(value) + ", known are " + known);
}

bool HeaderEvents::start_object(std::size_t) {
  if (level == Level::Outside) {
    level = Level::File;
    return true;
  }
  if (level != Level::File)
    return refuseValue("an object");
  if (field == "__metadata__") {
    level = Level::Metadata;
    return true;
  }
  level = Level::Tensor;
  hasDtype = hasShape = hasOffsets = false;
  tensors.push_back({field, Dtype::U8, {}, 0, 0});
  return true;
}

bool HeaderEvents::key(string_t &name) {
  field = name;
  if (level == Level::File)
    return names.insert(name).second ||
           refuse("the header has " + inQuotes(name) + " twice");
  if (level == Level::Metadata)
    return metadataKeys.insert(name).second ||
           refuse("__metadata__ has " + inQuotes(name) + " twice");
  bool isKnown = name == "dtype" || name == "shape" || name == "data_offsets";
  bool isTwice = (name == "dtype" && hasDtype) ||
                 (name == "shape" && hasShape) ||
                 (name == "data_offsets" && hasOffsets);
  if (isKnown && !isTwice)
    return true;
  return refuse("tensor " + inQuotes(tensor().name) + " has " +
                (isKnown ? "the field " : "an unknown field ") +
                inQuotes(name) + (isTwice ? " twice" : "") +
                ", allowed are dtype, shape, data_offsets");
}

bool HeaderEvents::start_array(std::size_t) {
  if (level == Level::Tensor && field == "shape") {
    level = Level::Shape;
    return hasShape = true;
  }
  if (level == Level::Tensor && field == "data_offsets") {
    level = Level::Offsets;
    offsets.clear();
    return hasOffsets = true;
  }
  return refuseValue("an array");
}

bool HeaderEvents::end_array() {
  level = Level::Tensor;
  return true;
}

bool HeaderEvents::end_object() {
  switch (level) {
  case Level::File:
    level = Level::Outside;
    return true;
  case Level::Metadata:
    level = Level::File;
    return true;
  default:
    level = Level::File;
    return finishTensor();
  }
}

/// Offsets in order, and as many bytes as shape and type say.
bool HeaderEvents::finishTensor() {
  std::string which = "tensor " + inQuotes(tensor().name);
  if (!hasDtype || !hasShape || !hasOffsets)
    return refuse(which + " lacks one of dtype, shape, data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1] ||
      offsets[1] > uint64_t(INT64_MAX))
    return refuse(which + " has data_offsets that are no [begin, end] with "
                          "begin <= end < 2^63");
  std::optional<int64_t> bytes = sizeOf(tensor().shape, tensor().dtype);
  if (!bytes)
    return refuse(which + " has a shape of more than 2^63 - 1 bytes");
  if (offsets[1] - offsets[0] != static_cast<uint64_t>(*bytes))
    return refuse(which + " has data_offsets of " +
                  Twine(offsets[1] - offsets[0]) +
                  " bytes, but its shape and dtype need " + Twine(*bytes));
  tensor().offset = static_cast<int64_t>(offsets[0]);
  tensor().sizeInBytes = *bytes;
  return true;
}

} // namespace

StringRef dtypeName(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)].name;
}

std::optional<graph::Encoding> encodingOf(Dtype dtype) {
  switch (dtype) {
  case Dtype::F32:
    return graph::Encoding::F32;
  case Dtype::F16:
    return graph::Encoding::F16;
  case Dtype::BF16:
    return graph::Encoding::BF16;
  default:
    return std::nullopt;
  }
}

llvm::Expected<std::vector<Tensor>> parseSafetensorsHeader(StringRef text,
                                                           StringRef path) {
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &events))
    return llvm::createStringError(path + ": " + events.mistake);
  return std::move(events.tensors);
}

} // namespace llmc::huggingface
