// SPDX-License-Identifier: Apache-2.0
//
// Positioned writes to a temporary file, and its rename.

#include "compiler/Serialization/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace llmc::serialization {

OutputFile::OutputFile(std::string path, std::string temporaryPath,
                       int descriptor)
    : path(std::move(path)), temporaryPath(std::move(temporaryPath)),
      descriptor(descriptor) {}

llvm::Expected<std::unique_ptr<OutputFile>>
OutputFile::create(llvm::StringRef path) {
  llvm::SmallString<128> temporaryPath;
  int descriptor = -1;
  if (std::error_code code = llvm::sys::fs::createUniqueFile(
          path + ".%%%%%%.tmp", descriptor, temporaryPath,
          llvm::sys::fs::OF_None, 0666))
    return llvm::createStringError(code, "cannot create '" + path +
                                             "': " + code.message());
  llvm::sys::RemoveFileOnSignal(temporaryPath);
  return std::unique_ptr<OutputFile>(
      new OutputFile(path.str(), temporaryPath.str().str(), descriptor));
}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  llvm::sys::fs::remove(temporaryPath);
  llvm::sys::DontRemoveFileOnSignal(temporaryPath);
}

llvm::Error OutputFile::failed(llvm::StringRef act) const {
  std::error_code code(errno, std::generic_category());
  return llvm::createStringError(code, "cannot " + act + " '" + path +
                                           "': " + code.message());
}

llvm::Error OutputFile::write(uint64_t offset, const void *data, size_t size) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;
  const char *from = static_cast<const char *>(data);
  while (size != 0) {
    ssize_t written = ::pwrite(descriptor, from, std::min(size, kMostAtOnce),
                               static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failed("write to");
    from += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return llvm::Error::success();
}

llvm::Error OutputFile::commit() {
  // Some file systems report a full disk only now.
  int closing = std::exchange(descriptor, -1);
  llvm::Error error = llvm::Error::success();
  if (::close(closing) != 0)
    error = failed("write to");
  else if (::rename(temporaryPath.c_str(), path.c_str()) != 0)
    error = failed("rename a temporary file to");
  if (error)
    llvm::sys::fs::remove(temporaryPath);
  llvm::sys::DontRemoveFileOnSignal(temporaryPath);
  return error;
}

} // namespace llmc::serialization
