// SPDX-License-Identifier: Apache-2.0
//
// StateFile.h. The file: a header of 48 bytes, little-endian as the states
// are, and the bytes.

#include "runtime/session/StateFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace llmc::runtime {

namespace {

constexpr char kMagic[8] = {'L', 'L', 'M', 'C', 'S', 'E', 'S', '1'};
constexpr size_t kPieceBytes = size_t{1} << 20;

struct Header {
  char magic[8];
  uint64_t contentHash, variantHash;
  uint64_t stateBytes;
  uint64_t position;
  uint64_t checksum; // of the states, begun with the numbers above
};
static_assert(sizeof(Header) == 48, "written as it is");

uint64_t hashOf(const std::string &text) {
  return format::checksum(text.data(), text.size());
}

/// The header without its checksum, which begins the checksum.
Header makeHeader(uint64_t contentHash, uint64_t variantHash,
                  uint64_t stateBytes, uint64_t position) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.contentHash = contentHash;
  header.variantHash = variantHash;
  header.stateBytes = stateBytes;
  header.position = position;
  return header;
}

} // namespace

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

StateFileWriter::StateFileWriter(std::string path,
                                 const StateIdentity &identity,
                                 uint32_t position)
    : path(std::move(path)),
      temporary(this->path + "." + std::to_string(::getpid()) + ".tmp"),
      contentHash(identity.contentHash), variantHash(hashOf(identity.variant)),
      stateBytes(identity.stateBytes), position(position) {}

StatusOr<std::unique_ptr<StateFileWriter>>
StateFileWriter::create(const std::string &path, const StateIdentity &identity,
                        uint32_t position) {
  std::unique_ptr<StateFileWriter> writer(
      new StateFileWriter(path, identity, position));
  writer->file.reset(std::fopen(writer->temporary.c_str(), "wbx"));
  if (!writer->file)
    return writer->failed("create");
  LLMC_RETURN_IF_ERROR(writer->writeHeader());
  return writer;
}

StateFileWriter::~StateFileWriter() {
  if (!file)
    return;
  file.reset();
  std::remove(temporary.c_str());
}

Status StateFileWriter::failed(const std::string &act) const {
  return Status(StatusCode::Io,
                path + ": could not " + act + ": " + std::strerror(errno));
}

Status StateFileWriter::writeHeader() {
  const Header header =
      makeHeader(contentHash, variantHash, stateBytes, position);
  checksum.update(&header, sizeof(header));
  if (std::fwrite(&header, sizeof(header), 1, file.get()) != 1)
    return failed("write");
  return okStatus();
}

Status StateFileWriter::write(format::ByteSpan piece) {
  checksum.update(piece.data, piece.size);
  if (piece.size && std::fwrite(piece.data, piece.size, 1, file.get()) != 1)
    return failed("write");
  return okStatus();
}

Status StateFileWriter::commit() {
  Header header = makeHeader(contentHash, variantHash, stateBytes, position);
  header.checksum = checksum.digest();
  if (std::fseek(file.get(), 0, SEEK_SET) != 0 ||
      std::fwrite(&header, sizeof(header), 1, file.get()) != 1 ||
      std::fflush(file.get()) != 0 ||
      std::rename(temporary.c_str(), path.c_str()) != 0)
    return failed("write");
  // What is closed now has its final name and stays.
  file.reset();
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

StatusOr<std::unique_ptr<StateFileReader>>
StateFileReader::open(const std::string &path, const StateIdentity &expected) {
  OpenFile file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return Status(errno == ENOENT ? StatusCode::NotFound : StatusCode::Io,
                  path + ": could not open: " + std::strerror(errno));
  std::unique_ptr<StateFileReader> reader(
      new StateFileReader(path, std::move(file)));
  if (Status status = reader->check(expected); !status.ok())
    return status.withContext(path);
  return reader;
}

Status StateFileReader::check(const StateIdentity &expected) {
  const auto invalid = [](const std::string &text) {
    return Status(StatusCode::InvalidFile, text);
  };
  struct stat info;
  Header header{};
  if (::fstat(::fileno(file.get()), &info) != 0 || !S_ISREG(info.st_mode))
    return invalid("is no file");
  if (std::fread(&header, sizeof(header), 1, file.get()) != 1 ||
      std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return invalid("is no saved session");
  if (header.contentHash != expected.contentHash)
    return invalid("is a session of another .llmc file");
  if (header.variantHash != hashOf(expected.variant))
    return invalid("is a session of another variant than " + expected.variant);
  const uint64_t size = static_cast<uint64_t>(info.st_size) - sizeof(header);
  if (header.stateBytes != expected.stateBytes || size != header.stateBytes)
    return invalid("has " + std::to_string(size) +
                   " bytes of states and says " +
                   std::to_string(header.stateBytes) + ", expected are " +
                   std::to_string(expected.stateBytes));
  if (header.position > UINT32_MAX)
    return invalid("holds " + std::to_string(header.position) + " tokens");
  const Header plain = makeHeader(header.contentHash, header.variantHash,
                                  header.stateBytes, header.position);
  format::StreamingChecksum checksum;
  checksum.update(&plain, sizeof(plain));
  std::vector<uint8_t> piece(kPieceBytes);
  for (uint64_t left = size; left != 0;) {
    const size_t count = static_cast<size_t>(
        std::min<uint64_t>(left, static_cast<uint64_t>(piece.size())));
    LLMC_RETURN_IF_ERROR(read(piece.data(), count));
    checksum.update(piece.data(), count);
    left -= count;
  }
  if (checksum.digest() != header.checksum)
    return invalid("is damaged: its checksum differs");
  numTokens = static_cast<uint32_t>(header.position);
  if (std::fseek(file.get(), sizeof(header), SEEK_SET) != 0)
    return Status(StatusCode::Io,
                  std::string("could not read: ") + std::strerror(errno));
  return okStatus();
}

Status StateFileReader::read(uint8_t *data, size_t size) {
  if (size && std::fread(data, size, 1, file.get()) != 1)
    return Status(StatusCode::Io, path + ": ended early");
  return okStatus();
}

} // namespace llmc::runtime
