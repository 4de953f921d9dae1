// SPDX-License-Identifier: Apache-2.0
//
// A language model of four dispatches whose numbers can be checked by hand.

#ifndef LLMC_TEST_UNIT_COMPILER_ESTIMATE_TINYPROGRAM_H
#define LLMC_TEST_UNIT_COMPILER_ESTIMATE_TINYPROGRAM_H

#include "codegen/Targets/target.pb.h"
#include "runtime/format/manifest.pb.h"

#include <gtest/gtest.h>

#include <google/protobuf/text_format.h>

#include <initializer_list>
#include <utility>

namespace llmc::estimate {

/// A binding: buffer, offset, bytes.
struct TinySlice {
  uint32_t buffer;
  uint64_t offset, range;
};

inline void addTinyDispatch(format::Entry &entry, uint32_t kernel,
                            uint32_t groups,
                            std::initializer_list<TinySlice> bindings) {
  format::Dispatch &dispatch = *entry.add_commands()->mutable_dispatch();
  dispatch.set_kernel(kernel);
  for (uint32_t count : {groups, 1U, 1U})
    dispatch.add_groups(count);
  for (const TinySlice &binding : bindings) {
    format::Slice &slice = *dispatch.add_bindings();
    slice.set_buffer(binding.buffer);
    slice.set_offset(binding.offset);
    slice.set_range(binding.range);
  }
}

inline void addTinyWeight(format::Manifest &manifest, const char *encoding,
                          uint64_t offset, uint64_t size, uint64_t elements) {
  format::Variant &variant = *manifest.mutable_variants(0);
  format::WeightPlacement &placement = *variant.add_weights();
  placement.set_section(static_cast<uint32_t>(manifest.sections_size()));
  placement.set_offset(offset);
  format::Section &section = *manifest.add_sections();
  section.set_size(size);
  section.set_layout("tile16");
  section.set_encoding(encoding);
  section.set_elements(elements);
}

/// A Q4_0 matrix [1000, 1024] of 576000 bytes in two planes, an embedding of
/// 100 rows, a cache of 1000 positions. `forward` for one row is embedding,
/// linear, and attention with 256 queries; `logits` is the linear again.
inline format::Manifest tinyManifest() {
  enum Buffers { Weights, Arena, State, Step, Output };
  format::Manifest manifest;
  manifest.mutable_model()->set_vocabulary_size(100);
  manifest.mutable_model()->set_max_context(1000);
  format::Variant &variant = *manifest.add_variants();
  variant.mutable_target()->set_name("test");
  for (auto [kind, size] : {std::pair(format::Buffer::WEIGHTS, 596000U),
                            {format::Buffer::ARENA, 8192U},
                            {format::Buffer::STATE, 400000U},
                            {format::Buffer::STEP, 128U},
                            {format::Buffer::OUTPUT, 4000U}}) {
    variant.add_buffers()->set_kind(kind);
    variant.mutable_buffers()->rbegin()->set_size(size);
  }
  addTinyWeight(manifest, "Q4_0", 0, 576000, 1024000);
  addTinyWeight(manifest, "F16", 576000, 20000, 10000);
  for (auto [kind, registers] :
       {std::pair("embedding", 16U), {"gemv", 40U}, {"sdpa", 20U}}) {
    format::KernelEstimate &estimate =
        *variant.add_kernels()->mutable_estimate();
    estimate.set_kind(kind);
    estimate.set_registers(registers);
  }
  format::KernelEstimate &gemv =
      *variant.mutable_kernels(1)->mutable_estimate();
  for (uint32_t size : {1U, 4U, 32U})
    gemv.add_tile(size);
  gemv.set_arithmetic("f32");

  format::Entry &forward = *variant.add_entries();
  forward.set_function("forward");
  forward.set_rows(1);
  forward.add_commands()->mutable_barrier();
  addTinyDispatch(forward, 0, 1,
                  {{Weights, 576000, 20000}, {Step, 64, 64}, {Arena, 0, 400}});
  forward.add_commands()->mutable_barrier();
  addTinyDispatch(forward, 1, 8,
                  {{Weights, 0, 512000},
                   {Weights, 512000, 64000},
                   {Weights, 512000, 64000},
                   {Arena, 0, 4096},
                   {Arena, 4096, 4000}});
  addTinyDispatch(forward, 2, 2,
                  {{Step, 0, 64},
                   {State, 0, 200000},
                   {State, 200000, 200000},
                   {Arena, 0, 1024},
                   {Arena, 1024, 1024}});
  format::Entry &logits = *variant.add_entries();
  logits.set_function("logits");
  logits.set_rows(1);
  logits.add_commands()->mutable_barrier();
  addTinyDispatch(logits, 1, 8,
                  {{Weights, 0, 512000},
                   {Weights, 512000, 64000},
                   {Arena, 0, 4096},
                   {Output, 0, 4000}});
  return manifest;
}

/// 10 GB/s, 100 billion lane-instructions a second, 4 compute units; half of
/// the invocations beyond 32 registers, 2 us for a dispatch that waits.
inline description::Target tinyDevice() {
  description::Target device;
  bool isParsed = google::protobuf::TextFormat::ParseFromString(R"pb(
    name: "test" family: VALHALL
    registers { steps { registers: 32 occupancy_percent: 100 }
                steps { registers: 64 occupancy_percent: 40 } }
    performance { compute_units: 4 bandwidth_gb_per_s: 10 f32_gflops: 200
                  dispatch_microseconds: 2 })pb",
                                                                &device);
  EXPECT_TRUE(isParsed);
  return device;
}

} // namespace llmc::estimate

#endif // LLMC_TEST_UNIT_COMPILER_ESTIMATE_TINYPROGRAM_H
