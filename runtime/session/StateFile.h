// SPDX-License-Identifier: Apache-2.0
//
// The file of a saved session: whose states they are, how many tokens they
// hold, and their bytes. Files are untrusted.

#ifndef LLMC_RUNTIME_SESSION_STATEFILE_H
#define LLMC_RUNTIME_SESSION_STATEFILE_H

#include "runtime/format/Checksum.h"
#include "runtime/format/Reader.h"
#include "runtime/format/Status.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace llmc::runtime {

/// What a saved session fits to.
struct StateIdentity {
  uint64_t contentHash = 0; // of the .llmc file
  std::string variant;      // that ran: states of others are laid out otherwise
  uint64_t stateBytes = 0;  // of all states
};

/// Closes the file.
struct FileCloser {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, FileCloser>;

/// Writes to a temporary name; without `commit` nothing is left.
class StateFileWriter {
public:
  static StatusOr<std::unique_ptr<StateFileWriter>>
  create(const std::string &path, const StateIdentity &identity,
         uint32_t position);
  ~StateFileWriter();
  StateFileWriter(const StateFileWriter &) = delete;
  StateFileWriter &operator=(const StateFileWriter &) = delete;

  /// Appends bytes of the states.
  Status write(format::ByteSpan piece);
  /// Gives the file its name, replacing a file of that name.
  Status commit();

private:
  StateFileWriter(std::string path, const StateIdentity &identity,
                  uint32_t position);
  Status failed(const std::string &act) const;
  Status writeHeader();

  std::string path, temporary;
  uint64_t contentHash, variantHash, stateBytes;
  uint32_t position;
  OpenFile file;
  format::StreamingChecksum checksum;
};

/// A file that was checked whole before anything is taken from it.
class StateFileReader {
public:
  /// NotFound, Io; InvalidFile tells what was found and what was expected.
  static StatusOr<std::unique_ptr<StateFileReader>>
  open(const std::string &path, const StateIdentity &expected);

  uint32_t position() const { return numTokens; }
  /// The next bytes of the states.
  Status read(uint8_t *data, size_t size);

private:
  StateFileReader(std::string path, OpenFile file)
      : path(std::move(path)), file(std::move(file)) {}
  Status check(const StateIdentity &expected);

  std::string path;
  OpenFile file;
  uint32_t numTokens = 0;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_STATEFILE_H
