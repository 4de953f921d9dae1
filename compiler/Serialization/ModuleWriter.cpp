// SPDX-License-Identifier: Apache-2.0
//
// Sizes are known before any byte is packed, so sections get their places
// first, and threads pack weights in any order.

#include "compiler/Serialization/ModuleWriter.h"

#include "compiler/Serialization/OutputFile.h"
#include "compiler/Serialization/PackWeight.h"
#include "compiler/Serialization/ProgramEncoder.h"
#include "compiler/Serialization/WeightTable.h"
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

  llvm::Error run(ArrayRef<TargetProgram> programs);

private:
  format::Section &addSection(format::Section::Kind kind, StringRef name,
                              uint64_t size);
  llvm::Error writeWeights();
  llvm::Error writeWeight(size_t index);
  void packUntilDone();
  llvm::Error writeManifest();

  const WeightTable &weights;
  const WriteOptions &options;
  OutputFile &file;
  format::Manifest manifest;
  uint64_t end = format::kSectionAlignment; // of what has a place by now

  std::atomic<size_t> nextWeight{0};
  std::mutex mutex; // guards what follows
  uint64_t numBytesDone = 0;
  uint64_t numBytesToDo = 0;
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

llvm::Error ModuleWriter::run(ArrayRef<TargetProgram> programs) {
  // Sections 0 … n-1 are the weights, as encodeProgram expects.
  for (const StoredWeight &weight : weights.weights()) {
    auto size = static_cast<uint64_t>(weight.layout.bytes);
    format::Section &section =
        addSection(format::Section::WEIGHT, weight.name, size);
    section.set_layout(weight.layout.name);
    section.set_encoding(graph::encodingFacts(weight.encoding).name);
    section.set_elements(
        static_cast<uint64_t>(weight.layout.rows * weight.layout.columns));
    numBytesToDo += size;
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
  return writeManifest();
}

llvm::Error ModuleWriter::writeWeights() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.numThreads; ++i)
    threads.emplace_back([this] { packUntilDone(); });
  packUntilDone();
  for (std::thread &thread : threads)
    thread.join();
  return firstError.empty() ? llvm::Error::success() : makeError(firstError);
}

void ModuleWriter::packUntilDone() {
  while (true) {
    size_t index = nextWeight++;
    if (index >= weights.weights().size())
      return;
    llvm::Error error = writeWeight(index);
    std::lock_guard<std::mutex> lock(mutex);
    if (error) {
      firstError = llvm::toString(std::move(error));
      nextWeight = weights.weights().size(); // the others stop too
      return;
    }
    numBytesDone += manifest.sections(static_cast<int>(index)).size();
    if (options.progress)
      options.progress(numBytesDone, numBytesToDo);
  }
}

llvm::Error ModuleWriter::writeWeight(size_t index) {
  const StoredWeight &weight = weights.weights()[index];
  std::vector<uint8_t> packed(weight.layout.bytes);
  WeightPacker packer(weight.encoding, weight.layout, weight.sources);
  if (auto problem = packer.packTiles(0, packer.numTiles(), packed.data()))
    return makeError("weight '" + weight.name + "', " + *problem);
  weights.releaseSources(weight);
  // Each thread has its own sections.
  format::Section &section =
      *manifest.mutable_sections(static_cast<int>(index));
  section.set_checksum(format::checksum(packed.data(), packed.size()));
  return file.write(section.offset(), packed.data(), packed.size());
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

llvm::Error writeModule(ArrayRef<TargetProgram> programs,
                        const WriteOptions &options) {
  std::vector<ModuleOp> modules;
  for (const TargetProgram &program : programs)
    modules.push_back(program.module);
  auto weights = WeightTable::build(modules);
  if (!weights)
    return weights.takeError();
  auto file = OutputFile::create(options.path);
  if (!file)
    return file.takeError();
  if (llvm::Error error = ModuleWriter(*weights, options, **file).run(programs))
    return error;
  return (*file)->commit();
}

} // namespace llmc::serialization
