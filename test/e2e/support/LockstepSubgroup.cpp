// SPDX-License-Identifier: Apache-2.0
//
// LockstepSubgroup.h. Which lane has which element of a matrix matters where
// matrices are made of registers; MatrixFragments.h says how it is.

#include "test/e2e/support/LockstepSubgroup.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "test/e2e/support/LockstepArithmetic.h"

#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace llmc::test {

namespace gpu = mlir::gpu;

namespace {

/// Whether all lanes of a subgroup have the same word.
bool isUniform(const LockstepMachine &machine, const uint32_t *words) {
  return std::count(words, words + machine.subgroupSize, words[0]) ==
         machine.subgroupSize;
}

/// Whether all lanes of a subgroup are active; fails if some are.
bool isActive(LockstepMachine &machine, uint32_t subgroup, const char *what) {
  const uint8_t *lanes =
      machine.active.data() + size_t(subgroup) * machine.subgroupSize;
  auto active = std::count(lanes, lanes + machine.subgroupSize, 1);
  if (active != 0 && active != machine.subgroupSize)
    machine.fail(std::string(what) + " is reached by " +
                 std::to_string(active) + " lanes of a subgroup alone");
  return active == machine.subgroupSize;
}

LockstepStep shuffle(gpu::ShuffleOp op, LockstepSlot result,
                     llvm::ArrayRef<LockstepSlot> operands) {
  LockstepSlot value = operands[0], offset = operands[1];
  gpu::ShuffleMode mode = op.getMode();
  if (mode != gpu::ShuffleMode::XOR && mode != gpu::ShuffleMode::IDX)
    return {};
  return [=](LockstepMachine &machine) {
    uint32_t size = machine.subgroupSize;
    const uint32_t *from = machine.at(value), *offsets = machine.at(offset);
    uint32_t *to = machine.at(result);
    for (uint32_t lane = 0; lane < machine.lanes; ++lane) {
      if (!machine.active[lane])
        continue;
      uint32_t place = lane % size,
               other = mode == gpu::ShuffleMode::XOR ? place ^ offsets[lane]
                                                     : offsets[lane],
               source = lane - place + other;
      if (other >= size || !machine.active[source])
        return machine.fail("a shuffle reads from lane " +
                            std::to_string(other) +
                            ", which does not come to it");
      for (size_t word = 0; word < result.words; word += machine.lanes)
        to[word + lane] = from[word + source];
    }
  };
}

/// Of two words.
using Combine = uint32_t (*)(uint32_t, uint32_t);

Combine combineOf(gpu::SubgroupReduceOp op) {
  if (op.getOp() == gpu::AllReduceOperation::ADD && op.getType().isF32())
    return [](uint32_t one, uint32_t other) {
      return toBits(toFloat(one) + toFloat(other));
    };
  if (!op.getType().isInteger(32))
    return nullptr;
  if (op.getOp() == gpu::AllReduceOperation::MAXSI)
    return [](uint32_t one, uint32_t other) {
      return static_cast<uint32_t>(
          std::max(static_cast<int32_t>(one), static_cast<int32_t>(other)));
    };
  if (op.getOp() == gpu::AllReduceOperation::MINUI)
    return [](uint32_t one, uint32_t other) { return std::min(one, other); };
  return nullptr;
}

LockstepStep reduce(gpu::SubgroupReduceOp op, LockstepSlot result,
                    LockstepSlot value) {
  Combine combine = combineOf(op);
  if (!combine)
    return {};
  return [=](LockstepMachine &machine) {
    for (uint32_t first = 0; first < machine.lanes;
         first += machine.subgroupSize) {
      std::optional<uint32_t> all;
      for (uint32_t lane = first; lane < first + machine.subgroupSize; ++lane)
        if (machine.active[lane]) {
          uint32_t word = machine.at(value)[lane];
          all = all ? combine(*all, word) : word;
        }
      for (uint32_t lane = first; lane < first + machine.subgroupSize; ++lane)
        machine.at(result)[lane] = all.value_or(0);
    }
  };
}

/// The place of element `number` of those that a lane has of a matrix, of one
/// that MatrixFragments.h describes.
std::optional<size_t> placeInFragment(gpu::MMAMatrixType type, uint32_t lane,
                                      uint32_t number) {
  uint32_t g = lane / 4, t = lane % 4, word = number / 2, half = number % 2;
  llvm::ArrayRef<int64_t> shape = type.getShape();
  llvm::StringRef operand = type.getOperand();
  if (operand == "AOp" && shape[0] == 16 && shape[1] == 16)
    return size_t(g + 8 * (word / 2)) * 16 + 2 * t + 8 * (word % 2) + half;
  if (operand == "BOp" && shape[0] == 16 && shape[1] == 8)
    return size_t(2 * t + 8 * word + half) * 8 + g;
  if (operand == "COp" && shape[0] == 16 && shape[1] == 8)
    return size_t(g + 8 * word) * 8 + 2 * t + half;
  return std::nullopt;
}

/// Inserts a lane's element into a matrix, or extracts it.
LockstepStep threadLocal(gpu::MMAMatrixType type, mlir::Value index,
                         LockstepSlot result, LockstepSlot matrix,
                         std::optional<LockstepSlot> inserted) {
  llvm::APInt number;
  constexpr uint32_t kSubgroupSize = 32;
  if (!mlir::matchPattern(index, mlir::m_ConstantInt(&number)) ||
      !placeInFragment(type, 0, 0))
    return {};
  std::vector<size_t> places;
  for (uint32_t lane = 0; lane < kSubgroupSize; ++lane)
    places.push_back(*placeInFragment(
        type, lane, static_cast<uint32_t>(number.getZExtValue())));
  size_t elements = matrixShape(type).elements();
  return [=](LockstepMachine &machine) {
    if (machine.subgroupSize != kSubgroupSize)
      return machine.fail("fragments of matrices are of subgroups of 32");
    if (inserted && result.first != matrix.first)
      std::copy_n(machine.at(matrix), matrix.words, machine.at(result));
    for (uint32_t lane = 0; lane < machine.lanes; ++lane) {
      size_t place =
          lane / kSubgroupSize * elements + places[lane % kSubgroupSize];
      if (inserted)
        machine.at(result)[place] = machine.at(*inserted)[lane];
      else
        machine.at(result)[lane] = machine.at(matrix)[place];
    }
  };
}

/// A matrix whose elements are all the same number.
LockstepStep fill(LockstepSlot result, LockstepSlot number) {
  return [=](LockstepMachine &machine) {
    const char *what = "a matrix of one number";
    size_t elements = result.words / machine.subgroups();
    for (uint32_t subgroup = 0; subgroup < machine.subgroups(); ++subgroup) {
      if (!isActive(machine, subgroup, what))
        continue;
      const uint32_t *numbers =
          machine.at(number) + size_t(subgroup) * machine.subgroupSize;
      if (!isUniform(machine, numbers))
        return machine.fail(std::string(what) +
                            " has other numbers in other lanes");
      std::fill_n(machine.at(result) + subgroup * elements, elements,
                  numbers[0]);
    }
  };
}

/// left * right + sum, of f16 and f32.
LockstepStep multiply(gpu::SubgroupMmaComputeOp op, LockstepSlot result,
                      llvm::ArrayRef<LockstepSlot> operands) {
  MatrixShape left = matrixShape(op.getOpA().getType()),
              right = matrixShape(op.getOpB().getType()),
              sum = matrixShape(op.getOpC().getType());
  if (left.bytes != 2 || right.bytes != 2 || sum.bytes != 4)
    return {};
  LockstepSlot a = operands[0], b = operands[1], c = operands[2];
  return [=](LockstepMachine &machine) {
    std::vector<float> lefts(left.elements()), rights(right.elements());
    for (uint32_t subgroup = 0; subgroup < machine.subgroups(); ++subgroup) {
      if (!isActive(machine, subgroup, "a product of matrices"))
        continue;
      const uint32_t *from = machine.at(a) + subgroup * left.elements();
      for (size_t i = 0; i < lefts.size(); ++i)
        lefts[i] = halfToFloat(from[i]);
      from = machine.at(b) + subgroup * right.elements();
      for (size_t i = 0; i < rights.size(); ++i)
        rights[i] = halfToFloat(from[i]);
      const uint32_t *sums = machine.at(c) + subgroup * sum.elements();
      uint32_t *to = machine.at(result) + subgroup * sum.elements();
      std::vector<float> row(sum.columns);
      for (size_t i = 0; i < sum.rows; ++i) {
        for (size_t j = 0; j < sum.columns; ++j)
          row[j] = toFloat(sums[i * sum.columns + j]);
        for (size_t k = 0; k < left.columns; ++k)
          for (size_t j = 0; j < sum.columns; ++j)
            row[j] +=
                lefts[i * left.columns + k] * rights[k * right.columns + j];
        for (size_t j = 0; j < sum.columns; ++j)
          to[i * sum.columns + j] = toBits(row[j]);
      }
    }
  };
}

LockstepStep elementwise(gpu::SubgroupMmaElementwiseOp op, LockstepSlot result,
                         llvm::ArrayRef<LockstepSlot> operands) {
  gpu::MMAElementwiseOp kind = op.getOpType();
  if ((kind != gpu::MMAElementwiseOp::ADDF &&
       kind != gpu::MMAElementwiseOp::MULF) ||
      matrixShape(op.getType()).bytes != 4)
    return {};
  LockstepSlot lhs = operands[0], rhs = operands[1];
  return [=](LockstepMachine &machine) {
    for (size_t i = 0; i < result.words; ++i) {
      float a = toFloat(machine.at(lhs)[i]), b = toFloat(machine.at(rhs)[i]);
      machine.at(result)[i] =
          toBits(kind == gpu::MMAElementwiseOp::ADDF ? a + b : a * b);
    }
  };
}

} // namespace

MatrixShape matrixShape(mlir::Type type) {
  auto matrix = mlir::cast<gpu::MMAMatrixType>(type);
  return {static_cast<size_t>(matrix.getShape()[0]),
          static_cast<size_t>(matrix.getShape()[1]),
          matrix.getElementType().getIntOrFloatBitWidth() / 8};
}

LockstepStep matrixMoveStep(const MatrixMove &move) {
  return [=](LockstepMachine &machine) {
    const char *what =
        move.isStore ? "a store of matrices" : "a load of matrices";
    LockstepMemory &memory = machine.memories[move.memory];
    const MatrixShape &shape = move.shape;
    for (uint32_t subgroup = 0; subgroup < machine.subgroups(); ++subgroup) {
      if (!isActive(machine, subgroup, what))
        continue;
      const uint32_t *index =
          machine.at(move.index) + size_t(subgroup) * machine.subgroupSize;
      if (!isUniform(machine, index))
        return machine.fail(std::string(what) +
                            " has other indices in other lanes");
      uint32_t *words = machine.at(move.matrix) + subgroup * shape.elements();
      for (size_t i = 0; i < shape.elements(); ++i) {
        size_t row = i / shape.columns, column = i % shape.columns;
        if (move.isTransposed)
          std::swap(row, column);
        size_t byte = (index[0] + row * move.stride) * move.memoryElementBytes +
                      column * shape.bytes;
        if (byte + shape.bytes > memory.bytes)
          return machine.fail(std::string(what) + " ends at byte " +
                              std::to_string(byte + shape.bytes) + " of " +
                              std::to_string(memory.bytes));
        if (memory.accesses &&
            !(move.isStore
                  ? memory.accesses->write(byte, shape.bytes, {subgroup},
                                           machine.synchronizations)
                  : memory.accesses->read(byte, shape.bytes, {subgroup},
                                          machine.synchronizations)))
          return machine.fail(std::string(what) +
                              " shares workgroup memory with no barrier");
        if (move.isStore) {
          std::memcpy(memory.data + byte, &words[i], shape.bytes);
        } else {
          words[i] = 0;
          std::memcpy(&words[i], memory.data + byte, shape.bytes);
        }
      }
    }
  };
}

LockstepStep subgroupStep(mlir::Operation &op, LockstepSlot result,
                          llvm::ArrayRef<LockstepSlot> operands) {
  if (auto shuffleOp = mlir::dyn_cast<gpu::ShuffleOp>(op))
    return shuffle(shuffleOp, result, operands);
  if (auto reduceOp = mlir::dyn_cast<gpu::SubgroupReduceOp>(op))
    return reduce(reduceOp, result, operands[0]);
  if (auto multiplyOp = mlir::dyn_cast<gpu::SubgroupMmaComputeOp>(op))
    return multiply(multiplyOp, result, operands);
  if (auto elementwiseOp = mlir::dyn_cast<gpu::SubgroupMmaElementwiseOp>(op))
    return elementwise(elementwiseOp, result, operands);
  if (mlir::isa<gpu::SubgroupMmaConstantMatrixOp>(op))
    return fill(result, operands[0]);
  if (auto insert = mlir::dyn_cast<gpu::SubgroupMmaInsertThreadLocalOp>(op))
    return threadLocal(
        mlir::cast<gpu::MMAMatrixType>(insert.getMatrix().getType()),
        insert.getIndices().front(), result, operands[1], operands[0]);
  if (auto extract = mlir::dyn_cast<gpu::SubgroupMmaExtractThreadLocalOp>(op))
    return threadLocal(
        mlir::cast<gpu::MMAMatrixType>(extract.getMatrix().getType()),
        extract.getIndices().front(), result, operands[0], std::nullopt);
  return {};
}

} // namespace llmc::test
