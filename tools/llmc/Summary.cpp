// SPDX-License-Identifier: Apache-2.0
//
// Counting, and JSON of the manifest.

#include "tools/llmc/Summary.h"

#include "runtime/format/Checksum.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace llmc::tool {

namespace {

using Json = nlohmann::ordered_json;

/// "blk.3" of "blk.3.attn_q"; empty if the label names no layer.
std::string layerOf(const std::string &label) {
  const std::string prefix = "blk.";
  if (label.compare(0, prefix.size(), prefix) != 0)
    return "";
  size_t end = label.find('.', prefix.size());
  return end == std::string::npos ? "" : label.substr(0, end);
}

EntrySummary summarizeEntry(const format::Entry &entry) {
  EntrySummary summary;
  summary.function = entry.function();
  summary.rows = entry.rows();
  std::map<std::string, size_t> layers;
  for (const format::Command &command : entry.commands()) {
    if (!command.has_dispatch()) {
      ++summary.numBarriers;
      continue;
    }
    ++summary.numDispatches;
    std::string layer = layerOf(command.dispatch().label());
    if (!layer.empty())
      ++layers[layer];
  }
  for (const auto &[layer, count] : layers) {
    summary.leastPerLayer =
        summary.leastPerLayer ? std::min(summary.leastPerLayer, count) : count;
    summary.mostPerLayer = std::max(summary.mostPerLayer, count);
  }
  summary.dispatchesPerLayer = std::to_string(summary.leastPerLayer);
  if (summary.leastPerLayer != summary.mostPerLayer)
    summary.dispatchesPerLayer += "-" + std::to_string(summary.mostPerLayer);
  return summary;
}

/// Lists of numbers as JSON arrays.
template <typename Range>
Json toArray(const Range &range) {
  return Json(std::vector<uint64_t>(range.begin(), range.end()));
}

Json toJson(const format::Slice &slice) {
  return {{"buffer", slice.buffer()},
          {"offset", slice.offset()},
          {"range", slice.range()}};
}

Json toJson(const format::Port &port) {
  return {{"name", port.name()},
          {"element_type", port.element_type()},
          {"slice", toJson(port.slice())},
          {"row_elements", port.row_elements()},
          {"row_bytes", port.row_bytes()}};
}

Json toJson(const format::Kernel &kernel, uint64_t checksum) {
  const format::KernelEstimate &estimate = kernel.estimate();
  return {{"name", kernel.name()},
          {"label", kernel.label()},
          {"kind", estimate.kind()},
          {"workgroup", toArray(kernel.workgroup())},
          {"tile", toArray(estimate.tile())},
          {"splits", estimate.splits()},
          {"arithmetic", estimate.arithmetic()},
          {"accumulators", estimate.accumulators()},
          {"registers", estimate.registers()},
          {"workgroup_memory_bytes", kernel.workgroup_memory_bytes()},
          {"num_bindings", kernel.num_bindings()},
          {"code_size", kernel.code_size()},
          {"code_checksum", checksumText(checksum)}};
}

Json toJson(const std::optional<double> &number) {
  return number ? Json(*number) : Json(nullptr);
}

Json toJson(const KernelFigures &figures) {
  return {{"registers", figures.registers},
          {"occupancy", figures.occupancy},
          {"spills", figures.spills},
          {"fills", figures.fills},
          {"thread_local_bytes", figures.threadLocalBytes},
          {"instructions_per_multiply_add",
           toJson(figures.instructionsPerMultiplyAdd)},
          {"weight_bytes_per_load", toJson(figures.weightBytesPerLoad)}};
}

Json toJson(const format::Command &command) {
  if (!command.has_dispatch())
    return "barrier";
  const format::Dispatch &dispatch = command.dispatch();
  Json bindings = Json::array();
  for (const format::Slice &slice : dispatch.bindings())
    bindings.push_back(toJson(slice));
  return {{"label", dispatch.label()},
          {"kernel", dispatch.kernel()},
          {"groups", toArray(dispatch.groups())},
          {"bindings", bindings}};
}

Json toJson(const format::Entry &entry) {
  EntrySummary summary = summarizeEntry(entry);
  Json json = {{"function", summary.function},
               {"rows", summary.rows},
               {"num_dispatches", summary.numDispatches},
               {"num_barriers", summary.numBarriers},
               {"least_dispatches_per_layer", summary.leastPerLayer},
               {"most_dispatches_per_layer", summary.mostPerLayer},
               {"inputs", Json::array()},
               {"outputs", Json::array()},
               {"commands", Json::array()}};
  for (const format::Port &port : entry.inputs())
    json["inputs"].push_back(toJson(port));
  for (const format::Port &port : entry.outputs())
    json["outputs"].push_back(toJson(port));
  for (const format::Command &command : entry.commands())
    json["commands"].push_back(toJson(command));
  return json;
}

Json toJson(const format::Reader &reader, const format::Variant &variant,
            const KernelFiguresFile *figures) {
  const format::Manifest &manifest = reader.manifest();
  static const char *const kKinds[] = {"unknown", "weights", "arena",
                                       "state",   "step",    "output"};
  VariantSummary summary = summarize(manifest, variant);
  Json json = {{"target", summary.target},
               {"weight_bytes", summary.weightBytes},
               {"bytes_per_weight", summary.bytesPerWeight},
               {"arena_bytes", summary.arenaBytes},
               {"state_bytes", summary.stateBytes},
               {"self_tests", summary.numSelfTests},
               {"kv_type", summary.kvType},
               {"buffers", Json::array()},
               {"weights", Json::array()},
               {"kernels", Json::array()},
               {"entries", Json::array()}};
  for (const format::Buffer &buffer : variant.buffers())
    json["buffers"].push_back(
        {{"kind", kKinds[buffer.kind()]}, {"size", buffer.size()}});
  for (const format::WeightPlacement &placement : variant.weights())
    json["weights"].push_back({{"section", placement.section()},
                               {"buffer", placement.buffer()},
                               {"offset", placement.offset()}});
  for (const format::Kernel &kernel : variant.kernels()) {
    uint64_t checksum = codeChecksum(reader, kernel);
    Json item = toJson(kernel, checksum);
    if (const KernelFigures *found =
            figures ? figures->find(summary.target, checksumText(checksum))
                    : nullptr)
      item["measured"] = toJson(*found);
    json["kernels"].push_back(item);
  }
  for (const format::Entry &entry : variant.entries())
    json["entries"].push_back(toJson(entry));
  return json;
}

} // namespace

VariantSummary summarize(const format::Manifest &manifest,
                         const format::Variant &variant) {
  VariantSummary summary;
  summary.target = variant.target().name();
  summary.kvType = variant.kv_type();
  summary.numKernels = static_cast<size_t>(variant.kernels_size());
  summary.numSelfTests = static_cast<size_t>(variant.self_test().cases_size());
  for (const format::Buffer &buffer : variant.buffers()) {
    if (buffer.kind() == format::Buffer::WEIGHTS)
      summary.weightBytes += buffer.size();
    else if (buffer.kind() == format::Buffer::ARENA)
      summary.arenaBytes += buffer.size();
    else if (buffer.kind() == format::Buffer::STATE)
      summary.stateBytes += buffer.size();
  }
  uint64_t matrixBytes = 0, matrixElements = 0;
  for (const format::WeightPlacement &placement : variant.weights()) {
    const format::Section &section =
        manifest.sections(static_cast<int>(placement.section()));
    if (section.layout() == "vector")
      continue;
    matrixBytes += section.size();
    matrixElements += section.elements();
  }
  if (matrixElements != 0)
    summary.bytesPerWeight =
        static_cast<double>(matrixBytes) / static_cast<double>(matrixElements);
  for (const format::Entry &entry : variant.entries())
    summary.entries.push_back(summarizeEntry(entry));
  return summary;
}

uint64_t codeChecksum(const format::Reader &reader,
                      const format::Kernel &kernel) {
  format::ByteSpan section = reader.section(kernel.code_section());
  return format::checksum(section.data + kernel.code_offset(),
                          kernel.code_size());
}

std::string toJson(const format::Reader &reader,
                   const KernelFiguresFile *figures) {
  const format::Manifest &manifest = reader.manifest();
  const format::Model &model = manifest.model();
  Json json = {{"path", reader.path()},
               {"producer", manifest.producer()},
               {"file_size", reader.header().fileSize},
               {"model",
                {{"name", model.name()},
                 {"architecture", model.architecture()},
                 {"vocabulary_size", model.vocabulary_size()},
                 {"max_context", model.max_context()},
                 {"num_layers", model.num_layers()}}},
               {"sections", Json::array()},
               {"variants", Json::array()}};
  for (const format::Section &section : manifest.sections())
    json["sections"].push_back({{"name", section.name()},
                                {"layout", section.layout()},
                                {"encoding", section.encoding()},
                                {"elements", section.elements()},
                                {"offset", section.offset()},
                                {"size", section.size()}});
  for (const format::Variant &variant : manifest.variants())
    json["variants"].push_back(toJson(reader, variant, figures));
  // Names come from files and may hold any bytes.
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

} // namespace llmc::tool
