// SPDX-License-Identifier: Apache-2.0
//
// Graph modules written as text.

#include "compiler/Import/Import.h"

#include "dialects/Graph/Graph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Path.h"

namespace llmc::importer {

namespace {

/// "file:line:column: message".
std::string describe(mlir::Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto place = dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
    stream << place.getFilename().getValue() << ':' << place.getLine() << ':'
           << place.getColumn();
  else
    stream << diagnostic.getLocation();
  stream << ": " << diagnostic;
  return text;
}

/// Makes relative paths relative to `folder`; fails when they are no strings.
llvm::Error resolveFiles(ModuleOp module, StringRef path) {
  auto files = module->getAttrOfType<ArrayAttr>("graph.files");
  if (!files)
    return llvm::Error::success();
  SmallVector<Attribute> resolved;
  Builder builder(module.getContext());
  for (Attribute file : files) {
    auto name = dyn_cast<StringAttr>(file);
    if (isa<mlir::DenseF32ArrayAttr>(file)) {
      resolved.push_back(file);
      continue;
    }
    if (!name)
      return llvm::createStringError(path +
                                     ": graph.files holds something else than "
                                     "strings and arrays of f32");
    SmallString<256> full(name.getValue());
    if (llvm::sys::path::is_relative(full)) {
      full = llvm::sys::path::parent_path(path);
      llvm::sys::path::append(full, name.getValue());
    }
    resolved.push_back(builder.getStringAttr(full));
  }
  module->setAttr("graph.files", builder.getArrayAttr(resolved));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> importMlirFile(MLIRContext &context,
                                                     StringRef path) {
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        messages += (messages.empty() ? "" : "\n") + describe(diagnostic);
      });
  auto module = mlir::parseSourceFile<ModuleOp>(path, &context);
  if (!module)
    return llvm::createStringError(messages.empty() ? path + ": can't be read"
                                                    : Twine(messages));
  if (llvm::Error error = resolveFiles(*module, path))
    return error;
  return module;
}

} // namespace llmc::importer
