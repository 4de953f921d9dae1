// SPDX-License-Identifier: Apache-2.0
//
// From a weight's tensor type to the layout of its bytes on the device.

#include "codegen/Lowering/WeightType.h"

namespace llmc::codegen {

WeightFormat weightFormat(graph::Encoding encoding) {
  switch (encoding) {
  case graph::Encoding::F32:
    return WeightFormat::F32;
  case graph::Encoding::F16:
    return WeightFormat::F16;
  case graph::Encoding::BF16:
    return WeightFormat::BF16;
  case graph::Encoding::Q8_0:
    return WeightFormat::Q8_0;
  case graph::Encoding::Q4_0:
    return WeightFormat::Q4_0;
  case graph::Encoding::Q4_K:
    return WeightFormat::Q4_K;
  case graph::Encoding::Q5_K:
    return WeightFormat::Q5_K;
  case graph::Encoding::Q6_K:
    return WeightFormat::Q6_K;
  case graph::Encoding::Q2_K:
    return WeightFormat::I8G16Offset;
  case graph::Encoding::Q3_K:
    return WeightFormat::I8G16;
  case graph::Encoding::IQ2_XXS:
    return WeightFormat::I8G32;
  }
  return WeightFormat::F32;
}

std::optional<WeightLayout> layoutOf(RankedTensorType encodedType) {
  auto encoded = dyn_cast<graph::EncodedType>(encodedType.getElementType());
  if (!encoded || !encodedType.hasStaticShape())
    return std::nullopt;
  if (encodedType.getRank() == 1)
    return vectorLayout(encodedType.getDimSize(0));
  if (encodedType.getRank() == 2)
    return tiledLayout(weightFormat(encoded.getEncoding()),
                       encodedType.getDimSize(0), encodedType.getDimSize(1));
  return std::nullopt;
}

} // namespace llmc::codegen
