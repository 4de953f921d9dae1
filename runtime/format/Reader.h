// SPDX-License-Identifier: Apache-2.0
//
// Opens a .llmc file as untrusted bytes: after `open` every offset, count and
// index of the manifest is known to be good.

#ifndef LLMC_RUNTIME_FORMAT_READER_H
#define LLMC_RUNTIME_FORMAT_READER_H

#include "runtime/format/FileHeader.h"
#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"

#include <google/protobuf/arena.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace llmc::format {

/// Bytes that someone else owns.
struct ByteSpan {
  const uint8_t *data = nullptr;
  size_t size = 0;
};

/// A message that is parsed, with the arena in which all of it lies: one on the
/// heap that runs out of memory while it is parsed leaves parts behind.
template <typename Message>
class Parsed {
public:
  Message &operator*() { return *message; }
  const Message &operator*() const { return *message; }
  Message *operator->() { return message; }
  const Message *operator->() const { return message; }

private:
  google::protobuf::Arena arena;
  Message *message = google::protobuf::Arena::CreateMessage<Message>(&arena);
};

/// A mapped file, immutable; may be used from several threads.
class Reader {
public:
  /// Maps `path`, checks header, manifest checksum and manifest. Sections are
  /// not read: they are verified by `verifySection`, or by who copies them.
  static StatusOr<std::unique_ptr<Reader>> open(const std::string &path);

  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  const std::string &path() const { return filePath; }
  const FileHeader &header() const { return fileHeader; }
  const Manifest &manifest() const { return *fileManifest; }
  bool hasTokenizer() const { return !manifest().tokenizer().empty(); }
  /// Of a file that has one, parsed anew. InvalidFile: its bytes are no
  /// message.
  StatusOr<std::unique_ptr<const Parsed<Tokenizer>>> readTokenizer() const;
  /// Identifies the content: the manifest holds the checksum of every section.
  uint64_t contentHash() const { return fileHeader.manifestChecksum; }

  /// The whole file, from the beginning of a page on.
  const uint8_t *bytes() const { return data; }
  /// The bytes of section `index`, which must be < sections_size(). Valid while
  /// the reader lives.
  ByteSpan section(uint32_t index) const;
  /// Compares the checksum of section `index`.
  Status verifySection(uint32_t index) const;
  /// All sections.
  Status verify() const;
  /// Sentence for a section whose bytes have another checksum than the manifest
  /// says.
  Status checksumError(uint32_t index) const;
  /// Tells the system that the mapped pages wholly inside of `bytes` are not
  /// needed soon. They stay readable.
  void releasePages(ByteSpan bytes) const;

private:
  explicit Reader(std::string path) : filePath(std::move(path)) {}
  Status readManifest();

  std::string filePath;
  const uint8_t *data = nullptr;
  size_t size = 0;
  FileHeader fileHeader;
  Parsed<Manifest> fileManifest;
};

} // namespace llmc::format

#endif // LLMC_RUNTIME_FORMAT_READER_H
