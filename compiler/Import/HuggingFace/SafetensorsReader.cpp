// SPDX-License-Identifier: Apache-2.0
//
// A file is a u64 length (little-endian), a JSON header of that many bytes, and
// the tensors' bytes, which offsets in the header count from there.

#include "compiler/Import/HuggingFace/SafetensorsReader.h"

#include "compiler/Import/HuggingFace/Json.h"
#include "compiler/Import/HuggingFace/SafetensorsHeader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

namespace llmc::huggingface {

namespace {

constexpr uint64_t kLengthBytes = 8;
/// The format's own limit.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr StringRef kDownloadAgain =
    "; the file is truncated or damaged: download it again";

} // namespace

llvm::Error SafetensorsFile::fail(const Twine &message) const {
  return llvm::createStringError(name + ": " + message);
}

llvm::Expected<std::unique_ptr<SafetensorsFile>>
SafetensorsFile::open(StringRef path) {
  auto bytes = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::createStringError(
        path + ": can't be read: " + bytes.getError().message());
  return parse(std::move(*bytes), path);
}

llvm::Expected<std::unique_ptr<SafetensorsFile>>
SafetensorsFile::parse(std::unique_ptr<llvm::MemoryBuffer> bytes,
                       StringRef name) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile());
  file->buffer = std::move(bytes);
  file->name = name.str();
  if (llvm::Error error = file->parseHeader())
    return std::move(error);
  return std::move(file);
}

llvm::Error SafetensorsFile::parseHeader() {
  StringRef bytes = buffer->getBuffer();
  if (bytes.size() < kLengthBytes)
    return fail("has " + Twine(bytes.size()) + " bytes, too few for a header" +
                kDownloadAgain);
  uint64_t length = llvm::support::endian::read64le(bytes.data());
  uint64_t most =
      std::min<uint64_t>(kMaxHeaderBytes, bytes.size() - kLengthBytes);
  if (length > most)
    return fail("the header's length is " + Twine(length) + ", allowed are " +
                Twine(most) + " bytes (the file's, at most " +
                Twine(kMaxHeaderBytes) + ")" + kDownloadAgain);
  StringRef header = bytes.substr(kLengthBytes, length);
  if (!header.starts_with("{"))
    return fail("the header is no JSON object: is it a safetensors file?");
  auto tensors = parseSafetensorsHeader(header, name);
  if (!tensors)
    return tensors.takeError();
  tensorList = std::move(*tensors);
  return placeTensors(kLengthBytes + length);
}

/// Checks that the tensors fill the data, and makes offsets the file's.
llvm::Error SafetensorsFile::placeTensors(uint64_t dataStart) {
  auto dataSize = static_cast<int64_t>(buffer->getBufferSize() - dataStart);
  std::vector<Tensor *> byOffset;
  for (Tensor &tensor : tensorList)
    byOffset.push_back(&tensor);
  llvm::sort(byOffset, [](const Tensor *a, const Tensor *b) {
    return std::tie(a->offset, a->sizeInBytes, a->name) <
           std::tie(b->offset, b->sizeInBytes, b->name);
  });
  int64_t end = 0;
  for (Tensor *tensor : byOffset) {
    std::string which = "tensor " + inQuotes(tensor->name);
    if (tensor->offset > dataSize ||
        tensor->sizeInBytes > dataSize - tensor->offset)
      return fail(
          which + " ends at byte " +
          Twine(uint64_t(tensor->offset) + uint64_t(tensor->sizeInBytes)) +
          " of the data, which has " + Twine(dataSize) + kDownloadAgain);
    if (tensor->offset != end)
      return fail(which + " begins at byte " + Twine(tensor->offset) +
                  " of the data, allowed is " + Twine(end) +
                  ", where the one before it ends: tensors may not overlap or "
                  "leave gaps");
    end = tensor->offset + tensor->sizeInBytes;
  }
  if (end != dataSize)
    return fail("the tensors end at byte " + Twine(end) +
                " of the data, which has " + Twine(dataSize));
  for (auto [index, tensor] : llvm::enumerate(tensorList)) {
    tensor.offset += static_cast<int64_t>(dataStart);
    tensorIndex[tensor.name] = index;
  }
  return llvm::Error::success();
}

const Tensor *SafetensorsFile::findTensor(StringRef tensorName) const {
  auto found = tensorIndex.find(tensorName);
  return found == tensorIndex.end() ? nullptr : &tensorList[found->second];
}

ArrayRef<uint8_t> SafetensorsFile::tensorBytes(const Tensor &tensor) const {
  return ArrayRef(reinterpret_cast<const uint8_t *>(buffer->getBufferStart()),
                  buffer->getBufferSize())
      .slice(tensor.offset, tensor.sizeInBytes);
}

} // namespace llmc::huggingface
