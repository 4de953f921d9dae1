// SPDX-License-Identifier: Apache-2.0
//
// Reader.h over mmap.

#include "runtime/format/Reader.h"

#include "runtime/format/Checksum.h"
#include "runtime/format/ManifestValidator.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace llmc::format {

namespace {

Status systemError(const std::string &path, const char *act) {
  const int error = errno;
  return Status(error == ENOENT ? StatusCode::NotFound : StatusCode::Io,
                path + ": could not " + act + ": " + std::strerror(error));
}

/// Maps the whole of `path` read-only into `bytes`; an empty file gives an
/// empty span.
Status mapFile(const std::string &path, ByteSpan &bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(path, "open");
  struct stat info;
  if (::fstat(file, &info) != 0) {
    Status status = systemError(path, "stat");
    ::close(file);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    return Status(StatusCode::InvalidFile, path + ": is not a regular file");
  }
  const size_t size = static_cast<size_t>(info.st_size);
  void *mapped =
      size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  Status status = mapped == MAP_FAILED ? systemError(path, "map") : okStatus();
  ::close(file);
  if (status.ok())
    bytes = {static_cast<const uint8_t *>(mapped), size};
  return status;
}

} // namespace

StatusOr<std::unique_ptr<Reader>> Reader::open(const std::string &path) {
  std::unique_ptr<Reader> reader(new Reader(path));
  ByteSpan bytes;
  LLMC_RETURN_IF_ERROR(mapFile(path, bytes));
  reader->data = bytes.data;
  reader->size = bytes.size;
  if (Status status = reader->readManifest(); !status.ok())
    return status.withContext(path);
  return reader;
}

Reader::~Reader() {
  if (data)
    ::munmap(const_cast<uint8_t *>(data), size);
}

Status Reader::readManifest() {
  LLMC_ASSIGN_OR_RETURN(fileHeader, decodeFileHeader(data, size));
  if (fileHeader.fileSize != size)
    return Status(StatusCode::InvalidFile,
                  "the file has " + std::to_string(size) +
                      " bytes, its header says " +
                      std::to_string(fileHeader.fileSize) +
                      ": it is truncated or extended");
  if (fileHeader.manifestSize > kMaxManifestBytes)
    return Status(
        StatusCode::InvalidFile,
        "the manifest has " + std::to_string(fileHeader.manifestSize) +
            " bytes, allowed are " + std::to_string(kMaxManifestBytes));
  const uint8_t *bytes = data + fileHeader.manifestOffset;
  const size_t bytesSize = static_cast<size_t>(fileHeader.manifestSize);
  if (checksum(bytes, bytesSize) != fileHeader.manifestChecksum)
    return Status(
        StatusCode::InvalidFile,
        "the manifest's checksum does not match: the file is damaged");
  if (!fileManifest->ParseFromArray(bytes, static_cast<int>(bytesSize)))
    return Status(StatusCode::InvalidFile,
                  "the manifest is not a valid protobuf message");
  releasePages({bytes, bytesSize});
  return validateManifest(*fileManifest, size);
}

StatusOr<std::unique_ptr<const Parsed<Tokenizer>>>
Reader::readTokenizer() const {
  auto tokenizer = std::make_unique<Parsed<Tokenizer>>();
  if (!(*tokenizer)->ParseFromString(manifest().tokenizer()))
    return Status(StatusCode::InvalidFile,
                  filePath + ": the tokenizer is not a valid protobuf message");
  return std::unique_ptr<const Parsed<Tokenizer>>(std::move(tokenizer));
}

ByteSpan Reader::section(uint32_t index) const {
  const Section &section = fileManifest->sections(static_cast<int>(index));
  return ByteSpan{data + section.offset(), static_cast<size_t>(section.size())};
}

Status Reader::verifySection(uint32_t index) const {
  const ByteSpan bytes = section(index);
  if (checksum(bytes.data, bytes.size) !=
      fileManifest->sections(static_cast<int>(index)).checksum())
    return checksumError(index);
  return okStatus();
}

Status Reader::verify() const {
  for (int i = 0; i < fileManifest->sections_size(); ++i) {
    LLMC_RETURN_IF_ERROR(verifySection(static_cast<uint32_t>(i)));
    releasePages(section(static_cast<uint32_t>(i)));
  }
  return okStatus();
}

Status Reader::checksumError(uint32_t index) const {
  return Status(StatusCode::InvalidFile,
                filePath + ": the checksum of sections[" +
                    std::to_string(index) + "] (" +
                    fileManifest->sections(static_cast<int>(index)).name() +
                    ") does not match: the file is damaged");
}

void Reader::releasePages(ByteSpan bytes) const {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(bytes.data) + page - 1) / page * page;
  const uintptr_t end =
      (reinterpret_cast<uintptr_t>(bytes.data) + bytes.size) / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

} // namespace llmc::format
