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
  case graph::Encoding::I4_G32:
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
  case graph::Encoding::IQ2_XS:
  case graph::Encoding::IQ2_S:
  case graph::Encoding::IQ1_M:
    return WeightFormat::I8G16;
  case graph::Encoding::IQ2_XXS:
  case graph::Encoding::Q5_0:
  case graph::Encoding::IQ3_XXS:
  case graph::Encoding::IQ3_S:
  case graph::Encoding::IQ1_S:
  case graph::Encoding::TQ1_0:
  case graph::Encoding::TQ2_0:
    return WeightFormat::I8G32;
  case graph::Encoding::Q5_1:
    return WeightFormat::I8G32Offset;
  case graph::Encoding::Q4_1:
    return WeightFormat::Q4_1;
  case graph::Encoding::IQ4_NL:
    return WeightFormat::IQ4_NL;
  case graph::Encoding::IQ4_XS:
    return WeightFormat::IQ4_XS;
  case graph::Encoding::MXFP4:
    return WeightFormat::MXFP4;
  case graph::Encoding::I4_G64:
    return WeightFormat::I4G64;
  case graph::Encoding::I4_G128:
    return WeightFormat::I4G128;
  case graph::Encoding::I4_CHANNEL:
    return WeightFormat::I4Channel;
  case graph::Encoding::I4_G32_ASYM:
    return WeightFormat::I4G32Zero;
  case graph::Encoding::I4_G64_ASYM:
    return WeightFormat::I4G64Zero;
  case graph::Encoding::I4_G128_ASYM:
    return WeightFormat::I4G128Zero;
  case graph::Encoding::I4_CHANNEL_ASYM:
    return WeightFormat::I4ChannelZero;
  case graph::Encoding::I8_CHANNEL:
    return WeightFormat::I8Channel;
  case graph::Encoding::I8_CHANNEL_ASYM:
    return WeightFormat::I8ChannelZero;
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
