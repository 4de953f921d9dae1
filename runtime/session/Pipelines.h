// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of a module, one for each kernel.

#ifndef LLMC_RUNTIME_SESSION_PIPELINES_H
#define LLMC_RUNTIME_SESSION_PIPELINES_H

#include "runtime/format/Reader.h"
#include "runtime/vulkan/Pipeline.h"

#include <map>
#include <memory>
#include <vector>

namespace llmc::runtime {

/// Owns pipelines and their layouts. Immutable, any thread.
class Pipelines {
public:
  /// Creates all kernels of `variant` on `numThreads` threads, as drivers need
  /// up to seconds for one. Code sections are checked first. The error names
  /// the first kernel that failed, in the order of the file. `damages`: one
  /// kernel is made to compute something else, for tests of the self-test.
  static StatusOr<std::unique_ptr<Pipelines>>
  create(vulkan::Device &device, const format::Reader &reader,
         const format::Variant &variant, vulkan::PipelineCache &cache,
         unsigned numThreads, bool damages = false);

  const vulkan::Pipeline &operator[](size_t kernel) const {
    return *pipelines[kernel];
  }
  size_t size() const { return pipelines.size(); }

private:
  Status createLayouts(vulkan::Device &device, const format::Variant &variant);

  std::map<uint32_t, std::unique_ptr<vulkan::PipelineLayout>>
      layouts; // by number of bindings
  std::vector<std::unique_ptr<vulkan::Pipeline>> pipelines;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PIPELINES_H
