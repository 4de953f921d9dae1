// SPDX-License-Identifier: Apache-2.0
//
// Places of weights whose codes, scales and zero points are tensors of their
// own.

#include "compiler/Import/ONNX/GraphEmitter.h"

namespace llmc::onnx {

using graph::Encoding;

std::optional<Encoding> GraphEmitter::plainEncoding(DataType type) {
  switch (type) {
  case DataType::Float:
    return Encoding::F32;
  case DataType::Float16:
    return Encoding::F16;
  case DataType::BFloat16:
    return Encoding::BF16;
  default:
    return std::nullopt;
  }
}

/// Checks scales and zero points of a matrix of codes whose outputs are
/// dimension `axis` of the file's matrix.
static llvm::Error checkQuantization(const Constant &constant, size_t axis,
                                     int64_t numOutputs) {
  const Tensor &codes = *constant.tensor;
  const auto &[scale, zero, scaleAxis] = *constant.quantization;
  int64_t count = scale->numElements();
  if (scale->type != DataType::Float && scale->type != DataType::Float16)
    return llvm::createStringError("the scales of '" + codes.name +
                                   "' are of " + dataTypeName(scale->type) +
                                   ", allowed are FLOAT and FLOAT16");
  if (count != 1 && (count != numOutputs || scaleAxis.value_or(axis) != axis))
    return llvm::createStringError(
        "'" + codes.name + "' has " + Twine(count) +
        " scales, allowed is 1, or one for each of its " + Twine(numOutputs) +
        " outputs");
  if (zero && (zero->type != codes.type || zero->numElements() != count))
    return llvm::createStringError(
        "'" + codes.name + "' has " + Twine(zero->numElements()) +
        " zero points of " + dataTypeName(zero->type) + ", but " +
        Twine(count) + " scales and codes of " + dataTypeName(codes.type));
  return llvm::Error::success();
}

/// A matrix of int8 or uint8 with scales: a scale for each row, or one for all.
llvm::Expected<GraphEmitter::Place>
GraphEmitter::placeQuantized(const Constant &constant, Place place,
                             bool isTransposedInFile) {
  const Tensor &codes = *constant.tensor;
  const Quantization &quantization = *constant.quantization;
  if (llvm::Error error = checkQuantization(
          constant, isTransposedInFile ? 1 : 0, place.shape[0]))
    return error;
  bool isUnsigned = codes.type == DataType::UInt8;
  std::string form = isUnsigned ? "uint8" : "int8";
  if (isTransposedInFile)
    form += ".transposed";
  if (quantization.scale->numElements() == 1)
    form += ".tensor";
  bool isAsymmetric = isUnsigned || quantization.zero;
  place.encoding =
      isAsymmetric ? Encoding::I8_CHANNEL_ASYM : Encoding::I8_CHANNEL;
  graph::PlaceAttr zeros;
  if (quantization.zero)
    zeros = placeOf(*quantization.zero);
  auto packing = graph::PackingAttr::get(
      builder.getContext(), form, *plainEncoding(quantization.scale->type), 0,
      placeOf(*quantization.scale), zeros);
  graph::PlaceAttr start = placeOf(codes);
  place.source =
      graph::SourceAttr::get(builder.getContext(), start.getFile(),
                             start.getOffset() + constant.firstElement,
                             place.shape[0], mlir::FloatAttr(), packing);
  return place;
}

Value GraphEmitter::nbitsWeight(const Tensor &codes, const Tensor &scales,
                                const Tensor *zeros, ArrayRef<int64_t> shape,
                                int64_t group) {
  bool hasZeros = zeros != nullptr;
  Encoding encoding =
      group == 32   ? (hasZeros ? Encoding::I4_G32_ASYM : Encoding::I4_G32)
      : group == 64 ? (hasZeros ? Encoding::I4_G64_ASYM : Encoding::I4_G64)
                    : (hasZeros ? Encoding::I4_G128_ASYM : Encoding::I4_G128);
  graph::PlaceAttr zeroPlace;
  if (zeros)
    zeroPlace = placeOf(*zeros);
  auto packing = graph::PackingAttr::get(builder.getContext(), "nbits",
                                         *plainEncoding(scales.type), group,
                                         placeOf(scales), zeroPlace);
  graph::PlaceAttr start = placeOf(codes);
  return load({codes.name.str(), SmallVector<int64_t, 2>(shape), encoding,
               graph::SourceAttr::get(builder.getContext(), start.getFile(),
                                      start.getOffset(), shape[0],
                                      mlir::FloatAttr(), packing)});
}

} // namespace llmc::onnx
