// SPDX-License-Identifier: Apache-2.0
//
// Pipelines.h.

#include "runtime/session/Pipelines.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <set>
#include <thread>

namespace llmc::runtime {

namespace {

/// Calls `work(i)` for all i < count on up to `numThreads` threads, this one
/// among them, until one call fails. Returns the failure with the lowest i;
/// throws bad_alloc, behind the end of all threads, where one ran out of
/// memory.
template <typename Work>
Status forEachInParallel(size_t count, unsigned numThreads, const Work &work) {
  std::vector<Status> results(count);
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false}, ranOut{false};
  const auto loop = [&]() noexcept {
    try {
      for (size_t i = next++; i < count && !failed; i = next++) {
        results[i] = work(i);
        if (!results[i].ok())
          failed = true;
      }
    } catch (const std::bad_alloc &) {
      failed = ranOut = true;
    }
  };
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < std::min<size_t>(numThreads, count))
      threads.emplace_back(loop);
  } catch (const std::exception &) {
    // Fewer threads than wished are enough.
  }
  loop();
  for (std::thread &thread : threads)
    thread.join();
  if (ranOut)
    throw std::bad_alloc();
  for (Status &result : results)
    LLMC_RETURN_IF_ERROR(std::move(result));
  return okStatus();
}

Status verifyCode(const format::Reader &reader,
                  const format::Variant &variant) {
  std::set<uint32_t> sections;
  for (const format::Kernel &kernel : variant.kernels())
    sections.insert(kernel.code_section());
  for (const uint32_t section : sections)
    LLMC_RETURN_IF_ERROR(reader.verifySection(section));
  return okStatus();
}

const uint32_t *codeOf(const format::Reader &reader,
                       const format::Kernel &kernel) {
  return reinterpret_cast<const uint32_t *>(
      reader.section(kernel.code_section()).data + kernel.code_offset());
}

struct DamagedKernel {
  size_t kernel = SIZE_MAX; // none
  std::vector<uint32_t> code;
};

/// The first kernel that multiplies floats adds them instead.
DamagedKernel damageFirstKernel(const format::Reader &reader,
                                const format::Variant &variant) {
  constexpr uint32_t kHeaderWords = 5, kAdd = 129, kMultiply = 133;
  for (int i = 0; i < variant.kernels_size(); ++i) {
    const format::Kernel &kernel = variant.kernels(i);
    const uint32_t *code = codeOf(reader, kernel);
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

} // namespace

StatusOr<std::unique_ptr<Pipelines>>
Pipelines::create(vulkan::Device &device, const format::Reader &reader,
                  const format::Variant &variant, vulkan::PipelineCache &cache,
                  unsigned numThreads, bool damages) {
  LLMC_RETURN_IF_ERROR(verifyCode(reader, variant));
  const DamagedKernel damaged =
      damages ? damageFirstKernel(reader, variant) : DamagedKernel();
  std::unique_ptr<Pipelines> result(new Pipelines());
  LLMC_RETURN_IF_ERROR(result->createLayouts(device, variant));
  result->pipelines.resize(static_cast<size_t>(variant.kernels_size()));
  const auto createOne = [&](size_t i) -> Status {
    const format::Kernel &kernel = variant.kernels(static_cast<int>(i));
    const uint32_t *code =
        damaged.kernel == i ? damaged.code.data() : codeOf(reader, kernel);
    const vulkan::PipelineSource source{
        kernel.name(), code, static_cast<size_t>(kernel.code_size())};
    const vulkan::PipelineLayout &layout =
        *result->layouts.at(kernel.num_bindings());
    LLMC_ASSIGN_OR_RETURN(
        result->pipelines[i],
        vulkan::Pipeline::create(device, layout, cache, source));
    return okStatus();
  };
  if (Status status = forEachInParallel(result->size(), numThreads, createOne);
      !status.ok())
    return status.withContext("variant " + variant.target().name());
  return result;
}

Status Pipelines::createLayouts(vulkan::Device &device,
                                const format::Variant &variant) {
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

} // namespace llmc::runtime
