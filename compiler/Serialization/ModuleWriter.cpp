// SPDX-License-Identifier: Apache-2.0
//
// Sizes are known before any byte is packed, so sections get their places
// first, and threads pack weights in any order.

#include "compiler/Serialization/ModuleWriter.h"

#include "compiler/Serialization/OutputFile.h"
#include "compiler/Serialization/ProgramEncoder.h"
#include "compiler/Serialization/WeightTable.h"
#include "compiler/Serialization/WeightWriter.h"
#include "runtime/format/Checksum.h"
#include "runtime/format/FileHeader.h"
#include "runtime/format/ManifestValidator.h"

#include "llvm/Support/MathExtras.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace llmc::serialization {

namespace {

llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

class ModuleWriter {
public:
  ModuleWriter(const WeightTable &weights, const WriteOptions &options,
               OutputFile &file)
      : weights(weights), options(options), file(file),
        manifest(options.manifest) {}

  llvm::Expected<WeightBytes> run(ArrayRef<TargetProgram> programs);

private:
  format::Section &addSection(format::Section::Kind kind, StringRef name,
                              uint64_t size);
  llvm::Error writeWeights();
  llvm::Expected<bool> writeWeight(size_t index);
  void writeUntilDone();
  llvm::Error writeManifest();

  const WeightTable &weights;
  const WriteOptions &options;
  OutputFile &file;
  format::Manifest manifest;
  uint64_t end = format::kSectionAlignment; // of what has a place by now

  std::atomic<size_t> nextWeight{0};
  std::mutex mutex; // guards what follows
  WeightBytes numBytes;
  std::string firstError; // empty: none
};

format::Section &ModuleWriter::addSection(format::Section::Kind kind,
                                          StringRef name, uint64_t size) {
  format::Section &section = *manifest.add_sections();
  section.set_kind(kind);
  section.set_name(name.str());
  section.set_offset(end);
  section.set_size(size);
  end = llvm::alignTo(end + size, format::kSectionAlignment);
  return section;
}

llvm::Expected<WeightBytes>
ModuleWriter::run(ArrayRef<TargetProgram> programs) {
  // Sections 0 … n-1 are the weights, as encodeProgram expects.
  for (const StoredWeight &weight : weights.weights()) {
    auto size = static_cast<uint64_t>(weight.layout.bytes);
    format::Section &section =
        addSection(format::Section::WEIGHT, weight.name, size);
    section.set_layout(weight.layout.name);
    section.set_encoding(graph::encodingFacts(weight.encoding).name);
    section.set_elements(
        static_cast<uint64_t>(weight.layout.rows * weight.layout.columns));
    numBytes.all += size;
  }
  for (const TargetProgram &program : programs) {
    auto encoded = encodeProgram(
        program.module,
        {program.target, static_cast<uint32_t>(manifest.sections_size()),
         &weights, program.selfTests, program.cases});
    if (!encoded)
      return encoded.takeError();
    uint64_t size = encoded->code.size() * sizeof(uint32_t);
    format::Section &section =
        addSection(format::Section::CODE, program.target.name(), size);
    section.set_checksum(format::checksum(encoded->code.data(), size));
    if (llvm::Error error =
            file.write(section.offset(), encoded->code.data(), size))
      return error;
    *manifest.add_variants() = std::move(encoded->variant);
  }
  if (llvm::Error error = writeWeights())
    return error;
  if (llvm::Error error = writeManifest())
    return error;
  return numBytes;
}

llvm::Error ModuleWriter::writeWeights() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.numThreads; ++i)
    threads.emplace_back([this] { writeUntilDone(); });
  writeUntilDone();
  for (std::thread &thread : threads)
    thread.join();
  return firstError.empty() ? llvm::Error::success() : makeError(firstError);
}

void ModuleWriter::writeUntilDone() {
  while (true) {
    size_t index = nextWeight++;
    if (index >= weights.weights().size())
      return;
    auto isCopied = writeWeight(index);
    std::lock_guard<std::mutex> lock(mutex);
    if (!isCopied) {
      firstError = llvm::toString(isCopied.takeError());
      nextWeight = weights.weights().size(); // the others stop too
      return;
    }
    uint64_t size = manifest.sections(static_cast<int>(index)).size();
    numBytes.written += size;
    numBytes.copied += *isCopied ? size : 0;
    if (options.progress)
      options.progress(numBytes);
  }
}

/// Whether the weight was copied.
llvm::Expected<bool> ModuleWriter::writeWeight(size_t index) {
  const StoredWeight &weight = weights.weights()[index];
  // Each thread has its own sections.
  format::Section &section =
      *manifest.mutable_sections(static_cast<int>(index));
  auto written =
      WeightWriter(file, options.earlier).write(weight, section.offset());
  if (!written)
    return written.takeError();
  releaseSources(weight, weights.modelFiles());
  section.set_checksum(written->checksum);
  section.set_recipe(written->recipe);
  return written->isCopied;
}

llvm::Error ModuleWriter::writeManifest() {
  std::string bytes;
  if (!manifest.SerializeToString(&bytes))
    return makeError("the manifest has more than 2 GiB");
  format::FileHeader header;
  header.manifestOffset = end;
  header.manifestSize = bytes.size();
  header.manifestChecksum = format::checksum(bytes.data(), bytes.size());
  header.fileSize = end + bytes.size();
  // What a reader would refuse is our own mistake; better found here than on a
  // device.
  if (Status status = format::validateManifest(manifest, header.fileSize);
      !status.ok())
    return makeError("internal error: " + status.message());
  if (llvm::Error error = file.write(end, bytes.data(), bytes.size()))
    return error;
  auto headerBytes = format::encodeFileHeader(header);
  return file.write(0, headerBytes.data(), headerBytes.size());
}

} // namespace

llvm::Expected<WeightBytes> writeModule(ArrayRef<TargetProgram> programs,
                                        const WriteOptions &options) {
  std::vector<ModuleOp> modules;
  for (const TargetProgram &program : programs)
    modules.push_back(program.module);
  auto weights = WeightTable::build(modules, options.converted);
  if (!weights)
    return weights.takeError();
  auto file = OutputFile::create(options.path);
  if (!file)
    return file.takeError();
  auto numBytes = ModuleWriter(*weights, options, **file).run(programs);
  if (!numBytes)
    return numBytes.takeError();
  if (llvm::Error error = (*file)->commit())
    return error;
  return numBytes;
}

} // namespace llmc::serialization
