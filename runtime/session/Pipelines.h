// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of a module, one for each kernel, built beside everything else.

#ifndef LLMC_RUNTIME_SESSION_PIPELINES_H
#define LLMC_RUNTIME_SESSION_PIPELINES_H

#include "runtime/format/Reader.h"
#include "runtime/session/Timeline.h"
#include "runtime/vulkan/Pipeline.h"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace llmc::runtime {

/// Owns pipelines and their layouts. Threads of its own build them while the
/// caller goes on; who needs some waits for these alone. Any thread.
class Pipelines {
public:
  /// Checks the code sections and begins, in `order`, which has all kernels.
  /// `numThreads`: that build, as drivers need up to seconds for one; with one
  /// nothing is built before it is required, by the thread that requires it.
  /// When the last one is there `cache` is saved. `damagedName`, if any: a
  /// kernel whose name begins so is made to compute something else, for tests
  /// of the self-test, and the cache is not saved. Device, reader, variant and
  /// cache have to outlive the object.
  static StatusOr<std::unique_ptr<Pipelines>>
  create(vulkan::Device &device, const format::Reader &reader,
         const format::Variant &variant, vulkan::PipelineCache &cache,
         Timeline &timeline, unsigned numThreads, std::vector<uint32_t> order,
         const std::string *damagedName = nullptr);
  /// Waits for the kernels that are being built; the others are left out.
  ~Pipelines();
  Pipelines(const Pipelines &) = delete;
  Pipelines &operator=(const Pipelines &) = delete;

  size_t size() const { return slots.size(); }
  const vulkan::PipelineLayout &layout(size_t kernel) const;

  /// Returns when these kernels are there. They come before all others, and
  /// the calling thread builds, too. The error is of the first among them that
  /// could not be built.
  Status require(const std::vector<uint32_t> &kernels);
  Status requireAll();
  /// Returns which of these sets of kernels, of which there is one at least, is
  /// the first that `require` need not wait for, since all are there or one
  /// can't be built; when there is none, waits until there is.
  size_t requireAny(const std::vector<std::vector<uint32_t>> &sets);
  /// Of a kernel that was required.
  const vulkan::Pipeline &operator[](size_t kernel) const {
    return *slots[kernel].pipeline;
  }

private:
  enum class Progress { Waits, IsBuilt, IsThere, Failed };
  struct Slot {
    Progress progress = Progress::Waits;
    std::unique_ptr<vulkan::Pipeline> pipeline;
    Status failure; // Ok, when it failed since memory ran out
  };
  struct DamagedKernel {
    size_t kernel = SIZE_MAX; // none
    std::vector<uint32_t> code;
  };
  using Lock = std::unique_lock<std::mutex>;

  Pipelines(vulkan::Device &device, const format::Reader &reader,
            const format::Variant &variant, vulkan::PipelineCache &cache,
            Timeline &timeline)
      : device(device), reader(reader), variant(variant), cache(cache),
        timeline(timeline) {}
  Status createLayouts();
  static DamagedKernel damageFirstKernel(const format::Reader &reader,
                                         const format::Variant &variant,
                                         const std::string &name);
  StatusOr<std::unique_ptr<vulkan::Pipeline>> createPipeline(size_t kernel);
  void build(size_t kernel, Lock &lock);
  std::optional<size_t> nextKernel();
  bool isSettled(const std::vector<uint32_t> &kernels) const;
  void work() noexcept;
  void saveCache() noexcept;
  void releaseCode() noexcept;

  vulkan::Device &device;
  const format::Reader &reader;
  const format::Variant &variant;
  vulkan::PipelineCache &cache;
  Timeline &timeline;
  DamagedKernel damaged;
  std::vector<uint32_t> order; // all kernels
  std::map<uint32_t, std::unique_ptr<vulkan::PipelineLayout>>
      layouts; // by number of bindings

  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::vector<Slot> slots;      // by kernel
  std::vector<uint32_t> urgent; // required; not all of them still wait
  size_t firstWaiting = 0;      // none before it in `order` waits
  size_t numThere = 0;
  bool isClosing = false;
  std::vector<std::thread> threads;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PIPELINES_H
