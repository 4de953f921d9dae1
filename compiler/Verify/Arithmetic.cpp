// SPDX-License-Identifier: Apache-2.0

#include "compiler/Verify/Arithmetic.h"

#include "dialects/Target/Target.h"

namespace llmc::verify {

static bool isHalf(Type type) {
  return cast<RankedTensorType>(type).getElementType().isF16();
}

std::string arithmeticOf(graph::RegionOp region) {
  for (auto linear : region.getBody().getOps<graph::QuantizedLinearOp>())
    if (linear.getScales())
      return "i8";
  auto device =
      region->getParentOfType<ModuleOp>()->getAttrOfType<target::DeviceAttr>(
          target::DeviceAttr::getModuleAttrName());
  bool attends = !region.getBody().getOps<graph::SdpaOp>().empty();
  if (device && attends && device.getKvType() != "f32")
    return device.getKvType().str();
  if (llvm::any_of(region->getOperandTypes(), isHalf) ||
      llvm::any_of(region->getResultTypes(), isHalf))
    return "f16";
  auto config = region.getLoweringConfig();
  return config ? config->getArithmetic().str() : "f32";
}

double boundOf(const std::string &arithmetic) {
  if (arithmetic == "i8")
    return 2e-2;
  return arithmetic == "f16" ? 5e-3 : 2e-5;
}

} // namespace llmc::verify
