// SPDX-License-Identifier: Apache-2.0
//
// The common names of MLIR and LLVM, imported into namespace llmc so that no
// file needs a using-directive.

#ifndef LLMC_DIALECTS_SUPPORT_LLVM_H
#define LLMC_DIALECTS_SUPPORT_LLVM_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class AffineMap;
class ArrayAttr;
class Attribute;
class Block;
class Builder;
class DictionaryAttr;
class FlatSymbolRefAttr;
class FloatAttr;
class FloatType;
class IRMapping;
class InFlightDiagnostic;
class IRRewriter;
class ImplicitLocOpBuilder;
class IntegerAttr;
class IntegerType;
class Location;
class MLIRContext;
class MemRefType;
class ModuleOp;
class OpBuilder;
class OpOperand;
class OpResult;
class Operation;
class PatternRewriter;
class RankedTensorType;
class Region;
class RewritePatternSet;
class ShapedType;
class StringAttr;
class SymbolRefAttr;
class SymbolTable;
class SymbolTableCollection;
class Type;
class TypeAttr;
class UnitAttr;
class Value;
class ValueRange;
class VectorType;
template <typename T>
class OwningOpRef;
} // namespace mlir

namespace llmc {
// NOLINTBEGIN(misc-unused-using-decls)
using llvm::ArrayRef;
using llvm::cast;
using llvm::cast_if_present;
using llvm::DenseMap;
using llvm::dyn_cast;
using llvm::dyn_cast_if_present;
using llvm::isa;
using llvm::isa_and_present;
using llvm::MutableArrayRef;
using llvm::raw_ostream;
using llvm::SmallString;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;
using llvm::Twine;

using mlir::ArrayAttr;
using mlir::Attribute;
using mlir::Block;
using mlir::Builder;
using mlir::DictionaryAttr;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;
using mlir::FlatSymbolRefAttr;
using mlir::FloatAttr;
using mlir::FloatType;
using mlir::ImplicitLocOpBuilder;
using mlir::InFlightDiagnostic;
using mlir::IntegerAttr;
using mlir::IntegerType;
using mlir::IRMapping;
using mlir::IRRewriter;
using mlir::Location;
using mlir::LogicalResult;
using mlir::MemRefType;
using mlir::MLIRContext;
using mlir::ModuleOp;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::OpOperand;
using mlir::OpResult;
using mlir::OwningOpRef;
using mlir::ParseResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Region;
using mlir::RewritePatternSet;
using mlir::ShapedType;
using mlir::StringAttr;
using mlir::succeeded;
using mlir::success;
using mlir::SymbolRefAttr;
using mlir::SymbolTable;
using mlir::SymbolTableCollection;
using mlir::Type;
using mlir::TypeAttr;
using mlir::UnitAttr;
using mlir::Value;
using mlir::ValueRange;
using mlir::VectorType;
// NOLINTEND(misc-unused-using-decls)
} // namespace llmc

#endif // LLMC_DIALECTS_SUPPORT_LLVM_H
