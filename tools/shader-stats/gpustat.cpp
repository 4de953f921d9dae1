// SPDX-License-Identifier: Apache-2.0
//
// gpustat: what a Vulkan driver's own compiler makes of compute shaders.
//
//   gpustat DRIVER.so --device                   the device's limits and
//   features, as JSON gpustat DRIVER.so SHADER.spv... [options]    the driver's
//   statistics of each pipeline, one line of JSON a shader,
//                                                written as soon as it is known
//
// Options: --entry NAME       entry point (default: the module's first of
// compute)
//          --spec ID=VALUE    specialization constant (1, 2.5, true),
//          repeatable
//          --subgroup N       required subgroup size      --full    require
//          full subgroups
//          --robust           robust buffer access on (default off)
//          --ir DIR           also write the driver's internal representations
//          into DIR
//
// A shader that cannot be compiled gets the member "error"; the others go on.

#include "tools/shader-stats/Device.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace llmc::stats {

namespace {

struct Options {
  std::string driver, entry, irFolder;
  std::map<uint32_t, std::string> constants;
  std::vector<std::string> shaders;
  uint32_t subgroupSize = 0;
  bool fullSubgroups = false, device = false, robust = false;
};

/// Bytes up to which one line of panvk's assembly reaches into thread-local
/// memory; 0 if it does not.
long reachOfLine(const std::string &line) {
  if (line.find("LOAD.i") == std::string::npos &&
      line.find("STORE.i") == std::string::npos)
    return 0;
  long bytes = std::atol(line.c_str() + line.find(".i") + 2) / 8;
  size_t at = line.find("thread_local_pointer");
  if (at != std::string::npos &&
      (at = line.find("offset:", at)) != std::string::npos)
    return std::strtol(line.c_str() + at + 7, nullptr, 0) + bytes; // Valhall
  if (line.find(".tl ") != std::string::npos &&
      (at = line.find("0x")) != std::string::npos)
    return std::strtol(line.c_str() + at, nullptr, 0) + bytes; // Bifrost
  return 0;
}

/// Panvk's statistics do not say how much memory each invocation needs for
/// spills and for arrays that are indexed at run time. Its texts do: "scratch:
/// N" in the NIR is the arrays' part, and each access to a spilled value names
/// its offset. -1 where the texts are not panvk's.
long threadLocalBytes(const std::vector<std::string> &texts) {
  long most = -1;
  for (const std::string &text : texts)
    for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (line.compare(0, 9, "scratch: ") == 0)
        most = std::max(most, std::atol(line.c_str() + 9));
      if (line.find("LOAD.i") != std::string::npos ||
          line.find("STORE.i") != std::string::npos)
        most = std::max(most, reachOfLine(line));
    }
  return most < 0 ? most
                  : (most + 15) & ~15L; // as in the driver's own tls_size
}

/// The bytes of a specialization constant whose value is written as |text|.
std::string constantBytes(const SpirvModule::Constant &constant,
                          const std::string &text) {
  using Kind = SpirvModule::Constant::Kind;
  uint64_t bits = 0;
  if (constant.kind == Kind::Bool) {
    bits = text == "true" || text == "1";
  } else if (constant.kind == Kind::Integer) {
    bits = static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, 0));
  } else if (constant.bytes == 8) {
    double value = std::atof(text.c_str());
    std::memcpy(&bits, &value, 8);
  } else if (constant.bytes == 4) {
    float value = std::strtof(text.c_str(), nullptr);
    std::memcpy(&bits, &value, 4);
  } else {
    throw Failure(
        "specialization constants of 16-bit floats are not supported");
  }
  return std::string(reinterpret_cast<const char *>(&bits), constant.bytes);
}

VkPipelineLayout createLayout(const Device &device, const SpirvModule &module) {
  std::vector<VkDescriptorSetLayout> sets(
      module.sets.empty() ? 0 : module.sets.rbegin()->first + 1);
  for (uint32_t i = 0; i < sets.size(); ++i) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    if (auto set = module.sets.find(i); set != module.sets.end())
      for (const auto &[number, binding] : set->second)
        bindings.push_back(binding);
    VkDescriptorSetLayoutCreateInfo info{
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, nullptr, 0,
        static_cast<uint32_t>(bindings.size()), bindings.data()};
    check(device.vkCreateDescriptorSetLayout(device.device, &info, nullptr,
                                             &sets[i]),
          "vkCreateDescriptorSetLayout");
  }
  VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            module.pushConstantBytes};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                  nullptr,
                                  0,
                                  static_cast<uint32_t>(sets.size()),
                                  sets.data(),
                                  module.pushConstantBytes ? 1u : 0u,
                                  &range};
  VkPipelineLayout layout;
  check(device.vkCreatePipelineLayout(device.device, &info, nullptr, &layout),
        "vkCreatePipelineLayout");
  return layout;
}

VkPipeline createPipeline(const Device &device, const SpirvModule &module,
                          const Options &options) {
  VkShaderModuleCreateInfo moduleInfo{
      VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, nullptr, 0,
      module.words.size() * 4, module.words.data()};
  VkShaderModule shader;
  check(
      device.vkCreateShaderModule(device.device, &moduleInfo, nullptr, &shader),
      "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> entries;
  std::string data;
  for (const auto &[id, text] : options.constants) {
    auto constant = module.constants.find(id);
    if (constant == module.constants.end())
      throw Failure("no specialization constant " + std::to_string(id));
    entries.push_back(
        {id, static_cast<uint32_t>(data.size()), constant->second.bytes});
    data += constantBytes(constant->second, text);
  }
  VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()),
                                      entries.data(), data.size(), data.data()};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      nullptr, options.subgroupSize};
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
               VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.pNext = options.subgroupSize ? &subgroup : nullptr;
  if (options.fullSubgroups)
    info.stage.flags =
        VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = shader;
  info.stage.pName = module.entry.c_str();
  info.stage.pSpecializationInfo = &specialization;
  info.layout = createLayout(device, module);
  VkPipeline pipeline;
  check(device.vkCreateComputePipelines(device.device, nullptr, 1, &info,
                                        nullptr, &pipeline),
        "vkCreateComputePipelines");
  return pipeline;
}

std::string statisticText(const VkPipelineExecutableStatisticKHR &statistic) {
  switch (statistic.format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
    return statistic.value.b32 ? "true" : "false";
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
    return std::to_string(statistic.value.i64);
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: {
    char text[32];
    std::snprintf(text, sizeof(text), "%.10g", statistic.value.f64);
    return text;
  }
  default:
    return std::to_string(statistic.value.u64);
  }
}

/// The statistics of an executable, as members of a JSON object.
std::string statisticsText(const Device &device,
                           const VkPipelineExecutableInfoKHR &info) {
  uint32_t count = 0;
  device.vkGetPipelineExecutableStatisticsKHR(device.device, &info, &count,
                                              nullptr);
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> statistics(count, empty);
  device.vkGetPipelineExecutableStatisticsKHR(device.device, &info, &count,
                                              statistics.data());
  std::string text;
  for (const VkPipelineExecutableStatisticKHR &statistic : statistics)
    text += ", " + quoted(statistic.name) + ": " + statisticText(statistic);
  return text;
}

struct Representation {
  std::string name, text;
};

std::vector<Representation>
getRepresentations(const Device &device,
                   const VkPipelineExecutableInfoKHR &info) {
  uint32_t count = 0;
  device.vkGetPipelineExecutableInternalRepresentationsKHR(device.device, &info,
                                                           &count, nullptr);
  VkPipelineExecutableInternalRepresentationKHR empty{};
  empty.sType =
      VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
  std::vector<VkPipelineExecutableInternalRepresentationKHR> found(count,
                                                                   empty);
  device.vkGetPipelineExecutableInternalRepresentationsKHR(
      device.device, &info, &count, found.data());
  std::vector<Representation> result(count);
  for (uint32_t i = 0; i < count; ++i) {
    result[i].name = found[i].name;
    result[i].text.resize(found[i].dataSize);
    found[i].pData = result[i].text.data();
  }
  device.vkGetPipelineExecutableInternalRepresentationsKHR(
      device.device, &info, &count, found.data());
  for (Representation &representation : result)
    representation.text.resize(
        strnlen(representation.text.data(), representation.text.size()));
  return result;
}

void writeRepresentations(const std::vector<Representation> &representations,
                          const std::string &prefix) {
  for (const Representation &representation : representations) {
    std::string name = representation.name;
    for (char &c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)))
        c = '_';
    std::string path = prefix + "." + name + ".txt";
    std::ofstream file(path);
    file << representation.text;
    if (!file.flush())
      throw Failure("cannot write " + path);
  }
}

/// What the driver says about the module |path|, as members of a JSON object.
std::string measure(const Device &device, const std::string &path,
                    const Options &options) {
  SpirvModule module(path, options.entry);
  VkPipeline pipeline = createPipeline(device, module, options);
  VkPipelineInfoKHR info{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, nullptr,
                         pipeline};
  uint32_t count = 0;
  device.vkGetPipelineExecutablePropertiesKHR(device.device, &info, &count,
                                              nullptr);
  VkPipelineExecutablePropertiesKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
  std::vector<VkPipelineExecutablePropertiesKHR> executables(count, empty);
  device.vkGetPipelineExecutablePropertiesKHR(device.device, &info, &count,
                                              executables.data());
  std::string text =
      ", \"entry\": " + quoted(module.entry) + ", \"localSize\": [" +
      std::to_string(module.localSize[0]) + ", " +
      std::to_string(module.localSize[1]) + ", " +
      std::to_string(module.localSize[2]) + "], \"executables\": [";
  for (uint32_t i = 0; i < count; ++i) {
    VkPipelineExecutableInfoKHR executable{
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, nullptr, pipeline, i};
    text +=
        std::string(i ? ", " : "") +
        "{\"name\": " + quoted(executables[i].name) +
        ", \"subgroupSize\": " + std::to_string(executables[i].subgroupSize) +
        statisticsText(device, executable);
    std::vector<Representation> representations =
        getRepresentations(device, executable);
    std::vector<std::string> texts;
    for (const Representation &representation : representations)
      texts.push_back(representation.text);
    long bytes = threadLocalBytes(texts);
    if (bytes >= 0)
      text += ", \"TLS bytes per thread (from the assembly)\": " +
              std::to_string(bytes);
    text += "}";
    if (!options.irFolder.empty())
      writeRepresentations(representations,
                           options.irFolder + "/" +
                               path.substr(path.rfind('/') + 1) + "." +
                               std::to_string(i));
  }
  device.vkDestroyPipeline(device.device, pipeline, nullptr);
  return text + "]";
}

Options parse(int argc, char **argv) {
  if (argc < 3)
    throw Failure(
        "usage: gpustat DRIVER.so --device | SHADER.spv... [options]");
  Options options;
  options.driver = argv[1];
  for (int i = 2; i < argc; ++i) {
    std::string argument = argv[i];
    auto next = [&]() -> std::string {
      if (++i >= argc)
        throw Failure(argument + " needs a value");
      return argv[i];
    };
    if (argument == "--device") {
      options.device = true;
    } else if (argument == "--robust") {
      options.robust = true;
    } else if (argument == "--full") {
      options.fullSubgroups = true;
    } else if (argument == "--entry") {
      options.entry = next();
    } else if (argument == "--subgroup") {
      options.subgroupSize = static_cast<uint32_t>(std::atoi(next().c_str()));
    } else if (argument == "--ir") {
      options.irFolder = next();
      mkdir(options.irFolder.c_str(), 0777);
    } else if (argument == "--spec") {
      std::string value = next();
      size_t equals = value.find('=');
      if (equals == std::string::npos)
        throw Failure("--spec takes ID=VALUE");
      options.constants[static_cast<uint32_t>(std::atoi(value.c_str()))] =
          value.substr(equals + 1);
    } else if (argument[0] == '-') {
      throw Failure("unknown option " + argument);
    } else {
      options.shaders.push_back(argument);
    }
  }
  return options;
}

void run(const Options &options) {
  Device device(options.driver.c_str());
  if (options.device)
    device.print();
  if (options.shaders.empty())
    return;
  device.create(options.robust);
  for (const std::string &shader : options.shaders) {
    std::string text;
    try {
      text = measure(device, shader, options);
    } catch (const Failure &failure) {
      text = ", \"error\": " + quoted(failure.what());
    }
    std::printf("{\"shader\": %s%s}\n", quoted(shader).c_str(), text.c_str());
    std::fflush(stdout);
  }
}

} // namespace

} // namespace llmc::stats

int main(int argc, char **argv) {
  try {
    llmc::stats::run(llmc::stats::parse(argc, argv));
  } catch (const llmc::stats::Failure &failure) {
    std::fprintf(stderr, "gpustat: %s\n", failure.what());
    return 1;
  }
  std::fflush(stdout);
  _Exit(0); // without the driver's teardown: there is no device to tear down
}
