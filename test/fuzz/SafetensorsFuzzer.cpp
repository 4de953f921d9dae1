// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a safetensors file: its header, and the ends of each tensor.

#include "compiler/Import/HuggingFace/SafetensorsReader.h"
#include "test/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = llmc::huggingface::SafetensorsFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(llmc::fuzz::toText(data, size)),
      "fuzz.safetensors");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  unsigned sum = 0;
  for (const llmc::huggingface::Tensor &tensor : (*file)->tensors()) {
    auto bytes = (*file)->tensorBytes(tensor);
    if (!bytes.empty())
      sum += bytes.front() + bytes.back();
  }
  // An address sanitizer has seen the reads; the sum keeps them alive.
  FUZZ_CHECK(sum <= 2 * 255 * size);
  return 0;
}
