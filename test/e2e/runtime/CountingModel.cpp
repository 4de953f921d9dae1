// SPDX-License-Identifier: Apache-2.0
//
// CountingModel.h.

#include "test/e2e/runtime/CountingModel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace llmc::test {

namespace {

using format::Buffer;

constexpr uint32_t kVocabularyRoom = 8; // floats between rows of logits
constexpr uint64_t kAlignment = 256;    // no device asks for more

enum BufferIndex : uint32_t { Weights, Arena, State, Step, Output };
enum KernelIndex : uint32_t { Append, Sum, Scale };

struct Place {
  uint32_t buffer;
  uint64_t offset;
  uint64_t range;
};

void set(format::Slice *slice, const Place &place) {
  slice->set_buffer(place.buffer);
  slice->set_offset(place.offset);
  slice->set_range(place.range);
}

class Builder {
public:
  explicit Builder(const CountingModelOptions &options)
      : options(options), variant(*file.manifest.add_variants()),
        maxRows(*std::max_element(options.forwardRows.begin(),
                                  options.forwardRows.end())) {}

  ModuleFile build() {
    describe();
    addBuffers();
    addWeights();
    addKernel("append", 3);
    addKernel("sum", 3);
    addKernel("scale", 4);
    for (const uint32_t rows : options.forwardRows)
      addForward(rows);
    for (const uint32_t rows : options.logitsRows)
      addLogits(rows);
    return std::move(file);
  }

private:
  void describe() {
    file.manifest.set_producer("by hand");
    format::Model *model = file.manifest.mutable_model();
    model->set_name("counting");
    model->set_vocabulary_size(options.weight.size());
    model->set_max_context(options.context);
    variant.mutable_target()->set_name("any");
    variant.mutable_target()->set_vulkan_minor(1);
  }

  void addBuffers() {
    const std::pair<Buffer::Kind, uint64_t> buffers[] = {
        {Buffer::WEIGHTS, kAlignment + weightBytes()},
        {Buffer::ARENA, kAlignment + hidden().range},
        {Buffer::STATE, cache().range},
        {Buffer::STEP, 2 * kAlignment + maxRows * 4},
        {Buffer::OUTPUT, maxLogitsRows() * kVocabularyRoom * 4}};
    for (const auto &[kind, size] : buffers) {
      Buffer *buffer = variant.add_buffers();
      buffer->set_kind(kind);
      buffer->set_size(size);
    }
  }

  void addWeights() {
    Bytes bytes(weightBytes());
    std::memcpy(bytes.data(), options.weight.data(), bytes.size());
    format::WeightPlacement *placement = variant.add_weights();
    placement->set_section(
        file.addSection(format::Section::WEIGHT, "weight", std::move(bytes)));
    placement->set_buffer(Weights);
    placement->set_offset(kAlignment);
  }

  void addKernel(const std::string &name, uint32_t numBindings) {
    Bytes code =
        readBytes(std::string(LLMC_KERNEL_FOLDER) + "/" + name + ".spv");
    format::Kernel *kernel = variant.add_kernels();
    kernel->set_name(name);
    kernel->set_code_size(code.size());
    kernel->set_code_section(
        file.addSection(format::Section::CODE, name, std::move(code)));
    kernel->set_num_bindings(numBindings);
    for (int i = 0; i < 3; ++i)
      kernel->add_workgroup(1);
  }

  void addForward(uint32_t rows) {
    const Place step{Step, 0, 64};
    format::Entry *entry = addEntry("forward", rows, step);
    const Place tokens{Step, 2 * kAlignment, rows * 4};
    addPort(entry->add_inputs(), "tokens", "i32", tokens, 1, 4);
    addDispatch(entry, Append, {step, tokens, cache()}, rows, 1);
    entry->add_commands()->mutable_barrier();
    addDispatch(entry, Sum, {step, cache(), hidden()}, rows, 1);
  }

  void addLogits(uint32_t rows) {
    const Place step{Step, options.sharesStepWords ? 0 : kAlignment, 64};
    format::Entry *entry = addEntry("logits", rows, step);
    const uint32_t rowBytes = kVocabularyRoom * 4;
    const Place logits{Output, 0, rows * rowBytes};
    const uint32_t vocabulary = static_cast<uint32_t>(options.weight.size());
    addPort(entry->add_outputs(), "logits", "f32", logits, vocabulary,
            rowBytes);
    addDispatch(entry, Scale,
                {step, hidden(), {Weights, kAlignment, weightBytes()}, logits},
                rows, vocabulary);
  }

  format::Entry *addEntry(const std::string &function, uint32_t rows,
                          const Place &step) {
    format::Entry *entry = variant.add_entries();
    entry->set_function(function);
    entry->set_rows(rows);
    set(entry->mutable_step(), step);
    return entry;
  }

  static void addPort(format::Port *port, const char *name, const char *type,
                      const Place &place, uint32_t rowElements,
                      uint32_t rowBytes) {
    port->set_name(name);
    port->set_element_type(type);
    set(port->mutable_slice(), place);
    port->set_row_elements(rowElements);
    port->set_row_bytes(rowBytes);
  }

  static void addDispatch(format::Entry *entry, uint32_t kernel,
                          const std::vector<Place> &bindings, uint32_t groupsX,
                          uint32_t groupsY) {
    format::Dispatch *dispatch = entry->add_commands()->mutable_dispatch();
    dispatch->set_kernel(kernel);
    for (const Place &place : bindings)
      set(dispatch->add_bindings(), place);
    for (const uint32_t groups : {groupsX, groupsY, 1u})
      dispatch->add_groups(groups);
  }

  uint64_t weightBytes() const { return options.weight.size() * 4; }
  Place cache() const { return {State, 0, options.context * 4}; }
  Place hidden() const {
    return {Arena, kAlignment, (maxRows + maxLogitsRows()) * 4};
  }
  uint32_t maxLogitsRows() const {
    return *std::max_element(options.logitsRows.begin(),
                             options.logitsRows.end());
  }

  const CountingModelOptions &options;
  ModuleFile file;
  format::Variant &variant;
  uint32_t maxRows;
};

} // namespace

ModuleFile makeCountingModel(const CountingModelOptions &options) {
  return Builder(options).build();
}

std::shared_ptr<runtime::Engine> sharedEngine() {
  static const std::shared_ptr<runtime::Engine> engine = [] {
    auto created = runtime::Engine::create();
    if (!created.ok() || (*created)->devices().empty())
      return std::shared_ptr<runtime::Engine>();
    return *created;
  }();
  return engine;
}

StatusOr<std::shared_ptr<runtime::Module>>
load(ModuleFile file, const runtime::ModuleOptions &options) {
  const std::string path = writeTemporary("counting.llmc", file.makeBytes());
  auto module = runtime::Module::load(*sharedEngine(), path, options);
  std::remove(path.c_str());
  return module;
}

std::vector<float> expectedLogits(const CountingModelOptions &options,
                                  int32_t sum) {
  std::vector<float> logits;
  for (const float weight : options.weight)
    logits.push_back(static_cast<float>(sum) * weight);
  return logits;
}

} // namespace llmc::test
