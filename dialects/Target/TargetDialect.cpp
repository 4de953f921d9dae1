// SPDX-License-Identifier: Apache-2.0
//
// Registration of the target dialect.

#include "dialects/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Target/TargetDialect.cpp.inc"
#include "dialects/Target/TargetEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Target/TargetAttrs.cpp.inc"

namespace llmc::target {

void TargetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Target/TargetAttrs.cpp.inc"
      >();
}

static bool contains(ArrayRef<StringAttr> names, StringRef name) {
  return llvm::any_of(names, [&](StringAttr candidate) {
    return candidate.getValue() == name;
  });
}

bool DeviceAttr::hasFeature(StringRef feature) const {
  return contains(getFeatures(), feature);
}
bool DeviceAttr::hasQuirk(StringRef quirk) const {
  return contains(getQuirks(), quirk);
}

} // namespace llmc::target
