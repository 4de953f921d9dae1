// SPDX-License-Identifier: Apache-2.0
//
// Every tensor is checked where a model asks for it, so that messages say what
// it needs.

#include "compiler/Import/HuggingFace/TensorReader.h"

#include "compiler/Import/HuggingFace/Json.h"

#include "llvm/Support/Endian.h"

namespace llmc::huggingface {

namespace {

/// "[2048, 256]", outermost dimension first.
std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "[" : ", ") + std::to_string(size);
  return text.empty() ? "[]" : text + "]";
}

} // namespace

llvm::Error TensorReader::refuse(const PlacedTensor &tensor,
                                 const Twine &message) const {
  return llvm::createStringError(folder.filePaths()[tensor.file] +
                                 ": tensor '" + tensor.tensor->name + "' " +
                                 message);
}

llvm::Error TensorReader::readWeight(const Twine &name, const Twine &symbol,
                                     ArrayRef<int64_t> shape,
                                     importer::Weight &result) {
  std::string fullName = name.str();
  std::optional<PlacedTensor> found = folder.findTensor(fullName);
  if (!found)
    return llvm::createStringError(folder.path() + ": tensor '" + fullName +
                                   "' is missing; config.json asks for it with "
                                   "shape " +
                                   shapeText(shape));
  const Tensor &tensor = *found->tensor;
  if (ArrayRef<int64_t>(tensor.shape) != shape)
    return refuse(*found, "has shape " + shapeText(tensor.shape) +
                              ", config.json allows " + shapeText(shape));
  std::optional<graph::Encoding> encoding = encodingOf(tensor.dtype);
  if (!encoding)
    return refuse(*found, "has dtype " + dtypeName(tensor.dtype) +
                              ", allowed are F32, F16, BF16");
  used.insert(fullName);
  result = {symbol.str(), SmallVector<int64_t, 2>(shape), *encoding,
            tensor.offset, found->file};
  return llvm::Error::success();
}

llvm::Error TensorReader::readLinear(const Twine &name, const Twine &symbol,
                                     int64_t outputs, int64_t inputs,
                                     bool hasBias, importer::Linear &result) {
  // Modules that were left out of quantization have a plain weight.
  bool isPacked = quantization && !has(name + ".weight");
  if (llvm::Error error = isPacked
                              ? readPacked(name.str(), symbol + ".weight",
                                           outputs, inputs, result.weight)
                              : readWeight(name + ".weight", symbol + ".weight",
                                           {outputs, inputs}, result.weight))
    return error;
  if (hasBias)
    return readWeight(name + ".bias", symbol + ".bias", {outputs},
                      result.bias.emplace());
  if (isPacked)
    ignoreZeroBias(name + ".bias");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Quantized linears
//===----------------------------------------------------------------------===//

namespace {

/// The names and shapes of the parts of a linear.
struct PackedParts {
  std::string codes, scales, zeros;
  SmallVector<int64_t, 2> codesShape, scalesShape, zerosShape;
};

PackedParts partsOf(graph::PackingForm form, const std::string &name,
                    int64_t outputs, int64_t inputs, int64_t numGroups) {
  switch (form) {
  case graph::PackingForm::Compressed:
    return {name + ".weight_packed",     name + ".weight_scale",
            name + ".weight_zero_point", {outputs, inputs / 8},
            {outputs, numGroups},        {(outputs + 7) / 8, numGroups}};
  case graph::PackingForm::Awq:
    return {name + ".qweight",    name + ".scales",
            name + ".qzeros",     {inputs, outputs / 8},
            {numGroups, outputs}, {numGroups, outputs / 8}};
  default:
    return {name + ".qweight",    name + ".scales",
            name + ".qzeros",     {inputs / 8, outputs},
            {numGroups, outputs}, {numGroups, outputs / 8}};
  }
}

/// The I4 encoding whose groups lie in those of `group` columns.
std::optional<graph::Encoding> encodingOfGroups(int64_t group, int64_t inputs,
                                                bool hasZeros) {
  using graph::Encoding;
  if (group == inputs && inputs % 32 == 0)
    return hasZeros ? Encoding::I4_CHANNEL_ASYM : Encoding::I4_CHANNEL;
  if (group % 128 == 0)
    return hasZeros ? Encoding::I4_G128_ASYM : Encoding::I4_G128;
  if (group % 64 == 0)
    return hasZeros ? Encoding::I4_G64_ASYM : Encoding::I4_G64;
  if (group % 32 == 0)
    return hasZeros ? Encoding::I4_G32_ASYM : Encoding::I4_G32;
  return std::nullopt;
}

/// Whether all zero points are 8, the one of symmetric encodings.
bool areEights(ArrayRef<uint8_t> zeros, graph::PackingForm form) {
  uint8_t pair = form == graph::PackingForm::Gptq ? 0x77 : 0x88;
  return llvm::all_of(zeros, [&](uint8_t byte) { return byte == pair; });
}

} // namespace

llvm::Expected<PlacedTensor> TensorReader::findPart(const Twine &name,
                                                    ArrayRef<int64_t> shape,
                                                    ArrayRef<Dtype> dtypes) {
  std::string fullName = name.str();
  std::optional<PlacedTensor> found = folder.findTensor(fullName);
  if (!found)
    return llvm::createStringError(
        folder.path() + ": tensor '" + fullName +
        "' is missing; config.json's quantization_config asks for it with "
        "shape " +
        shapeText(shape));
  if (ArrayRef<int64_t>(found->tensor->shape) != shape)
    return refuse(*found, "has shape " + shapeText(found->tensor->shape) +
                              ", config.json allows " + shapeText(shape));
  if (!llvm::is_contained(dtypes, found->tensor->dtype)) {
    std::string allowed;
    for (Dtype dtype : dtypes)
      allowed += (allowed.empty() ? "" : ", ") + dtypeName(dtype).str();
    return refuse(*found, "has dtype " + dtypeName(found->tensor->dtype) +
                              ", allowed are " + allowed);
  }
  used.insert(fullName);
  return *found;
}

llvm::Error TensorReader::readPacked(const std::string &name,
                                     const Twine &symbol, int64_t outputs,
                                     int64_t inputs, importer::Weight &result) {
  constexpr Dtype kScaleTypes[] = {Dtype::F16, Dtype::BF16, Dtype::F32};
  graph::PackingForm form = quantization->form;
  int64_t group = quantization->group != 0 ? quantization->group : inputs;
  if (!encodingOfGroups(group, inputs, false) || inputs % group != 0 ||
      !graph::packedSizes(form, graph::Encoding::F16, group, outputs, inputs))
    return llvm::createStringError(
        folder.configPath() + ": field 'quantization_config' has groups of " +
        Twine(group) + " columns, which linear " + inQuotes(name) + " of " +
        Twine(outputs) + " rows and " + Twine(inputs) +
        " columns does not allow: groups are multiples of 32 that divide the "
        "columns, rows and columns multiples of 8");
  PackedParts parts = partsOf(form, name, outputs, inputs, inputs / group);
  auto codes = findPart(parts.codes, parts.codesShape, Dtype::I32);
  if (!codes)
    return codes.takeError();
  auto scales = findPart(parts.scales, parts.scalesShape, kScaleTypes);
  if (!scales)
    return scales.takeError();
  importer::Packed packed = {form,
                             *encodingOf(scales->tensor->dtype),
                             group,
                             {scales->file, scales->tensor->offset},
                             {}};
  if (quantization->hasZeros) {
    auto zeros = findPart(parts.zeros, parts.zerosShape, Dtype::I32);
    if (!zeros)
      return zeros.takeError();
    if (!areEights(folder.tensorBytes(*zeros), form))
      packed.zeros = {zeros->file, zeros->tensor->offset};
  }
  result = {symbol.str(),
            {outputs, inputs},
            *encodingOfGroups(group, inputs, packed.zeros.has_value()),
            codes->tensor->offset,
            codes->file};
  result.packed = packed;
  if (form == graph::PackingForm::Compressed) {
    ignore(name + ".weight_shape");
    return llvm::Error::success();
  }
  return checkOrder(name, inputs, group);
}

/// `g_idx` names the group of each column. Groups of columns that do not lie
/// side by side would need the inputs in another order.
llvm::Error TensorReader::checkOrder(const std::string &name, int64_t inputs,
                                     int64_t group) {
  if (!has(name + ".g_idx"))
    return llvm::Error::success();
  auto order = findPart(name + ".g_idx", {inputs}, Dtype::I32);
  if (!order)
    return order.takeError();
  ArrayRef<uint8_t> bytes = folder.tensorBytes(*order);
  for (int64_t k = 0; k < inputs; ++k)
    if (llvm::support::endian::read32le(bytes.data() + 4 * k) != k / group)
      return refuse(*order, "orders columns by activation (desc_act), allowed "
                            "are groups of columns side by side");
  return llvm::Error::success();
}

/// Some tools write biases of zeros for linears that have none.
void TensorReader::ignoreZeroBias(const Twine &name) {
  std::optional<PlacedTensor> bias = folder.findTensor(name.str());
  if (bias && llvm::all_of(folder.tensorBytes(*bias),
                           [](uint8_t byte) { return byte == 0; }))
    ignore(name);
}

void TensorReader::ignoreBelow(const Twine &prefix) {
  std::string begin = prefix.str();
  for (StringRef name : folder.tensorNames())
    if (name.starts_with(begin))
      used.insert(name);
}

llvm::Error TensorReader::refuseUnused(StringRef modelType) const {
  for (StringRef name : folder.tensorNames())
    if (!used.contains(name))
      return llvm::createStringError(folder.path() + ": tensor " +
                                     inQuotes(name) +
                                     " is not used by model type " + modelType +
                                     ", allowed are only tensors that are");
  return llvm::Error::success();
}

} // namespace llmc::huggingface
