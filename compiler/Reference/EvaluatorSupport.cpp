// SPDX-License-Identifier: Apache-2.0

#include "compiler/Reference/EvaluatorSupport.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::reference {

llvm::Error fail(Operation &op, const Twine &message) {
  std::string text;
  llvm::raw_string_ostream(text)
      << op.getLoc() << ": '" << op.getName() << "' " << message;
  return llvm::createStringError(text);
}

std::string describe(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [index, size] : llvm::enumerate(shape))
    text += (index ? ", " : "") +
            (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text + "]";
}

static double roundToHalf(double number) {
  llvm::APFloat value(number);
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

void roundTo(Type elementType, Precision precision, Tensor &tensor) {
  if (elementType.isF16())
    for (double &value : tensor.values)
      value = roundToHalf(value);
  else if (precision == Precision::Single)
    for (double &value : tensor.values)
      value = static_cast<float>(value);
}

} // namespace llmc::reference
