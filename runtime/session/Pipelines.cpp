// SPDX-License-Identifier: Apache-2.0
//
// Pipelines.h: threads that take the next kernel from a list.

#include "runtime/session/Pipelines.h"

#include <algorithm>
#include <new>
#include <set>

namespace llmc::runtime {

namespace {

std::set<uint32_t> codeSections(const format::Variant &variant) {
  std::set<uint32_t> sections;
  for (const format::Kernel &kernel : variant.kernels())
    sections.insert(kernel.code_section());
  return sections;
}

vulkan::PipelineSource sourceOf(const format::Reader &reader,
                                const format::Kernel &kernel) {
  return {
      kernel.name(),
      reinterpret_cast<const uint32_t *>(
          reader.section(kernel.code_section()).data + kernel.code_offset()),
      static_cast<size_t>(kernel.code_size())};
}

/// What is wrong with a file is told when it is loaded.
Status verifyCode(const format::Reader &reader,
                  const format::Variant &variant) {
  for (const uint32_t section : codeSections(variant))
    LLMC_RETURN_IF_ERROR(reader.verifySection(section));
  for (const format::Kernel &kernel : variant.kernels())
    if (Status status = vulkan::Pipeline::checkSource(sourceOf(reader, kernel));
        !status.ok())
      return status.withContext("variant " + variant.target().name());
  return okStatus();
}

} // namespace

/// The first kernel that multiplies floats adds them instead, of those whose
/// names begin with `name`.
Pipelines::DamagedKernel
Pipelines::damageFirstKernel(const format::Reader &reader,
                             const format::Variant &variant,
                             const std::string &name) {
  constexpr uint32_t kHeaderWords = 5, kAdd = 129, kMultiply = 133;
  for (int i = 0; i < variant.kernels_size(); ++i) {
    const format::Kernel &kernel = variant.kernels(i);
    if (kernel.name().rfind(name, 0) != 0)
      continue;
    const uint32_t *code = sourceOf(reader, kernel).code;
    DamagedKernel damaged{static_cast<size_t>(i),
                          {code, code + kernel.code_size() / 4}};
    bool isDamaged = false;
    for (size_t word = kHeaderWords; word < damaged.code.size();) {
      uint32_t &first = damaged.code[word];
      if ((first & 0xffff) == kMultiply) {
        first = (first & 0xffff0000u) | kAdd;
        isDamaged = true;
      }
      word += std::max<size_t>(1, first >> 16);
    }
    if (isDamaged)
      return damaged;
  }
  return {};
}

StatusOr<std::unique_ptr<Pipelines>>
Pipelines::create(vulkan::Device &device, const format::Reader &reader,
                  const format::Variant &variant, vulkan::PipelineCache &cache,
                  Timeline &timeline, unsigned numThreads,
                  std::vector<uint32_t> order, const std::string *damagedName) {
  LLMC_RETURN_IF_ERROR(verifyCode(reader, variant));
  std::unique_ptr<Pipelines> result(
      new Pipelines(device, reader, variant, cache, timeline));
  if (damagedName)
    result->damaged = damageFirstKernel(reader, variant, *damagedName);
  LLMC_RETURN_IF_ERROR(result->createLayouts());
  result->slots.resize(static_cast<size_t>(variant.kernels_size()));
  result->order = std::move(order);
  try {
    while (numThreads > 1 &&
           result->threads.size() <
               std::min<size_t>(numThreads, result->slots.size()))
      result->threads.emplace_back([self = result.get()] { self->work(); });
  } catch (const std::exception &) {
    // Fewer threads than wished are enough, and none too: who needs a kernel
    // builds it.
  }
  return result;
}

Pipelines::~Pipelines() {
  {
    const Lock lock(mutex);
    isClosing = true;
  }
  for (std::thread &thread : threads)
    thread.join();
  // The next start does not begin again from nothing.
  if (numThere > 0 && numThere < slots.size() && !device.isLost())
    saveCache();
}

Status Pipelines::createLayouts() {
  const Timeline::Mark mark(timeline, "layouts");
  for (const format::Kernel &kernel : variant.kernels()) {
    std::unique_ptr<vulkan::PipelineLayout> &layout =
        layouts[kernel.num_bindings()];
    if (layout)
      continue;
    LLMC_ASSIGN_OR_RETURN(
        layout, vulkan::PipelineLayout::create(device, kernel.num_bindings()));
  }
  return okStatus();
}

const vulkan::PipelineLayout &Pipelines::layout(size_t kernel) const {
  return *layouts.at(variant.kernels(static_cast<int>(kernel)).num_bindings());
}

StatusOr<std::unique_ptr<vulkan::Pipeline>>
Pipelines::createPipeline(size_t index) {
  const format::Kernel &kernel = variant.kernels(static_cast<int>(index));
  const Timeline::Mark mark(timeline, kernel.name().c_str());
  vulkan::PipelineSource source = sourceOf(reader, kernel);
  if (damaged.kernel == index)
    source.code = damaged.code.data();
  return vulkan::Pipeline::create(device, layout(index), cache, source);
}

/// Builds one that waits, while others have the lock.
void Pipelines::build(size_t kernel, Lock &lock) {
  Slot &slot = slots[kernel];
  slot.progress = Progress::IsBuilt;
  lock.unlock();
  Status failure;
  std::unique_ptr<vulkan::Pipeline> pipeline;
  try {
    auto created = createPipeline(kernel);
    failure = created.status();
    if (created.ok())
      pipeline = std::move(*created);
    else
      failure = failure.withContext("variant " + variant.target().name());
  } catch (const std::bad_alloc &) {
    failure = okStatus();
  }
  lock.lock();
  slot.progress = pipeline ? Progress::IsThere : Progress::Failed;
  slot.pipeline = std::move(pipeline);
  slot.failure = std::move(failure);
  numThere += slot.progress == Progress::IsThere;
  if (numThere == slots.size()) {
    lock.unlock();
    saveCache();
    releaseCode();
    lock.lock();
  }
  changed.notify_all();
}

/// Required ones first.
std::optional<size_t> Pipelines::nextKernel() {
  while (!urgent.empty()) {
    const size_t kernel = urgent.back();
    urgent.pop_back();
    if (slots[kernel].progress == Progress::Waits)
      return kernel;
  }
  while (firstWaiting < order.size() &&
         slots[order[firstWaiting]].progress != Progress::Waits)
    ++firstWaiting;
  if (firstWaiting == order.size())
    return std::nullopt;
  return order[firstWaiting];
}

void Pipelines::work() noexcept {
  Lock lock(mutex);
  while (!isClosing) {
    const std::optional<size_t> kernel = nextKernel();
    if (!kernel)
      return;
    build(*kernel, lock);
  }
}

/// A cache that can't be written costs time at the next start and nothing else;
/// wrong kernels don't belong into it.
void Pipelines::saveCache() noexcept {
  if (damaged.kernel != SIZE_MAX)
    return;
  try {
    (void)cache.save();
  } catch (const std::bad_alloc &) {
  }
}

/// The code is in memory no longer than it is needed.
void Pipelines::releaseCode() noexcept {
  try {
    for (const uint32_t section : codeSections(variant))
      reader.releasePages(reader.section(section));
  } catch (const std::bad_alloc &) {
  }
}

Status Pipelines::require(const std::vector<uint32_t> &kernels) {
  Lock lock(mutex);
  if (!threads.empty())
    urgent.assign(kernels.rbegin(), kernels.rend());
  for (const uint32_t kernel : kernels) {
    Slot &slot = slots[kernel];
    if (slot.progress == Progress::Waits)
      build(kernel, lock);
    changed.wait(lock, [&] { return slot.progress != Progress::IsBuilt; });
    if (slot.progress == Progress::IsThere)
      continue;
    if (slot.failure.ok())
      throw std::bad_alloc();
    return slot.failure;
  }
  return okStatus();
}

Status Pipelines::requireAll() { return require(order); }

/// Whether there is nothing to wait for.
bool Pipelines::isSettled(const std::vector<uint32_t> &kernels) const {
  bool allAreThere = true;
  for (const uint32_t kernel : kernels) {
    if (slots[kernel].progress == Progress::Failed)
      return true;
    allAreThere &= slots[kernel].progress == Progress::IsThere;
  }
  return allAreThere;
}

size_t Pipelines::requireAny(const std::vector<std::vector<uint32_t>> &sets) {
  Lock lock(mutex);
  while (true) {
    const auto first =
        std::find_if(sets.begin(), sets.end(),
                     [&](const auto &kernels) { return isSettled(kernels); });
    if (first != sets.end())
      return static_cast<size_t>(first - sets.begin());
    // The caller builds only where nobody else does: with a slow kernel in its
    // hands it would not see that others are there.
    const std::optional<size_t> kernel =
        threads.empty() ? nextKernel() : std::nullopt;
    if (kernel)
      build(*kernel, lock);
    else
      changed.wait(lock);
  }
}

} // namespace llmc::runtime
