// SPDX-License-Identifier: Apache-2.0
//
// ModuleFile.h.

#include "test/support/ModuleFile.h"

#include "runtime/format/Checksum.h"
#include "runtime/format/FileHeader.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace llmc::test {

uint32_t ModuleFile::addSection(format::Section::Kind kind,
                                const std::string &name, Bytes bytes) {
  format::Section *section = manifest.add_sections();
  section->set_kind(kind);
  section->set_name(name);
  sections.push_back(std::move(bytes));
  return static_cast<uint32_t>(sections.size() - 1);
}

Bytes ModuleFile::makeBytes() {
  Bytes head(format::kFileHeaderBytes);
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t offset = (head.size() + format::kSectionAlignment - 1) /
                          format::kSectionAlignment * format::kSectionAlignment;
    format::Section *section = manifest.mutable_sections(static_cast<int>(i));
    section->set_offset(offset);
    section->set_size(sections[i].size());
    section->set_checksum(
        format::checksum(sections[i].data(), sections[i].size()));
    head.resize(offset);
    head.insert(head.end(), sections[i].begin(), sections[i].end());
  }
  return sealManifest(manifest, std::move(head));
}

Bytes sealManifest(const format::Manifest &manifest, Bytes head) {
  return sealManifest(manifest.SerializeAsString(), std::move(head));
}

Bytes sealManifest(const std::string &text, Bytes head) {
  format::FileHeader header;
  header.manifestOffset = head.size();
  header.manifestSize = text.size();
  header.manifestChecksum = format::checksum(text.data(), text.size());
  header.fileSize = head.size() + text.size();
  head.insert(head.end(), text.begin(), text.end());
  const auto encoded = format::encodeFileHeader(header);
  std::copy(encoded.begin(), encoded.end(), head.begin());
  return head;
}

std::string temporaryPath(const std::string &name) {
  const char *folder = std::getenv("TMPDIR");
  return std::string(folder ? folder : "/tmp") + "/llmc-" +
         std::to_string(::getpid()) + "-" + name;
}

std::string writeTemporary(const std::string &name, const Bytes &bytes) {
  const std::string path = temporaryPath(name);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

Bytes readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "can't read %s\n", path.c_str());
    std::abort();
  }
  return Bytes(std::istreambuf_iterator<char>(file),
               std::istreambuf_iterator<char>());
}

} // namespace llmc::test
