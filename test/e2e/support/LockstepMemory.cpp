// SPDX-License-Identifier: Apache-2.0
//
// LockstepMemory.h.

#include "test/e2e/support/LockstepMemory.h"

#include <cstring>

namespace llmc::test {

namespace {

std::string describe(const MemoryMove &move) {
  return std::string(move.isStore ? "a store to" : "a load from") + " memory " +
         std::to_string(move.memory);
}

/// Whether the lane may access the place, with regard to others.
bool isOrdered(const MemoryMove &move, LockstepMachine &machine, uint32_t lane,
               size_t byte) {
  LockstepMemory &memory = machine.memories[move.memory];
  Accessor who = {lane / machine.subgroupSize, lane};
  size_t size = move.components * move.bytes;
  if (!memory.accesses)
    return true;
  if (!move.isStore)
    return memory.accesses->read(byte, size, who, machine.synchronizations);
  bool changes = false;
  for (size_t i = 0; i < move.components; ++i)
    changes |= std::memcmp(memory.data + byte + i * move.bytes,
                           &machine.at(move.value)[i * machine.lanes + lane],
                           move.bytes) != 0;
  return memory.accesses->write(byte, size, who, machine.synchronizations,
                                changes);
}

void moveLane(const MemoryMove &move, LockstepMachine &machine, uint32_t lane,
              size_t byte) {
  for (size_t i = 0; i < move.components; ++i) {
    uint32_t &word = machine.at(move.value)[i * machine.lanes + lane];
    uint8_t *place = machine.memories[move.memory].data + byte + i * move.bytes;
    if (move.isStore) {
      std::memcpy(place, &word, move.bytes);
    } else {
      word = 0;
      std::memcpy(&word, place, move.bytes);
    }
  }
}

} // namespace

LockstepStep memoryMoveStep(const MemoryMove &move) {
  return [=](LockstepMachine &machine) {
    size_t size = move.components * move.bytes,
           allBytes = machine.memories[move.memory].bytes;
    for (uint32_t lane = 0; lane < machine.lanes; ++lane) {
      if (!machine.active[lane])
        continue;
      size_t byte = machine.at(move.index)[lane] * size;
      if (byte + size > allBytes)
        return machine.fail(describe(move) + " ends at byte " +
                            std::to_string(byte + size) + " of " +
                            std::to_string(allBytes));
      if (!isOrdered(move, machine, lane, byte))
        return machine.fail(
            describe(move) + " by lane " + std::to_string(lane) + " at byte " +
            std::to_string(byte) + ", which lanes share with no barrier");
      moveLane(move, machine, lane, byte);
    }
  };
}

LockstepStep atomicAddStep(const AtomicAdd &add) {
  return [=](LockstepMachine &machine) {
    LockstepMemory &memory = machine.memories[add.memory];
    for (uint32_t lane = 0; lane < machine.lanes; ++lane) {
      if (!machine.active[lane])
        continue;
      size_t byte = size_t(machine.at(add.index)[lane]) * 4;
      if (byte + 4 > memory.bytes)
        return machine.fail("an atomic is beyond its buffer");
      uint32_t value;
      std::memcpy(&value, memory.data + byte, 4);
      machine.at(add.result)[lane] = value;
      value += machine.at(add.addend)[lane];
      std::memcpy(memory.data + byte, &value, 4);
    }
  };
}

} // namespace llmc::test
