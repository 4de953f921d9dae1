// SPDX-License-Identifier: Apache-2.0
//
// Bytes as an ONNX file: its structure, and the ends of each tensor.

#include "compiler/Import/ONNX/OnnxReader.h"
#include "test/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto file = llmc::onnx::OnnxFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(llmc::fuzz::toText(data, size)),
      "fuzz.onnx");
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  unsigned sum = 0;
  for (const llmc::onnx::Tensor &tensor : (*file)->initializers())
    if (!tensor.bytes.empty())
      sum += tensor.bytes.front() + tensor.bytes.back();
  for (const llmc::onnx::Node &node : (*file)->nodes())
    for (llvm::StringRef input : node.inputs)
      sum += (*file)->producer(input) != nullptr;
  // An address sanitizer has seen the reads; the sum keeps them alive.
  FUZZ_CHECK(sum <= 2 * 255 * size + size);
  return 0;
}
