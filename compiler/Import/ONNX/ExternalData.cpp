// SPDX-License-Identifier: Apache-2.0
//
// The location is checked as text first, then what it really leads to.

#include "compiler/Import/ONNX/ExternalData.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace llmc::onnx {

namespace path = llvm::sys::path;

namespace {

/// Why the location is refused as text; empty if it is not.
StringRef findFault(StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.contains('\0'))
    return "has a zero byte";
  if (path::is_absolute(location))
    return "is an absolute path";
  for (auto part = path::begin(location); part != path::end(location); ++part)
    if (*part == "..")
      return "has a part '..'";
  return "";
}

/// The path without symbolic links.
llvm::Expected<llvm::SmallString<256>> realPath(StringRef file) {
  llvm::SmallString<256> result;
  if (std::error_code error = llvm::sys::fs::real_path(file, result))
    return llvm::createStringError(file +
                                   ": can't be read: " + error.message());
  return result;
}

} // namespace

llvm::Expected<std::string> resolveExternalData(StringRef modelPath,
                                                StringRef location) {
  std::string quoted;
  llvm::raw_string_ostream stream(quoted);
  llvm::printEscapedString(location.take_front(200), stream);
  auto refuse = [&](StringRef fault) {
    return llvm::createStringError(modelPath + ": the location '" + quoted +
                                   "' of external data " + fault +
                                   ", allowed is a file in the model's folder");
  };
  if (StringRef fault = findFault(location); !fault.empty())
    return refuse(fault);
  StringRef folder = path::parent_path(modelPath);
  llvm::Expected<llvm::SmallString<256>> root =
      realPath(folder.empty() ? "." : folder);
  if (!root)
    return root.takeError();
  llvm::SmallString<256> file(*root);
  path::append(file, location);
  llvm::Expected<llvm::SmallString<256>> target = realPath(file);
  if (!target)
    return target.takeError();
  StringRef inside = *target;
  bool isInside =
      *root == "/" || (inside.consume_front(*root) && inside.starts_with("/"));
  if (!isInside)
    return refuse("leads out of the folder through a link");
  if (!llvm::sys::fs::is_regular_file(*target))
    return refuse("is no regular file");
  return target->str().str();
}

} // namespace llmc::onnx
