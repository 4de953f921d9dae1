// SPDX-License-Identifier: Apache-2.0
//
// A kernel's ops become steps once; a run goes through them for each workgroup.

#include "test/e2e/support/LockstepKernel.h"

#include "test/e2e/support/LockstepArithmetic.h"
#include "test/e2e/support/LockstepMemory.h"
#include "test/e2e/support/LockstepSubgroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace llmc::test {

namespace arith = mlir::arith;
namespace gpu = mlir::gpu;
namespace memref = mlir::memref;
namespace scf = mlir::scf;
namespace spirv = mlir::spirv;
namespace vector_ops = mlir::vector;

using mlir::Operation;
using mlir::Value;
using mlir::ValueRange;

namespace {

size_t componentsOf(mlir::Type type) {
  auto vector = dyn_cast<mlir::VectorType>(type);
  return vector ? static_cast<size_t>(vector.getNumElements()) : 1;
}

size_t componentBytes(mlir::Type type) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  return element.isIndex() ? 4 : (element.getIntOrFloatBitWidth() + 7) / 8;
}

void run(const std::vector<LockstepStep> &steps, LockstepMachine &machine) {
  for (const LockstepStep &step : steps) {
    if (machine.failed())
      return;
    step(machine);
  }
}

/// Copies slots for the active lanes, all at once: a value may be another's
/// place.
struct Copies {
  std::vector<LockstepSlot> from, to;

  void operator()(LockstepMachine &machine) const {
    std::vector<std::vector<uint32_t>> values;
    for (LockstepSlot slot : from)
      values.emplace_back(machine.at(slot), machine.at(slot) + slot.words);
    for (size_t number = 0; number < to.size(); ++number) {
      LockstepSlot slot = to[number];
      size_t perSubgroup = slot.words / machine.subgroups();
      for (size_t i = 0; i < slot.words; ++i)
        if (machine
                .active[slot.isMatrix ? i / perSubgroup * machine.subgroupSize
                                      : i % machine.lanes])
          machine.at(slot)[i] = values[number][i];
    }
  }
};

} // namespace

/// Makes steps of a kernel's ops.
class LockstepReader {
public:
  LockstepReader(gpu::GPUModuleOp module, uint32_t subgroupSize)
      : module(module) {
    kernel.subgroupSize = subgroupSize;
  }

  llvm::Expected<LockstepKernel> read();

private:
  LockstepSlot slotOf(Value value);
  std::vector<LockstepSlot> slotsOf(ValueRange values);
  size_t memoryOf(Value memref) { return memories.at(memref); }
  std::vector<LockstepStep> readBlock(mlir::Block &block);
  LockstepStep readOp(Operation &op);
  LockstepStep constant(Operation &op, mlir::Attribute value);
  LockstepStep memoryStep(Operation &op);
  LockstepStep matrixMove(Operation &op);
  LockstepStep atomicAdd(memref::AtomicRMWOp op);
  LockstepStep vectorStep(Operation &op);
  LockstepStep pick(Value result, std::vector<size_t> runs, ValueRange from);
  LockstepStep dynamicExtract(vector_ops::ExtractOp op);
  LockstepStep invocationStep(Operation &op);
  LockstepStep barrierStep(Operation &op);
  LockstepStep ifStep(scf::IfOp op);
  LockstepStep forStep(scf::ForOp op);

  uint32_t lanes() const {
    return kernel.workgroup[0] * kernel.workgroup[1] * kernel.workgroup[2];
  }

  gpu::GPUModuleOp module;
  LockstepKernel kernel;
  llvm::DenseMap<Value, LockstepSlot> slots;
  struct ValueLess {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  std::map<Value, size_t, ValueLess> memories;
  std::string problem;
};

LockstepSlot LockstepReader::slotOf(Value value) {
  auto [found, isNew] = slots.try_emplace(value);
  if (!isNew)
    return found->second;
  bool isMatrix = isa<gpu::MMAMatrixType>(value.getType());
  size_t words = isMatrix ? matrixShape(value.getType()).elements() * lanes() /
                                kernel.subgroupSize
                          : componentsOf(value.getType()) * lanes();
  found->second = {kernel.numWords, words, isMatrix};
  kernel.numWords += words;
  return found->second;
}

std::vector<LockstepSlot> LockstepReader::slotsOf(ValueRange values) {
  std::vector<LockstepSlot> result;
  for (Value value : values)
    result.push_back(slotOf(value));
  return result;
}

std::vector<LockstepStep> LockstepReader::readBlock(mlir::Block &block) {
  std::vector<LockstepStep> steps;
  for (Operation &op : block.without_terminator()) {
    LockstepStep step = readOp(op);
    if (!step && !isa<memref::AllocOp>(op) && problem.empty()) {
      llvm::raw_string_ostream(problem) << "not known here: " << op;
      break;
    }
    if (step)
      steps.push_back(std::move(step));
  }
  return steps;
}

LockstepStep LockstepReader::readOp(Operation &op) {
  if (auto value = dyn_cast<arith::ConstantOp>(op))
    return constant(op, value.getValue());
  if (auto reference = dyn_cast<spirv::ReferenceOfOp>(op)) {
    auto symbol =
        module.lookupSymbol<spirv::SpecConstantOp>(reference.getSpecConst());
    return constant(op, symbol.getDefaultValue());
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return ifStep(branch);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return forStep(loop);
  for (auto make :
       {&LockstepReader::memoryStep, &LockstepReader::vectorStep,
        &LockstepReader::invocationStep, &LockstepReader::barrierStep})
    if (LockstepStep step = (this->*make)(op))
      return step;
  // A shuffle has a second result, whether its lane was there, which no kernel
  // reads.
  if (op.getNumResults() == 0 ||
      isa<mlir::MemRefType>(op.getResult(0).getType()))
    return {};
  LockstepSlot result = slotOf(op.getResult(0));
  std::vector<LockstepSlot> operands = slotsOf(op.getOperands());
  if (LockstepStep step = arithmeticStep(op, result, operands))
    return step;
  return subgroupStep(op, result, operands);
}

LockstepStep LockstepReader::constant(Operation &op, mlir::Attribute value) {
  std::vector<uint32_t> components;
  auto add = [&](mlir::Attribute attribute) {
    if (auto integer = dyn_cast<mlir::IntegerAttr>(attribute))
      components.push_back(
          static_cast<uint32_t>(integer.getValue().extractBitsAsZExtValue(
              std::min(32U, integer.getValue().getBitWidth()), 0)));
    else
      components.push_back(
          static_cast<uint32_t>(cast<mlir::FloatAttr>(attribute)
                                    .getValue()
                                    .bitcastToAPInt()
                                    .getZExtValue()));
  };
  if (auto elements = dyn_cast<mlir::DenseElementsAttr>(value))
    for (mlir::Attribute element : elements.getValues<mlir::Attribute>())
      add(element);
  else
    add(value);
  return [=, slot = slotOf(op.getResult(0))](LockstepMachine &machine) {
    for (size_t i = 0; i < components.size(); ++i)
      std::fill_n(machine.at(slot) + i * machine.lanes, machine.lanes,
                  components[i]);
  };
}

//===----------------------------------------------------------------------===//
// Memory and vectors
//===----------------------------------------------------------------------===//

LockstepStep LockstepReader::memoryStep(Operation &op) {
  if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
    mlir::Type element = alloc.getType().getElementType();
    memories[alloc] = kernel.numBuffers + kernel.sharedMemories.size();
    size_t bytes = componentBytes(element);
    kernel.sharedMemories.push_back(
        {static_cast<size_t>(alloc.getType().getNumElements()) *
             componentsOf(element) * bytes,
         bytes});
    return {};
  }
  auto move = [&](Value value, Value memref, Value index, bool isStore) {
    return memoryMoveStep({slotOf(value), slotOf(index), memoryOf(memref),
                           componentsOf(value.getType()),
                           componentBytes(value.getType()), isStore});
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return move(load, load.getMemRef(), load.getIndices()[0], false);
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return move(store.getValueToStore(), store.getMemRef(),
                store.getIndices()[0], true);
  if (auto atomic = dyn_cast<memref::AtomicRMWOp>(op))
    return atomicAdd(atomic);
  return matrixMove(op);
}

LockstepStep LockstepReader::matrixMove(Operation &op) {
  auto make = [&](Value matrix, Value memref, Value index, llvm::APInt stride,
                  bool isTransposed, bool isStore) {
    mlir::Type element =
        cast<mlir::MemRefType>(memref.getType()).getElementType();
    return matrixMoveStep({slotOf(matrix), slotOf(index), memoryOf(memref),
                           static_cast<size_t>(stride.getZExtValue()),
                           componentsOf(element) * componentBytes(element),
                           matrixShape(matrix.getType()), isTransposed,
                           isStore});
  };
  if (auto load = dyn_cast<gpu::SubgroupMmaLoadMatrixOp>(op))
    return make(load, load.getSrcMemref(), load.getIndices()[0],
                load.getLeadDimension(), load.getTranspose().value_or(false),
                false);
  if (auto store = dyn_cast<gpu::SubgroupMmaStoreMatrixOp>(op))
    return make(store.getSrc(), store.getDstMemref(), store.getIndices()[0],
                store.getLeadDimension(), store.getTranspose().value_or(false),
                true);
  return {};
}

LockstepStep LockstepReader::atomicAdd(memref::AtomicRMWOp op) {
  if (op.getKind() != arith::AtomicRMWKind::addi)
    return {};
  return atomicAddStep({slotOf(op.getResult()), slotOf(op.getValue()),
                        slotOf(op.getIndices()[0]), memoryOf(op.getMemref())});
}

/// A vector whose component i is component runs[i] of all of `from`.
LockstepStep LockstepReader::pick(Value result, std::vector<size_t> runs,
                                  ValueRange from) {
  std::vector<size_t> places;
  for (LockstepSlot slot : slotsOf(from))
    for (size_t word = 0; word < slot.words; word += lanes())
      places.push_back(slot.first + word);
  return [places, runs, to = slotOf(result)](LockstepMachine &machine) {
    for (size_t i = 0; i < runs.size(); ++i)
      std::copy_n(&machine.words[places[runs[i]]], machine.lanes,
                  machine.at(to) + i * machine.lanes);
  };
}

LockstepStep LockstepReader::dynamicExtract(vector_ops::ExtractOp op) {
  return
      [from = slotOf(op.getSource()), to = slotOf(op.getResult()),
       number = slotOf(op.getDynamicPosition()[0])](LockstepMachine &machine) {
        size_t components = from.words / machine.lanes;
        for (uint32_t lane = 0; lane < machine.lanes; ++lane) {
          size_t component = machine.at(number)[lane];
          if (component < components)
            machine.at(to)[lane] =
                machine.at(from)[component * machine.lanes + lane];
          else if (machine.active[lane])
            return machine.fail("a component beyond its vector is extracted");
        }
      };
}

LockstepStep LockstepReader::vectorStep(Operation &op) {
  auto count = [](size_t first, size_t size) {
    std::vector<size_t> numbers(size);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
  };
  if (auto extract = dyn_cast<vector_ops::ExtractOp>(op)) {
    if (!extract.getDynamicPosition().empty())
      return dynamicExtract(extract);
    return pick(extract.getResult(),
                {static_cast<size_t>(extract.getStaticPosition()[0])},
                extract.getSource());
  }
  if (auto insert = dyn_cast<vector_ops::InsertOp>(op)) {
    if (!insert.getDynamicPosition().empty())
      return {};
    size_t size = componentsOf(insert.getType());
    std::vector<size_t> numbers = count(0, size);
    numbers[insert.getStaticPosition()[0]] = size;
    return pick(insert.getResult(), numbers,
                {insert.getDest(), insert.getValueToStore()});
  }
  if (auto slice = dyn_cast<vector_ops::ExtractStridedSliceOp>(op))
    return pick(slice.getResult(),
                count(cast<mlir::IntegerAttr>(slice.getOffsets()[0]).getInt(),
                      componentsOf(slice.getType())),
                slice.getSource());
  if (auto splat = dyn_cast<vector_ops::BroadcastOp>(op))
    return pick(splat.getResult(),
                std::vector<size_t>(componentsOf(splat.getType()), 0),
                splat.getSource());
  if (auto parts = dyn_cast<vector_ops::FromElementsOp>(op))
    return pick(parts.getResult(), count(0, parts.getElements().size()),
                parts.getElements());
  if (auto shuffle = dyn_cast<vector_ops::ShuffleOp>(op))
    return pick(
        shuffle.getResult(),
        std::vector<size_t>(shuffle.getMask().begin(), shuffle.getMask().end()),
        {shuffle.getV1(), shuffle.getV2()});
  return {};
}

//===----------------------------------------------------------------------===//
// Invocations
//===----------------------------------------------------------------------===//

LockstepStep LockstepReader::invocationStep(Operation &op) {
  auto each = [&](auto function) -> LockstepStep {
    return [=, to = slotOf(op.getResult(0))](LockstepMachine &machine) {
      for (uint32_t lane = 0; lane < machine.lanes; ++lane)
        machine.at(to)[lane] = function(machine, lane);
    };
  };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return each([dimension = static_cast<size_t>(id.getDimension())](
                    LockstepMachine &machine, uint32_t lane) {
      for (size_t i = 0; i < dimension; ++i)
        lane /= machine.size[i];
      return lane % machine.size[dimension];
    });
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return each([dimension = static_cast<size_t>(id.getDimension())](
                    LockstepMachine &machine, uint32_t) {
      return machine.group[dimension];
    });
  if (auto count = dyn_cast<gpu::GridDimOp>(op))
    return each([dimension = static_cast<size_t>(count.getDimension())](
                    LockstepMachine &machine, uint32_t) {
      return machine.groups[dimension];
    });
  if (isa<gpu::SubgroupIdOp>(op))
    return each([](LockstepMachine &machine, uint32_t lane) {
      return lane / machine.subgroupSize;
    });
  if (isa<gpu::LaneIdOp>(op))
    return each([](LockstepMachine &machine, uint32_t lane) {
      return lane % machine.subgroupSize;
    });
  return {};
}

LockstepStep LockstepReader::barrierStep(Operation &op) {
  auto barrier = dyn_cast<spirv::ControlBarrierOp>(op);
  if (barrier && barrier.getExecutionScope() == spirv::Scope::Subgroup)
    return [](LockstepMachine &machine) {
      for (uint32_t lane = 0; lane < machine.lanes; ++lane)
        if (lane % machine.subgroupSize == 0)
          machine.synchronizations.ofSubgroup[lane / machine.subgroupSize] +=
              machine.active[lane];
        else if (machine.active[lane] != machine.active[lane - 1])
          return machine.fail(
              "a barrier is not reached by all lanes of a subgroup");
    };
  if (isa<gpu::BarrierOp>(op) ||
      (barrier && barrier.getExecutionScope() == spirv::Scope::Workgroup))
    return [](LockstepMachine &machine) {
      if (llvm::is_contained(machine.active, 0))
        return machine.fail(
            "a barrier is not reached by all lanes of the workgroup");
      ++machine.synchronizations.ofWorkgroup;
    };
  // Workgroups run one after the other.
  if (isa<spirv::MemoryBarrierOp>(op))
    return [](LockstepMachine &) {};
  return {};
}

LockstepStep LockstepReader::ifStep(scf::IfOp op) {
  struct Branch {
    std::vector<LockstepStep> steps;
    Copies yields;
  };
  auto readBranch = [&](mlir::Block *block) {
    Branch branch;
    if (!block)
      return branch;
    branch.steps = readBlock(*block);
    branch.yields = {slotsOf(block->getTerminator()->getOperands()),
                     slotsOf(op.getResults())};
    return branch;
  };
  Branch whenTrue = readBranch(op.thenBlock()),
         whenFalse = readBranch(op.elseBlock());
  return [=, condition = slotOf(op.getCondition())](LockstepMachine &machine) {
    std::vector<uint8_t> before = machine.active, taken(before.size());
    for (size_t lane = 0; lane < before.size(); ++lane)
      taken[lane] = machine.at(condition)[lane] != 0;
    for (const Branch *branch : {&whenTrue, &whenFalse}) {
      bool isAny = false;
      for (size_t lane = 0; lane < before.size(); ++lane) {
        machine.active[lane] =
            before[lane] && taken[lane] == (branch == &whenTrue);
        isAny |= machine.active[lane] != 0;
      }
      if (!isAny)
        continue;
      run(branch->steps, machine);
      branch->yields(machine);
    }
    machine.active = before;
  };
}

/// Until the last lane is through; the others wait.
LockstepStep LockstepReader::forStep(scf::ForOp op) {
  std::vector<LockstepSlot> carried = slotsOf(op.getRegionIterArgs());
  Copies begin = {slotsOf(op.getInitArgs()), carried}, next = {{}, carried},
         end = {carried, slotsOf(op.getResults())};
  LockstepSlot induction = slotOf(op.getInductionVar()),
               lower = slotOf(op.getLowerBound()),
               upper = slotOf(op.getUpperBound()), step = slotOf(op.getStep());
  std::vector<LockstepStep> body = readBlock(*op.getBody());
  next.from = slotsOf(op.getBody()->getTerminator()->getOperands());
  return [=](LockstepMachine &machine) {
    std::vector<uint8_t> before = machine.active;
    begin(machine);
    std::copy_n(machine.at(lower), induction.words, machine.at(induction));
    while (!machine.failed()) {
      bool isAny = false;
      for (size_t lane = 0; lane < before.size(); ++lane) {
        machine.active[lane] =
            machine.active[lane] &&
            static_cast<int32_t>(machine.at(induction)[lane]) <
                static_cast<int32_t>(machine.at(upper)[lane]);
        isAny |= machine.active[lane] != 0;
      }
      if (!isAny)
        break;
      run(body, machine);
      next(machine);
      for (size_t lane = 0; lane < before.size(); ++lane)
        machine.at(induction)[lane] += machine.at(step)[lane];
    }
    machine.active = before;
    end(machine);
  };
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

llvm::Expected<LockstepKernel> LockstepReader::read() {
  gpu::GPUFuncOp function = *module.getOps<gpu::GPUFuncOp>().begin();
  kernel.name = module.getName().str();
  auto abi = function->getAttrOfType<spirv::EntryPointABIAttr>(
      spirv::getEntryPointABIAttrName());
  for (auto [size, wanted] :
       llvm::zip(kernel.workgroup, abi.getWorkgroupSize().asArrayRef()))
    size = static_cast<uint32_t>(wanted);
  for (Value argument : function.getArguments())
    memories[argument] = kernel.numBuffers++;
  if (lanes() % kernel.subgroupSize != 0)
    kernel.subgroupSize = lanes();
  kernel.steps = readBlock(function.getBody().front());
  if (!problem.empty())
    return llvm::createStringError(kernel.name + ": " + problem);
  return std::move(kernel);
}

llvm::Expected<LockstepKernel> LockstepKernel::read(gpu::GPUModuleOp module,
                                                    uint32_t subgroupSize) {
  return LockstepReader(module, subgroupSize).read();
}

llvm::Error LockstepKernel::run(std::array<uint32_t, 3> groups,
                                const std::vector<Buffer> &buffers) const {
  if (buffers.size() != numBuffers)
    return llvm::createStringError(name + " has " + std::to_string(numBuffers) +
                                   " bindings, given " +
                                   std::to_string(buffers.size()));
  LockstepMachine machine;
  machine.lanes = workgroup[0] * workgroup[1] * workgroup[2];
  machine.subgroupSize = subgroupSize;
  machine.size = workgroup;
  machine.groups = groups;
  // A run of a small kernel is over before as much memory were zero.
  static thread_local std::vector<uint32_t> words;
  if (words.size() < numWords)
    words.resize(numWords);
  machine.words.swap(words);
  machine.synchronizations.ofSubgroup.resize(machine.subgroups());
  std::vector<std::vector<uint8_t>> shared(sharedMemories.size());
  for (uint32_t group = 0; group < groups[0] * groups[1] * groups[2]; ++group) {
    machine.group = {group % groups[0], group / groups[0] % groups[1],
                     group / groups[0] / groups[1]};
    machine.active.assign(machine.lanes, 1);
    machine.memories.clear();
    for (const Buffer &buffer : buffers)
      machine.memories.push_back(
          {static_cast<uint8_t *>(buffer.data), buffer.bytes, std::nullopt});
    for (auto [bytes, memory] : llvm::zip_equal(shared, sharedMemories)) {
      // NaN, as what was not stored.
      bytes.assign(memory.bytes, 0xff);
      machine.memories.push_back(
          {bytes.data(), bytes.size(),
           SharedAccesses(memory.bytes, memory.granule)});
    }
    test::run(steps, machine);
    if (machine.failed()) {
      machine.error =
          name + ": workgroup " + std::to_string(group) + ": " + machine.error;
      break;
    }
  }
  machine.words.swap(words);
  return machine.failed() ? llvm::createStringError(machine.error)
                          : llvm::Error::success();
}

} // namespace llmc::test
