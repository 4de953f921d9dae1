// SPDX-License-Identifier: Apache-2.0
//
// One method for each part of a variant. Buffers come first, since everything
// refers to them.

#include "compiler/Serialization/ProgramEncoder.h"

#include "compiler/Serialization/RequiredFeatures.h"
#include "dialects/Program/Program.h"
#include "dialects/Support/Location.h"
#include "dialects/Target/Target.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

namespace llmc::serialization {

using program::Storage;

namespace {

constexpr uint64_t kStepBytes = 64;

llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

class ProgramEncoder {
public:
  ProgramEncoder(ModuleOp module, const EncodeOptions &options)
      : module(module), options(options) {}

  llvm::Expected<EncodedProgram> run() {
    *variant.mutable_target() = options.target;
    if (llvm::Error error = addBuffers())
      return std::move(error);
    for (auto kernel : module.getOps<program::KernelOp>())
      if (llvm::Error error = addKernel(kernel))
        return std::move(error);
    for (auto entry : module.getOps<program::EntryOp>())
      if (llvm::Error error = addEntry(entry))
        return std::move(error);
    if (variant.entries_size() == 0)
      return makeError("the program has no entries");
    if (llvm::Error error = restrictToNeeds(needs, *variant.mutable_target()))
      return std::move(error);
    if (options.selfTests)
      if (llvm::Error error = addSelfTest())
        return std::move(error);
    return std::move(result);
  }

  /// The entries of a program that runs the kernels of |owner| on its weights.
  llvm::Expected<format::Variant> runOn(const ProgramEncoder &owner) {
    weightPlaces = owner.weightPlaces;
    kernels = owner.kernels;
    for (const format::Buffer &buffer : owner.variant.buffers())
      if (buffer.kind() == format::Buffer::WEIGHTS)
        *variant.add_buffers() = buffer;
    if (llvm::Error error = addBuffers())
      return std::move(error);
    for (auto entry : module.getOps<program::EntryOp>())
      if (llvm::Error error = addEntry(entry))
        return std::move(error);
    return std::move(variant);
  }

private:
  /// Where a storage begins.
  struct Place {
    uint32_t buffer;
    uint64_t offset;
  };

  uint32_t addBuffer(format::Buffer::Kind kind, uint64_t size);
  llvm::Error addBuffers();
  llvm::Error placeWeights();
  llvm::Error placeStates();
  void noteCacheType(program::SliceOp slice);
  llvm::Error checkAllocations();
  llvm::Error addSelfTest();
  llvm::Error addKernel(program::KernelOp kernel);
  llvm::Error addEntry(program::EntryOp entry);
  llvm::Error addDispatch(program::DispatchOp dispatch, format::Entry &entry);
  llvm::Expected<format::Slice> encodeSlice(program::SliceOp slice);
  llvm::Error addPort(program::SliceOp slice, uint64_t rows,
                      format::Port &port);

  ModuleOp module;
  const EncodeOptions &options;
  EncodedProgram result;
  format::Variant &variant = result.variant;
  CodeNeeds needs;
  std::map<Storage, Place> places;
  std::map<size_t, Place> weightPlaces;  // by index into the weight table
  std::map<uint64_t, Place> statePlaces; // by the planner's offset
  uint64_t maxAllocation = 0;
  llvm::StringMap<uint32_t> kernels; // symbol → index
  std::map<std::vector<uint32_t>, uint32_t> kernelOfCode;
};

uint32_t ProgramEncoder::addBuffer(format::Buffer::Kind kind, uint64_t size) {
  format::Buffer &buffer = *variant.add_buffers();
  buffer.set_kind(kind);
  buffer.set_size(llvm::alignTo(size, 16));
  return static_cast<uint32_t>(variant.buffers_size() - 1);
}

/// The end of the furthest slice of each storage decides its size.
llvm::Error ProgramEncoder::addBuffers() {
  std::map<Storage, uint64_t> ends;
  ends[Storage::Step] = kStepBytes;
  module.walk([&](program::SliceOp slice) {
    // Inputs share the buffer of the step words.
    Storage storage = slice.getStorage() == Storage::Input ? Storage::Step
                                                           : slice.getStorage();
    uint64_t &end = ends[storage];
    end = std::max(end, slice.getOffset().value_or(0) + slice.getBytes());
  });
  auto device = module->getAttrOfType<target::DeviceAttr>(
      target::DeviceAttr::getModuleAttrName());
  if (!device)
    return makeError("the module has no target.device attribute");
  maxAllocation = static_cast<uint64_t>(device.getMaxAllocation());
  // A program on another's weights has them already.
  if (weightPlaces.empty())
    if (llvm::Error error = placeWeights())
      return error;

  // Kept values lie behind the transient ones.
  uint64_t keptOffset = llvm::alignTo(ends[Storage::Arena],
                                      static_cast<uint64_t>(std::max<int64_t>(
                                          16, device.getBufferAlignment())));
  if (uint64_t size = keptOffset + ends[Storage::Kept]) {
    uint32_t arena = addBuffer(format::Buffer::ARENA, size);
    places[Storage::Arena] = {arena, 0};
    places[Storage::Kept] = {arena, keptOffset};
  }
  if (llvm::Error error = placeStates())
    return error;
  uint32_t step = addBuffer(format::Buffer::STEP, ends[Storage::Step]);
  places[Storage::Step] = places[Storage::Input] = {step, 0};
  if (uint64_t size = ends[Storage::Output])
    places[Storage::Output] = {addBuffer(format::Buffer::OUTPUT, size), 0};
  return checkAllocations();
}

/// A state of heads is a KV cache.
void ProgramEncoder::noteCacheType(program::SliceOp slice) {
  auto type = slice.getValueType()
                  ? dyn_cast<RankedTensorType>(*slice.getValueType())
                  : RankedTensorType();
  if (type && type.getRank() == 3)
    llvm::raw_string_ostream(*variant.mutable_kv_type() = "")
        << type.getElementType();
}

/// States keep their order; a buffer takes as many as one allocation may hold.
llvm::Error ProgramEncoder::placeStates() {
  std::map<uint64_t, uint64_t> sizes; // by the planner's offset
  module.walk([&](program::SliceOp slice) {
    if (slice.getStorage() == Storage::State) {
      uint64_t &size = sizes[slice.getOffset().value_or(0)];
      size = std::max(size, slice.getBytes());
      noteCacheType(slice);
    }
  });
  Place begin = {0, 0}; // of the buffer being filled: its index, first offset
  for (auto [offset, size] : sizes) {
    bool isFirst = statePlaces.empty();
    if (isFirst || offset + size - begin.offset > maxAllocation)
      begin = {addBuffer(format::Buffer::STATE, 0), isFirst ? 0 : offset};
    statePlaces[offset] = {begin.buffer, offset - begin.offset};
    variant.mutable_buffers(static_cast<int>(begin.buffer))
        ->set_size(llvm::alignTo(offset + size - begin.offset, 16));
  }
  return llvm::Error::success();
}

/// What lies in one piece may still be too large for one allocation.
llvm::Error ProgramEncoder::checkAllocations() {
  static const char *const kKinds[] = {"unknown", "weights", "arena",
                                       "state",   "step",    "output"};
  for (const format::Buffer &buffer : variant.buffers())
    if (buffer.size() > maxAllocation)
      return makeError(Twine("a buffer of kind ") + kKinds[buffer.kind()] +
                       " takes " + Twine(buffer.size()) + " bytes; target '" +
                       options.target.name() + "' allocates at most " +
                       Twine(maxAllocation));
  return llvm::Error::success();
}

/// Fills one weight buffer after another, each as full as one allocation may
/// be.
llvm::Error ProgramEncoder::placeWeights() {
  std::set<size_t> used;
  module.walk([&](program::SliceOp slice) {
    if (slice.getStorage() == Storage::Weight)
      used.insert(options.weights->indexOf(*slice.getSymbol()));
  });
  uint64_t end = 0;
  std::vector<size_t> inBuffer;
  auto closeBuffer = [&] {
    if (inBuffer.empty())
      return;
    uint32_t buffer = addBuffer(format::Buffer::WEIGHTS, end);
    for (size_t index : inBuffer) {
      weightPlaces[index].buffer = buffer;
      format::WeightPlacement &placement = *variant.add_weights();
      placement.set_section(static_cast<uint32_t>(index));
      placement.set_buffer(buffer);
      placement.set_offset(weightPlaces[index].offset);
    }
    inBuffer.clear();
    end = 0;
  };
  for (size_t index : used) {
    const StoredWeight &weight = options.weights->weights()[index];
    auto size = static_cast<uint64_t>(weight.layout.bytes);
    if (size > maxAllocation)
      return makeError("weight '" + weight.name + "' has " + Twine(size) +
                       " bytes; target '" + options.target.name() +
                       "' allocates at most " + Twine(maxAllocation));
    if (end + size > maxAllocation)
      closeBuffer();
    // Layouts' sizes are multiples of 256, which every device's alignment
    // divides.
    weightPlaces[index].offset = end;
    inBuffer.push_back(index);
    end += size;
  }
  closeBuffer();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Self-tests
//===----------------------------------------------------------------------===//

/// The number of the port of that name; none: the entry does without it.
static std::optional<uint32_t>
findPort(const google::protobuf::RepeatedPtrField<format::Port> &ports,
         StringRef name) {
  for (int i = 0; i < ports.size(); ++i)
    if (ports[i].name() == name)
      return static_cast<uint32_t>(i);
  return std::nullopt;
}

static void encodeCase(const SelfTestCase &one, const format::Entry &entry,
                       format::SelfTestCase &encoded) {
  for (const SelfTestStep &step : one.steps) {
    format::SelfTestStep &target = *encoded.add_steps();
    target.set_position(static_cast<uint32_t>(step.position));
    target.set_rows(static_cast<uint32_t>(step.rows));
    for (const auto &[name, values] : step.indices)
      if (auto input = findPort(entry.inputs(), name)) {
        format::IndexInput &indices = *target.add_indices();
        indices.set_input(*input);
        indices.mutable_values()->Add(values.begin(), values.end());
      }
  }
  for (const SelfTestExpectation &expected : one.expectations)
    if (auto output = findPort(entry.outputs(), expected.output)) {
      format::Expectation &target = *encoded.add_expectations();
      target.set_output(*output);
      target.set_rows(static_cast<uint32_t>(expected.rows));
      target.set_block(static_cast<uint32_t>(expected.block));
      target.mutable_sums()->Add(expected.sums.begin(), expected.sums.end());
      target.set_tolerance(expected.tolerance);
    }
}

llvm::Error ProgramEncoder::addSelfTest() {
  auto program = ProgramEncoder(options.selfTests, options).runOn(*this);
  if (!program)
    return program.takeError();
  if (program->entries_size() == 0)
    return llvm::Error::success();
  format::TargetInfo &target = *variant.mutable_target();
  target.set_max_storage_buffer_range(
      std::max(target.max_storage_buffer_range(),
               program->target().max_storage_buffer_range()));
  program->clear_target();
  format::SelfTest &test = *variant.mutable_self_test();
  *test.mutable_program() = std::move(*program);
  for (const SelfTestCase &one : options.cases)
    for (int i = 0; i < test.program().entries_size(); ++i)
      if (test.program().entries(i).function() == one.function) {
        format::SelfTestCase &encoded = *test.add_cases();
        encoded.set_entry(static_cast<uint32_t>(i));
        encodeCase(one, test.program().entries(i), encoded);
      }
  return llvm::Error::success();
}

llvm::Error ProgramEncoder::addKernel(program::KernelOp kernel) {
  auto words = kernel.getSpirv();
  if (!words)
    return makeError("kernel '" + kernel.getSymName() + "' has no SPIR-V");
  std::vector<uint32_t> code(words->begin(), words->end());
  addNeeds(code, needs);
  auto [known, isNew] = kernelOfCode.try_emplace(
      code, static_cast<uint32_t>(variant.kernels_size()));
  kernels[kernel.getSymName()] = known->second;
  if (!isNew)
    return llvm::Error::success();

  format::Kernel &encoded = *variant.add_kernels();
  encoded.set_name(kernel.getSymName().str());
  encoded.set_label(kernel.getLabel().str());
  encoded.set_code_section(options.codeSection);
  encoded.set_code_offset(result.code.size() * sizeof(uint32_t));
  encoded.set_code_size(code.size() * sizeof(uint32_t));
  result.code.insert(result.code.end(), code.begin(), code.end());
  encoded.set_num_bindings(static_cast<uint32_t>(kernel.getNumBindings()));
  uint32_t invocations = 1;
  for (int64_t size : kernel.getWorkgroup()) {
    encoded.add_workgroup(static_cast<uint32_t>(size));
    invocations *= static_cast<uint32_t>(size);
  }
  auto memory = static_cast<uint32_t>(kernel.getWorkgroupMemoryBytes());
  encoded.set_workgroup_memory_bytes(memory);
  format::TargetInfo &target = *variant.mutable_target();
  target.set_max_storage_buffers(
      std::max(target.max_storage_buffers(), encoded.num_bindings()));
  target.set_max_workgroup_invocations(
      std::max(target.max_workgroup_invocations(), invocations));
  target.set_workgroup_memory_bytes(
      std::max(target.workgroup_memory_bytes(), memory));

  if (auto config = dyn_cast_if_present<graph::LoweringConfigAttr>(
          kernel.getConfigAttr())) {
    format::KernelEstimate &estimate = *encoded.mutable_estimate();
    estimate.set_kind(config.getKind().str());
    for (int64_t size : config.getTile())
      estimate.add_tile(static_cast<uint32_t>(size));
    estimate.set_accumulators(static_cast<uint32_t>(config.getAccumulators()));
    estimate.set_registers(static_cast<uint32_t>(config.getRegisters()));
    estimate.set_splits(static_cast<uint32_t>(config.getSplits()));
    estimate.set_arithmetic(config.getArithmetic().str());
  }
  return llvm::Error::success();
}

llvm::Expected<format::Slice>
ProgramEncoder::encodeSlice(program::SliceOp slice) {
  Place place;
  uint64_t offset = 0;
  if (slice.getStorage() == Storage::Weight) {
    size_t index = options.weights->indexOf(*slice.getSymbol());
    const StoredWeight &weight = options.weights->weights()[index];
    if (slice.getPlane() >= weight.layout.planes.size() ||
        slice.getOffset().value_or(0) + slice.getBytes() >
            static_cast<uint64_t>(weight.layout.planes[slice.getPlane()].bytes))
      return makeError("plane " + Twine(slice.getPlane()) + " of weight '" +
                       *slice.getSymbol() + "' has fewer than " +
                       Twine(slice.getOffset().value_or(0) + slice.getBytes()) +
                       " bytes");
    place = weightPlaces.at(index);
    // Within the plane when the slice is a part of it.
    offset =
        static_cast<uint64_t>(weight.layout.planes[slice.getPlane()].offset) +
        slice.getOffset().value_or(0);
  } else {
    if (!slice.getOffset())
      return makeError("a slice of storage " +
                       program::stringifyStorage(slice.getStorage()) +
                       " has no offset");
    bool isState = slice.getStorage() == Storage::State;
    place = isState ? statePlaces.at(*slice.getOffset())
                    : places.at(slice.getStorage());
    offset = isState ? 0 : *slice.getOffset();
  }
  format::Slice encoded;
  encoded.set_buffer(place.buffer);
  encoded.set_offset(place.offset + offset);
  // What follows a slice is padding up to its alignment.
  encoded.set_range(llvm::alignTo(slice.getBytes(), 4));
  return encoded;
}

llvm::Error ProgramEncoder::addDispatch(program::DispatchOp dispatch,
                                        format::Entry &entry) {
  format::Dispatch &encoded = *entry.add_commands()->mutable_dispatch();
  encoded.set_kernel(kernels.lookup(dispatch.getKernel()));
  // Which part of the model it is; what it computes is its kernel's label.
  std::string place = describeLocation(dispatch.getLoc());
  encoded.set_label(place.empty() ? dispatch.getLabel().value_or("").str()
                                  : place);
  for (int64_t count : dispatch.getGroups())
    encoded.add_groups(static_cast<uint32_t>(count));
  format::TargetInfo &target = *variant.mutable_target();
  for (Value binding : dispatch.getBindings()) {
    auto slice = encodeSlice(binding.getDefiningOp<program::SliceOp>());
    if (!slice)
      return slice.takeError();
    target.set_max_storage_buffer_range(
        std::max(target.max_storage_buffer_range(), slice->range()));
    *encoded.add_bindings() = *slice;
  }
  return llvm::Error::success();
}

llvm::Error ProgramEncoder::addPort(program::SliceOp slice, uint64_t rows,
                                    format::Port &port) {
  auto type = cast<RankedTensorType>(*slice.getValueType());
  auto encoded = encodeSlice(slice);
  if (!encoded)
    return encoded.takeError();
  uint64_t rowBytes = static_cast<uint64_t>(slice.getRowBytes());
  if (type.getElementType().isInteger(8))
    return makeError("'" + *slice.getSymbol() +
                     "' has elements of i8; inputs and outputs of a file are "
                     "of i32 or f32");
  // A tensor whose first dimension is static has its own number of rows.
  if (type.getRank() > 0 && !type.isDynamicDim(0))
    rows = static_cast<uint64_t>(type.getDimSize(0));
  else if (type.getRank() == 0)
    rows = 1;
  if (rows * rowBytes > encoded->range())
    return makeError("'" + *slice.getSymbol() + "' has " + Twine(rows) +
                     " rows of " + Twine(rowBytes) + " bytes in a slice of " +
                     Twine(slice.getBytes()));
  encoded->set_range(rows * rowBytes);
  port.set_name(slice.getSymbol()->str());
  port.set_element_type(type.getElementType().isF32() ? "f32" : "i32");
  *port.mutable_slice() = *encoded;
  port.set_row_elements(static_cast<uint64_t>(slice.getRowElements()));
  port.set_row_bytes(rowBytes);
  return llvm::Error::success();
}

/// An input that is only written is no port: it is another entry's.
static bool isRead(program::SliceOp slice) {
  return llvm::any_of(slice->getUses(), [](mlir::OpOperand &use) {
    auto dispatch = cast<program::DispatchOp>(use.getOwner());
    return dispatch.getAccess()[use.getOperandNumber()] &
           static_cast<int32_t>(program::Access::Read);
  });
}

llvm::Error ProgramEncoder::addEntry(program::EntryOp op) {
  format::Entry &entry = *variant.add_entries();
  entry.set_function(op.getFunction().str());
  entry.set_rows(static_cast<uint32_t>(op.getRows()));
  entry.mutable_step()->set_buffer(places.at(Storage::Step).buffer);
  entry.mutable_step()->set_range(kStepBytes);
  llvm::StringSet<> ports; // a value may have several slices
  for (Operation &child : *op.getBody().begin()) {
    if (auto dispatch = dyn_cast<program::DispatchOp>(child)) {
      if (llvm::Error error = addDispatch(dispatch, entry))
        return error;
    } else if (isa<program::BarrierOp>(child)) {
      entry.add_commands()->mutable_barrier();
    } else if (auto slice = dyn_cast<program::SliceOp>(child)) {
      bool isInput = slice.getStorage() == Storage::Input;
      bool isPort =
          isInput ? isRead(slice) : slice.getStorage() == Storage::Output;
      if (!isPort || !ports.insert(*slice.getSymbol()).second)
        continue;
      format::Port *port = isInput ? entry.add_inputs() : entry.add_outputs();
      if (llvm::Error error = addPort(slice, op.getRows(), *port))
        return error;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<EncodedProgram> encodeProgram(ModuleOp module,
                                             const EncodeOptions &options) {
  return ProgramEncoder(module, options).run();
}

} // namespace llmc::serialization
