// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a .llmc file: as they are, and as the manifest of a file whose
// header and checksums are right, which mutation alone would never find.

#include "runtime/format/Checksum.h"
#include "runtime/format/Reader.h"
#include "test/fuzz/Fuzz.h"
#include "test/fuzz/TokenizerUse.h"

#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using llmc::format::FileHeader;
using llmc::format::Reader;

/// Where manifests are put: behind room for sections.
constexpr size_t kManifestOffset = 4 * llmc::format::kSectionAlignment;

/// A file in memory that can be opened by its path.
class MemoryFile {
public:
  MemoryFile() : descriptor(::memfd_create("fuzz", 0)) {
    FUZZ_CHECK(descriptor >= 0);
    path = "/proc/self/fd/" + std::to_string(descriptor);
  }

  void write(const uint8_t *data, size_t size) {
    FUZZ_CHECK(::ftruncate(descriptor, 0) == 0);
    FUZZ_CHECK(::pwrite(descriptor, data, size, 0) ==
               static_cast<ssize_t>(size));
  }

  std::string path;

private:
  int descriptor;
};

std::vector<uint8_t> fileWithManifest(const uint8_t *data, size_t size) {
  std::vector<uint8_t> file(kManifestOffset);
  FileHeader header;
  header.manifestOffset = kManifestOffset;
  header.manifestSize = size;
  header.manifestChecksum = llmc::format::checksum(data, size);
  header.fileSize = kManifestOffset + size;
  auto bytes = llmc::format::encodeFileHeader(header);
  std::memcpy(file.data(), bytes.data(), bytes.size());
  file.insert(file.end(), data, data + size);
  return file;
}

void read(const std::string &path, std::string_view text) {
  auto reader = Reader::open(path);
  if (!reader.ok())
    return;
  (void)(*reader)->verify().ok();
  if (!(*reader)->hasTokenizer())
    return;
  auto tokenizer = (*reader)->readTokenizer();
  if (tokenizer.ok())
    llmc::fuzz::useTokenizer(***tokenizer, text);
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  std::string_view text = llmc::fuzz::toText(data, size);
  file.write(data, size);
  read(file.path, text);
  std::vector<uint8_t> whole = fileWithManifest(data, size);
  file.write(whole.data(), whole.size());
  read(file.path, text);
  return 0;
}
