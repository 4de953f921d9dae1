// SPDX-License-Identifier: Apache-2.0
//
// Golden models as Hugging Face directories.

#ifndef LLMC_TEST_E2E_COMPILED_HUGGINGFACEFOLDER_H
#define LLMC_TEST_E2E_COMPILED_HUGGINGFACEFOLDER_H

#include "test/e2e/compiled/EndToEnd.h"

namespace llmc::test {

/// Writes the model of a GGUF file of plain numbers as the directory |name| of
/// |folder|; |options| are those of test/data/golden/gguf_to_hf.py. Gives its
/// path; "" when the file is absent (an empty path) or there is no Python with
/// numpy.
std::string writeHuggingFaceFolder(const std::string &gguf,
                                   const TemporaryFolder &folder,
                                   const std::string &name,
                                   const std::vector<std::string> &options);

/// Writes test/data/golden/make_mpnet.py's model likewise.
std::string writeMpnetFolder(const TemporaryFolder &folder,
                             const std::string &name);

/// Writes test/data/onnx/make_bert_folder.py's model likewise, with model.onnx
/// in it: a |variant| of encoder_graph.py.
std::string writeBertFolder(const TemporaryFolder &folder,
                            const std::string &name,
                            const std::string &variant);

} // namespace llmc::test

#endif // LLMC_TEST_E2E_COMPILED_HUGGINGFACEFOLDER_H
