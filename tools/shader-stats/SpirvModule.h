// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline needs to know about a SPIR-V module, read from its words:
// entry point, workgroup size, bindings, push constants, specialization
// constants.

#ifndef LLMC_TOOLS_SHADER_STATS_SPIRVMODULE_H
#define LLMC_TOOLS_SHADER_STATS_SPIRVMODULE_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace llmc::stats {

/// What went wrong, for one shader or for the device.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class SpirvModule {
public:
  /// A specialization constant: what it is and its size.
  struct Constant {
    enum class Kind { Bool, Integer, Float } kind;
    uint32_t bytes;
  };
  using Bindings = std::map<uint32_t, VkDescriptorSetLayoutBinding>;

  /// Reads the file |path|. |wantedEntry| names the compute entry point; empty
  /// takes the first. Throws Failure on what is no module, is cut off or has no
  /// such entry point.
  SpirvModule(const std::string &path, const std::string &wantedEntry);

  std::vector<uint32_t> words;
  std::string entry;
  uint32_t localSize[3] = {0, 0, 0};
  std::map<uint32_t, Bindings> sets;
  uint32_t pushConstantBytes = 0;
  std::map<uint32_t, Constant> constants; ///< by SpecId

private:
  struct Instruction {
    uint32_t opcode;
    std::vector<uint32_t> operands;
  };
  using Decorations = std::map<uint32_t, uint32_t>;

  void readWords(const std::string &path);
  void readInstruction(Instruction instruction, const std::string &wantedEntry);
  void findConstants();
  void findBindings();
  uint32_t literal(uint32_t id) const;
  uint32_t sizeOf(uint32_t type) const;
  uint32_t sizeOfStruct(uint32_t type) const;
  VkDescriptorType descriptorType(uint32_t storageClass, uint32_t type) const;
  const Instruction &definition(uint32_t id) const;

  uint32_t entryId = 0;
  std::vector<uint32_t> variables;
  std::map<uint32_t, Instruction>
      definitions; ///< types, constants and variables by result id
  std::map<uint32_t, Decorations> decorations;
  std::map<std::pair<uint32_t, uint32_t>, Decorations> memberDecorations;
};

} // namespace llmc::stats

#endif // LLMC_TOOLS_SHADER_STATS_SPIRVMODULE_H
