// SPDX-License-Identifier: Apache-2.0
//
// Makes .llmc files by hand, independent of the compiler's writer.

#ifndef LLMC_TEST_SUPPORT_MODULEFILE_H
#define LLMC_TEST_SUPPORT_MODULEFILE_H

#include "runtime/format/manifest.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::test {

using Bytes = std::vector<uint8_t>;

/// A file under construction. Sections of the manifest get their offsets,
/// sizes and checksums when the bytes are made.
struct ModuleFile {
  format::Manifest manifest;
  std::vector<Bytes> sections; // contents, in the order of manifest.sections

  /// Adds a section and returns its index.
  uint32_t addSection(format::Section::Kind kind, const std::string &name,
                      Bytes bytes);
  /// The whole file.
  Bytes makeBytes();
};

/// The bytes of a file whose manifest is `manifest` as it is, right or wrong,
/// after `head` (header room and sections).
Bytes sealManifest(const format::Manifest &manifest, Bytes head);
/// The same with the manifest's bytes.
Bytes sealManifest(const std::string &text, Bytes head);

/// A path in the folder for temporary files that no other process has.
std::string temporaryPath(const std::string &name);

/// Writes `bytes` to a new file below the test's temporary folder.
std::string writeTemporary(const std::string &name, const Bytes &bytes);

/// The content of a file; fails the test's process when it can't be read.
Bytes readBytes(const std::string &path);

} // namespace llmc::test

#endif // LLMC_TEST_SUPPORT_MODULEFILE_H
