// SPDX-License-Identifier: Apache-2.0
//
// Registration of the target dialect.

#include "dialects/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Target/TargetDialect.cpp.inc"
#include "dialects/Target/TargetEnums.cpp.inc"

namespace {

/// Parses `[` element, … `]`.
template <typename T>
mlir::FailureOr<llvm::SmallVector<T>> parseList(mlir::AsmParser &parser) {
  llvm::SmallVector<T> elements;
  auto parseElement = [&]() -> mlir::ParseResult {
    mlir::FailureOr<T> element = mlir::FieldParser<T>::parse(parser);
    if (failed(element))
      return mlir::failure();
    elements.push_back(*element);
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                     parseElement))
    return mlir::failure();
  return elements;
}

template <typename T>
void printList(mlir::AsmPrinter &printer, llvm::ArrayRef<T> elements) {
  printer << "[";
  llvm::interleaveComma(elements, printer,
                        [&](const T &element) { printer << element; });
  printer << "]";
}

} // namespace

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
