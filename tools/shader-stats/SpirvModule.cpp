// SPDX-License-Identifier: Apache-2.0

#include "tools/shader-stats/SpirvModule.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace llmc::stats {

namespace {

// Numbers of SPIR-V that are used below.
enum Opcode : uint32_t {
  OpEntryPoint = 15,
  OpExecutionMode = 16,
  OpTypeFirst = 19,
  OpTypeBool = 20,
  OpTypeInt = 21,
  OpTypeFloat = 22,
  OpTypeVector = 23,
  OpTypeMatrix = 24,
  OpTypeImage = 25,
  OpTypeSampler = 26,
  OpTypeSampledImage = 27,
  OpTypeArray = 28,
  OpTypeRuntimeArray = 29,
  OpTypeStruct = 30,
  OpTypePointer = 32,
  OpTypeLast = 39,
  OpConstant = 43,
  OpSpecConstantTrue = 48,
  OpSpecConstantFalse = 49,
  OpSpecConstant = 50,
  OpVariable = 59,
  OpDecorate = 71,
  OpMemberDecorate = 72
};
enum Decoration : uint32_t {
  SpecId = 1,
  BufferBlock = 3,
  ArrayStride = 6,
  MatrixStride = 7,
  Binding = 33,
  DescriptorSet = 34,
  Offset = 35
};
enum StorageClass : uint32_t {
  Uniform = 2,
  PushConstant = 9,
  StorageBuffer = 12
};
constexpr uint32_t kMagic = 0x07230203;
constexpr uint32_t kGlCompute = 5;
constexpr uint32_t kLocalSize = 17;
/// As many descriptors as an array of unknown length gets.
constexpr uint32_t kRuntimeArrayCount = 1024;

uint32_t valueOr(const std::map<uint32_t, uint32_t> &decorations, uint32_t key,
                 uint32_t otherwise) {
  auto found = decorations.find(key);
  return found == decorations.end() ? otherwise : found->second;
}

/// Number of operands that an instruction must have to be looked at.
size_t leastOperands(uint32_t opcode) {
  switch (opcode) {
  case OpEntryPoint:
  case OpMemberDecorate:
  case OpConstant:
  case OpSpecConstant:
  case OpVariable:
  case OpTypeVector:
  case OpTypeMatrix:
  case OpTypeArray:
  case OpTypePointer:
    return 3;
  case OpExecutionMode:
  case OpDecorate:
  case OpSpecConstantTrue:
  case OpSpecConstantFalse:
  case OpTypeInt:
  case OpTypeFloat:
    return 2;
  case OpTypeImage:
    return 8;
  default:
    return 1;
  }
}

} // namespace

SpirvModule::SpirvModule(const std::string &path,
                         const std::string &wantedEntry) {
  readWords(path);
  for (size_t i = 5; i < words.size();) {
    uint32_t length = words[i] >> 16, opcode = words[i] & 0xffff;
    if (!length || i + length > words.size())
      throw Failure("broken SPIR-V module");
    std::vector<uint32_t> operands(words.begin() + i + 1,
                                   words.begin() + i + length);
    i += length;
    if (operands.size() >= leastOperands(opcode))
      readInstruction({opcode, std::move(operands)}, wantedEntry);
  }
  if (!entryId)
    throw Failure("no compute entry point " + wantedEntry);
  findConstants();
  findBindings();
}

void SpirvModule::readWords(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  words.resize(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  if (bytes.size() < 20 || bytes.size() % 4 || words[0] != kMagic)
    throw Failure("no SPIR-V module");
}

void SpirvModule::readInstruction(Instruction instruction,
                                  const std::string &wantedEntry) {
  const std::vector<uint32_t> &a = instruction.operands;
  switch (instruction.opcode) {
  case OpEntryPoint: {
    const char *name = reinterpret_cast<const char *>(&a[2]);
    std::string text(name, strnlen(name, (a.size() - 2) * 4));
    if (a[0] == kGlCompute && !entryId &&
        (wantedEntry.empty() || wantedEntry == text)) {
      entry = text;
      entryId = a[1];
    }
    break;
  }
  case OpExecutionMode:
    if (a[0] == entryId && a[1] == kLocalSize && a.size() >= 5)
      std::copy(a.begin() + 2, a.begin() + 5, localSize);
    break;
  case OpDecorate:
    decorations[a[0]][a[1]] = a.size() > 2 ? a[2] : 0;
    break;
  case OpMemberDecorate:
    memberDecorations[{a[0], a[1]}][a[2]] = a.size() > 3 ? a[3] : 0;
    break;
  case OpVariable:
    variables.push_back(a[1]);
    [[fallthrough]];
  case OpConstant:
  case OpSpecConstant:
  case OpSpecConstantTrue:
  case OpSpecConstantFalse:
    definitions[a[1]] = instruction;
    break;
  default:
    if (instruction.opcode >= OpTypeFirst && instruction.opcode <= OpTypeLast)
      definitions[a[0]] = instruction;
  }
}

const SpirvModule::Instruction &SpirvModule::definition(uint32_t id) const {
  auto found = definitions.find(id);
  if (found == definitions.end())
    throw Failure("SPIR-V id " + std::to_string(id) +
                  " is not defined as a type, constant or variable");
  return found->second;
}

uint32_t SpirvModule::literal(uint32_t id) const {
  const Instruction &constant = definition(id);
  if (constant.opcode != OpConstant && constant.opcode != OpSpecConstant)
    throw Failure("SPIR-V id " + std::to_string(id) + " is no constant");
  return constant.operands[2];
}

uint32_t SpirvModule::sizeOfStruct(uint32_t type) const {
  const std::vector<uint32_t> &members = definition(type).operands;
  uint32_t end = 0;
  for (uint32_t i = 0; i + 1 < members.size(); ++i) {
    uint32_t offset = 0, bytes = sizeOf(members[i + 1]);
    auto found = memberDecorations.find({type, i});
    if (found != memberDecorations.end()) {
      offset = valueOr(found->second, Offset, 0);
      uint32_t stride = valueOr(found->second, MatrixStride, 0);
      if (stride && definition(members[i + 1]).opcode == OpTypeMatrix)
        bytes = stride * definition(members[i + 1]).operands[2];
    }
    end = std::max(end, offset + bytes);
  }
  return end;
}

uint32_t SpirvModule::sizeOf(uint32_t type) const {
  const Instruction &t = definition(type);
  switch (t.opcode) {
  case OpTypeInt:
  case OpTypeFloat:
    return t.operands[1] / 8;
  case OpTypeVector:
  case OpTypeMatrix:
    return sizeOf(t.operands[1]) * t.operands[2];
  case OpTypePointer:
    return 8;
  case OpTypeArray: {
    auto found = decorations.find(type);
    uint32_t stride =
        found == decorations.end() ? 0 : valueOr(found->second, ArrayStride, 0);
    return (stride ? stride : sizeOf(t.operands[1])) * literal(t.operands[2]);
  }
  case OpTypeStruct:
    return sizeOfStruct(type);
  default:
    return 0;
  }
}

VkDescriptorType SpirvModule::descriptorType(uint32_t storageClass,
                                             uint32_t type) const {
  const Instruction &t = definition(type);
  if (storageClass == StorageBuffer)
    return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  if (storageClass == Uniform) {
    auto found = decorations.find(type);
    return found != decorations.end() && found->second.count(BufferBlock)
               ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
               : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
  }
  if (t.opcode == OpTypeSampler)
    return VK_DESCRIPTOR_TYPE_SAMPLER;
  if (t.opcode == OpTypeSampledImage)
    return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
  if (t.opcode == OpTypeImage) {
    bool isBuffer = t.operands[2] == 5, isStorage = t.operands[6] == 2;
    if (isBuffer)
      return isStorage ? VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER
                       : VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
    return isStorage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE
                     : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
  }
  throw Failure("a descriptor of a kind that is not supported");
}

void SpirvModule::findConstants() {
  for (const auto &[id, decoration] : decorations) {
    auto specId = decoration.find(SpecId);
    if (specId == decoration.end() || !definitions.count(id))
      continue;
    const Instruction &type = definition(definition(id).operands[0]);
    Constant::Kind kind = type.opcode == OpTypeBool ? Constant::Kind::Bool
                          : type.opcode == OpTypeFloat
                              ? Constant::Kind::Float
                              : Constant::Kind::Integer;
    constants[specId->second] = {
        kind, kind == Constant::Kind::Bool ? 4 : type.operands[1] / 8};
  }
}

void SpirvModule::findBindings() {
  for (uint32_t variable : variables) {
    const Instruction &instruction = definition(variable);
    const Instruction &pointer = definition(instruction.operands[0]);
    if (pointer.opcode != OpTypePointer)
      throw Failure("a variable's type is no pointer");
    uint32_t storageClass = instruction.operands[2], type = pointer.operands[2];
    if (storageClass == PushConstant)
      pushConstantBytes = std::max(pushConstantBytes, (sizeOf(type) + 3) & ~3u);
    auto found = decorations.find(variable);
    if (found == decorations.end() || !found->second.count(Binding))
      continue;
    uint32_t count = 1;
    for (const Instruction *t = &definition(type);
         t->opcode == OpTypeArray || t->opcode == OpTypeRuntimeArray;
         t = &definition(type)) {
      count *= t->opcode == OpTypeArray ? literal(t->operands[2])
                                        : kRuntimeArrayCount;
      type = t->operands[1];
    }
    uint32_t binding = found->second.at(Binding);
    sets[valueOr(found->second, DescriptorSet, 0)][binding] = {
        binding, descriptorType(storageClass, type), count,
        VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
}

} // namespace llmc::stats
