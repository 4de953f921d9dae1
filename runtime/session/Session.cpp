// SPDX-License-Identifier: Apache-2.0
//
// Session.h.

#include "runtime/session/Session.h"

#include "runtime/session/LaterTests.h"
#include "runtime/session/OneTimeCommands.h"
#include "runtime/session/Ports.h"
#include "runtime/session/StagedCopy.h"
#include "runtime/session/Submissions.h"

#include <algorithm>
#include <cstring>

namespace llmc::runtime {

namespace {

constexpr size_t kElementBytes = 4; // of every port: i32 or f32
constexpr size_t kNumStepWords = 16;

std::chrono::milliseconds defaultTimeout(const vulkan::DeviceFacts &device) {
  if (device.type == vulkan::DeviceType::Cpu)
    return std::chrono::minutes(10);
  return std::chrono::seconds(30);
}

vulkan::BufferAccess accessOf(format::Buffer::Kind kind) {
  switch (kind) {
  case format::Buffer::STEP:
    return vulkan::BufferAccess::HostWrites;
  case format::Buffer::OUTPUT:
    return vulkan::BufferAccess::HostReads;
  default:
    return vulkan::BufferAccess::Device;
  }
}

const char *nameOf(format::Buffer::Kind kind) {
  switch (kind) {
  case format::Buffer::ARENA:
    return "arena";
  case format::Buffer::STATE:
    return "state";
  case format::Buffer::STEP:
    return "step";
  case format::Buffer::OUTPUT:
    return "output";
  default:
    return "weight";
  }
}

bool overlap(const format::Slice &a, const format::Slice &b) {
  return a.buffer() == b.buffer() && a.offset() < b.offset() + b.range() &&
         b.offset() < a.offset() + a.range();
}

/// Bytes of the piece that begins at `offset`.
size_t pieceAt(const StagedCopy &copier, const vulkan::Buffer &buffer,
               uint64_t offset) {
  return static_cast<size_t>(
      std::min<uint64_t>(copier.pieceBytes(), buffer.size() - offset));
}

} // namespace

/// Commands of an entry that are submitted together.
struct RecordedPart : PartTime {
  explicit RecordedPart(const vulkan::CommandBuffer &commands)
      : commands(commands) {}
  vulkan::CommandBuffer commands;
};

/// Everything that a step in flight uses.
struct Session::State {
  std::shared_ptr<const Module> module;     // outlives what follows
  const format::Variant *program = nullptr; // of the module's manifest
  SessionOptions options;                   // with a timeout that is not 0
  BufferList buffers; // by index in the variant; null for weights, which the
                      // module has
  std::unique_ptr<vulkan::DescriptorSets> sets; // of all dispatches, in order
  std::vector<size_t> firstSets;                // by entry
  std::unique_ptr<vulkan::CommandPool> pool;
  std::vector<std::vector<RecordedPart>> recorded; // by entry
  // By entry; one before its first dispatch and one behind each. None when
  // times are not taken.
  std::vector<std::unique_ptr<vulkan::TimestampPool>> timestamps;
  std::vector<std::vector<DispatchTime>> times; // by entry
  // Room for the parts of the entries that run, and their handles.
  std::vector<PartTime *> parts;
  std::vector<VkCommandBuffer> handles, submission;
  Status failure;                       // of a wait, for good
  std::unique_ptr<vulkan::Fence> fence; // goes first, see there

  const format::Variant &variant() const { return *program; }
  const format::Entry &entry(uint32_t index) const {
    return variant().entries(static_cast<int>(index));
  }
  VkDescriptorBufferInfo bindingOf(const format::Slice &slice) const {
    const std::unique_ptr<vulkan::Buffer> &own = buffers[slice.buffer()];
    return own ? VkDescriptorBufferInfo{own->handle(), slice.offset(),
                                        slice.range()}
               : module->weights().binding(slice);
  }

  /// Calls `visit` with every buffer that holds a state.
  Status forEachState(
      const std::function<Status(const vulkan::Buffer &, size_t)> &visit) const;
  Status createBuffers();
  Status zeroBuffers();
  vulkan::DescriptorSetSource
  descriptorsOf(const format::Dispatch &dispatch) const;
  Status createSets();
  Status createTimestamps();
  Status requireKernels(uint32_t index) const;
  Status ensureRecorded(uint32_t index);
  StatusOr<vulkan::CommandBuffer> beginPart(uint32_t index);
  void recordDispatch(vulkan::CommandBuffer &recording,
                      const format::Dispatch &dispatch, size_t set) const;
  Status recordEntry(uint32_t index);
  Status submitParts(size_t first, size_t end);
  Status addTimes(uint32_t entry);
  /// What one submission should not exceed; 0 for no limit.
  double mostMilliseconds() const {
    return variant().target().max_submit_milliseconds();
  }
};

Status Session::State::forEachState(
    const std::function<Status(const vulkan::Buffer &, size_t)> &visit) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (variant().buffers(static_cast<int>(i)).kind() == format::Buffer::STATE)
      LLMC_RETURN_IF_ERROR(visit(*buffers[i], i));
  return okStatus();
}

Status Session::State::createBuffers() {
  buffers.resize(static_cast<size_t>(variant().buffers_size()));
  for (size_t i = 0; i < buffers.size(); ++i) {
    const format::Buffer &info = variant().buffers(static_cast<int>(i));
    if (info.kind() == format::Buffer::WEIGHTS)
      continue;
    LLMC_ASSIGN_OR_RETURN(buffers[i],
                          vulkan::Buffer::create(module->device(), info.size(),
                                                 accessOf(info.kind()),
                                                 nameOf(info.kind())));
  }
  return okStatus();
}

/// Nothing that a kernel reads may depend on what was in the memory before.
Status Session::State::zeroBuffers() {
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<OneTimeCommands> commands,
                        OneTimeCommands::create(module->device()));
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, commands->begin());
  for (const std::unique_ptr<vulkan::Buffer> &buffer : buffers)
    if (buffer && !buffer->mapped())
      recording.fillWithZeros(*buffer);
    else if (buffer)
      std::memset(buffer->mapped(), 0, buffer->size());
  return commands->finish(options.stepTimeout);
}

vulkan::DescriptorSetSource
Session::State::descriptorsOf(const format::Dispatch &dispatch) const {
  vulkan::DescriptorSetSource source;
  source.layout = &module->pipelines().layout(dispatch.kernel());
  for (const format::Slice &slice : dispatch.bindings())
    source.buffers.push_back(bindingOf(slice));
  return source;
}

Status Session::State::createSets() {
  std::vector<vulkan::DescriptorSetSource> sources;
  for (const format::Entry &entry : variant().entries()) {
    firstSets.push_back(sources.size());
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        sources.push_back(descriptorsOf(command.dispatch()));
  }
  LLMC_ASSIGN_OR_RETURN(
      sets, vulkan::DescriptorSets::create(module->device(), sources));
  return okStatus();
}

Status Session::State::createTimestamps() {
  for (const format::Entry &entry : variant().entries()) {
    const uint32_t index = static_cast<uint32_t>(times.size());
    std::vector<DispatchTime> ofEntry;
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        ofEntry.push_back({index, static_cast<uint32_t>(ofEntry.size())});
    LLMC_ASSIGN_OR_RETURN(
        std::unique_ptr<vulkan::TimestampPool> pool,
        vulkan::TimestampPool::create(
            module->device(), static_cast<uint32_t>(ofEntry.size()) + 1));
    timestamps.push_back(std::move(pool));
    times.push_back(std::move(ofEntry));
  }
  return okStatus();
}

StatusOr<vulkan::CommandBuffer> Session::State::beginPart(uint32_t index) {
  const std::string name =
      entry(index).function() + " of " + std::to_string(entry(index).rows()) +
      " rows, part " + std::to_string(recorded[index].size());
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, pool->allocate(name));
  LLMC_RETURN_IF_ERROR(recording.begin());
  recorded[index].emplace_back(recording);
  return recording;
}

void Session::State::recordDispatch(vulkan::CommandBuffer &recording,
                                    const format::Dispatch &dispatch,
                                    size_t set) const {
  recording.dispatch(
      module->pipelines()[dispatch.kernel()], (*sets)[set],
      {dispatch.groups(0), dispatch.groups(1), dispatch.groups(2)});
}

Status Session::State::recordEntry(uint32_t index) {
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, beginPart(index));
  const vulkan::TimestampPool *clock =
      timestamps.empty() ? nullptr : timestamps[index].get();
  uint32_t nextTime = 0;
  size_t nextSet = firstSets[index];
  if (clock)
    recording.resetTimestamps(*clock);
  recording.acquireFromHost();
  if (clock)
    recording.writeTimestamp(*clock, nextTime++);
  const size_t mostBarriers = barriersPerPart(entry(index), mostMilliseconds());
  size_t barriersLeft = mostBarriers;
  for (const format::Command &command : entry(index).commands()) {
    if (!command.has_dispatch()) {
      // A barrier at the beginning of a part holds for the parts before it.
      if (barriersLeft == 0) {
        LLMC_RETURN_IF_ERROR(recording.end());
        LLMC_ASSIGN_OR_RETURN(recording, beginPart(index));
        barriersLeft = mostBarriers;
      }
      --barriersLeft;
      recording.barrier();
      continue;
    }
    recordDispatch(recording, command.dispatch(), nextSet++);
    if (clock)
      recording.writeTimestamp(*clock, nextTime++);
  }
  recording.releaseToHost();
  return recording.end();
}

/// Waits for the kernels of the entry, and until they are tested.
Status Session::State::requireKernels(uint32_t index) const {
  const std::vector<uint32_t> kernels = kernelsOf(entry(index));
  // The program of the test itself is another.
  if (module->laterTests() && program == &module->variant())
    LLMC_RETURN_IF_ERROR(module->laterTests()->testBefore(kernels, module));
  return module->pipelines().require(kernels);
}

/// Records the entry when it is first used: many never are.
Status Session::State::ensureRecorded(uint32_t index) {
  if (!recorded[index].empty())
    return okStatus();
  LLMC_RETURN_IF_ERROR(requireKernels(index));
  Status status = recordEntry(index);
  if (!status.ok())
    recorded[index].clear();
  return status;
}

/// Submits parts `first` to `end` (not included) and waits for them.
Status Session::State::submitParts(size_t first, size_t end) {
  submission.assign(handles.begin() + static_cast<ptrdiff_t>(first),
                    handles.begin() + static_cast<ptrdiff_t>(end));
  const auto start = std::chrono::steady_clock::now();
  LLMC_RETURN_IF_ERROR(module->device().submit(submission, *fence));
  failure = fence->waitAndReset(options.stepTimeout);
  const std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  noteTime(parts, first, end, time.count());
  return failure;
}

Status Session::State::addTimes(uint32_t entry) {
  LLMC_ASSIGN_OR_RETURN(const std::vector<double> nanoseconds,
                        timestamps[entry]->intervals());
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    ++times[entry][i].runs;
    times[entry][i].nanoseconds += nanoseconds[i];
    times[entry][i].lastNanoseconds = nanoseconds[i];
  }
  return okStatus();
}

Session::Session(std::unique_ptr<State> state) : state(std::move(state)) {}

StatusOr<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Module> module,
                const SessionOptions &options, const format::Variant *program) {
  auto state = std::make_unique<State>();
  state->program = program ? program : &module->variant();
  state->module = std::move(module);
  state->options = options;
  vulkan::Device &device = state->module->device();
  std::chrono::milliseconds &timeout = state->options.stepTimeout;
  if (timeout.count() <= 0)
    timeout = defaultTimeout(device.facts());
  LLMC_RETURN_IF_ERROR(state->createBuffers());
  LLMC_RETURN_IF_ERROR(state->zeroBuffers());
  LLMC_RETURN_IF_ERROR(state->createSets());
  if (options.takesTimes)
    LLMC_RETURN_IF_ERROR(state->createTimestamps());
  LLMC_ASSIGN_OR_RETURN(state->pool, vulkan::CommandPool::create(device));
  state->recorded.resize(static_cast<size_t>(state->variant().entries_size()));
  LLMC_ASSIGN_OR_RETURN(state->fence, vulkan::Fence::create(device));
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Session::~Session() = default;

const Module &Session::module() const { return *state->module; }

StatusOr<std::unique_lock<std::mutex>> Session::acquire() {
  std::unique_lock<std::mutex> lock(inUse, std::try_to_lock);
  if (!lock.owns_lock())
    return Status(StatusCode::Busy, "the session is in use by another thread");
  return lock;
}

StatusOr<uint32_t> Session::findEntry(const std::string &function,
                                      uint32_t rows) const {
  int best = -1;
  uint32_t mostRows = 0;
  const auto &entries = state->variant().entries();
  for (int i = 0; i < entries.size(); ++i) {
    if (entries[i].function() != function)
      continue;
    mostRows = std::max(mostRows, entries[i].rows());
    if (entries[i].rows() >= rows &&
        (best < 0 || entries[i].rows() < entries[best].rows()))
      best = i;
  }
  if (best >= 0)
    return static_cast<uint32_t>(best);
  if (mostRows)
    return Status(StatusCode::InvalidArgument,
                  "a step of function " + function + " was asked for " +
                      std::to_string(rows) + " rows, most are " +
                      std::to_string(mostRows));
  std::string known;
  for (const format::Entry &entry : entries)
    if (known.find(entry.function()) == std::string::npos)
      known += (known.empty() ? "" : ", ") + entry.function();
  return Status(StatusCode::NotFound,
                "the file has no function '" + function + "', only: " + known);
}

StatusOr<uint32_t> Session::findInput(uint32_t entry,
                                      const std::string &name) const {
  return findPort(state->entry(entry).inputs(), name, state->entry(entry));
}

StatusOr<uint32_t> Session::findOutput(uint32_t entry,
                                       const std::string &name) const {
  return findPort(state->entry(entry).outputs(), name, state->entry(entry));
}

bool Session::canSubmitTogether(uint32_t firstEntry,
                                uint32_t secondEntry) const {
  return !overlap(state->entry(firstEntry).step(),
                  state->entry(secondEntry).step());
}

void Session::writeStep(uint32_t entry, const StepWords &words) {
  const format::Slice &slice = state->entry(entry).step();
  const int32_t values[kNumStepWords] = {words.position, words.rows,
                                         words.firstRow};
  std::memcpy(state->buffers[slice.buffer()]->mapped() + slice.offset(), values,
              sizeof(values));
}

Status Session::writeInput(uint32_t entry, uint32_t port, const void *data,
                           uint64_t rows) {
  const format::Port &info = state->entry(entry).inputs(static_cast<int>(port));
  LLMC_RETURN_IF_ERROR(checkRows(info, rows));
  const size_t rowSize = info.row_elements() * kElementBytes;
  const uint8_t *source = static_cast<const uint8_t *>(data);
  uint8_t *target =
      state->buffers[info.slice().buffer()]->mapped() + info.slice().offset();
  for (uint64_t row = 0; row < rows;
       ++row, source += rowSize, target += info.row_bytes()) {
    std::memcpy(target, source, rowSize);
    std::memset(target + rowSize, 0, info.row_bytes() - rowSize);
  }
  return okStatus();
}

void Session::writeElement(uint32_t entry, uint32_t port, uint64_t column,
                           int32_t bits) {
  const format::Slice &slice =
      state->entry(entry).inputs(static_cast<int>(port)).slice();
  std::memcpy(state->buffers[slice.buffer()]->mapped() + slice.offset() +
                  column * kElementBytes,
              &bits, kElementBytes);
}

int32_t Session::readElement(uint32_t entry, uint32_t port,
                             uint64_t column) const {
  const format::Slice &slice =
      state->entry(entry).outputs(static_cast<int>(port)).slice();
  int32_t bits = 0;
  std::memcpy(&bits,
              state->buffers[slice.buffer()]->mapped() + slice.offset() +
                  column * kElementBytes,
              kElementBytes);
  return bits;
}

Status Session::recordCommands(vulkan::CommandBuffer recording,
                               uint32_t entry) const {
  LLMC_RETURN_IF_ERROR(state->requireKernels(entry));
  size_t nextSet = state->firstSets[entry];
  for (const format::Command &command : state->entry(entry).commands())
    if (command.has_dispatch())
      state->recordDispatch(recording, command.dispatch(), nextSet++);
    else
      recording.barrier();
  return okStatus();
}

std::chrono::milliseconds Session::stepTimeout() const {
  return state->options.stepTimeout;
}

Status Session::failure() const { return state->failure; }

Status Session::fail(Status status) {
  state->failure = std::move(status);
  return state->failure;
}

Status Session::submit(std::initializer_list<uint32_t> entries) {
  LLMC_RETURN_IF_ERROR(state->failure);
  state->parts.clear();
  state->handles.clear();
  for (const uint32_t entry : entries) {
    LLMC_RETURN_IF_ERROR(state->ensureRecorded(entry));
    for (RecordedPart &part : state->recorded[entry]) {
      state->parts.push_back(&part);
      state->handles.push_back(part.commands.handle());
    }
  }
  for (size_t first = 0; first < state->parts.size();) {
    const size_t end =
        endOfSubmission(state->parts, first, state->mostMilliseconds());
    const Status status = state->submitParts(first, end);
    // Half of a step has overwritten what the session remembers.
    if (!status.ok() && first > 0)
      state->failure = status;
    LLMC_RETURN_IF_ERROR(status);
    first = end;
  }
  if (!state->timestamps.empty())
    for (const uint32_t entry : entries)
      LLMC_RETURN_IF_ERROR(state->addTimes(entry));
  return okStatus();
}

std::vector<DispatchTime> Session::dispatchTimes() const {
  std::vector<DispatchTime> all;
  for (const std::vector<DispatchTime> &ofEntry : state->times)
    all.insert(all.end(), ofEntry.begin(), ofEntry.end());
  return all;
}

void Session::forgetDispatchTimes() {
  for (std::vector<DispatchTime> &ofEntry : state->times)
    for (DispatchTime &time : ofEntry) {
      time.runs = 0;
      time.nanoseconds = 0;
    }
}

const float *Session::outputRow(uint32_t entry, uint32_t port,
                                uint64_t row) const {
  const format::Port &info =
      state->entry(entry).outputs(static_cast<int>(port));
  return reinterpret_cast<const float *>(
      state->buffers[info.slice().buffer()]->mapped() + info.slice().offset() +
      row * info.row_bytes());
}

Status Session::readOutput(uint32_t entry, uint32_t port, void *data,
                           uint64_t rows) const {
  const format::Port &info =
      state->entry(entry).outputs(static_cast<int>(port));
  LLMC_RETURN_IF_ERROR(checkRows(info, rows));
  const size_t rowSize = info.row_elements() * kElementBytes;
  uint8_t *target = static_cast<uint8_t *>(data);
  const uint8_t *source =
      state->buffers[info.slice().buffer()]->mapped() + info.slice().offset();
  for (uint64_t row = 0; row < rows;
       ++row, source += info.row_bytes(), target += rowSize)
    std::memcpy(target, source, rowSize);
  return okStatus();
}

StatusOr<std::unique_ptr<Session>> Session::fork() const {
  LLMC_RETURN_IF_ERROR(state->failure);
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<Session> copy,
                        create(state->module, state->options, state->program));
  LLMC_ASSIGN_OR_RETURN(std::unique_ptr<OneTimeCommands> commands,
                        OneTimeCommands::create(state->module->device()));
  LLMC_ASSIGN_OR_RETURN(vulkan::CommandBuffer recording, commands->begin());
  recording.acquireForCopies();
  LLMC_RETURN_IF_ERROR(state->forEachState([&](const vulkan::Buffer &buffer,
                                               size_t index) {
    recording.copy(buffer, 0, *copy->state->buffers[index], 0, buffer.size());
    return okStatus();
  }));
  LLMC_RETURN_IF_ERROR(commands->finish(state->options.stepTimeout));
  return copy;
}

uint64_t Session::stateBytes() const {
  uint64_t bytes = 0;
  for (const format::Buffer &buffer : state->variant().buffers())
    if (buffer.kind() == format::Buffer::STATE)
      bytes += buffer.size();
  return bytes;
}

Status
Session::readStates(const std::function<Status(format::ByteSpan)> &take) const {
  LLMC_RETURN_IF_ERROR(state->failure);
  StagedCopy copier(state->module->device());
  return state->forEachState([&](const vulkan::Buffer &buffer, size_t) {
    for (uint64_t done = 0; done < buffer.size(); done += copier.pieceBytes()) {
      LLMC_ASSIGN_OR_RETURN(
          const format::ByteSpan piece,
          copier.fromDevice(buffer, done, pieceAt(copier, buffer, done)));
      LLMC_RETURN_IF_ERROR(take(piece));
    }
    return okStatus();
  });
}

Status
Session::writeStates(const std::function<Status(uint8_t *, size_t)> &give) {
  LLMC_RETURN_IF_ERROR(state->failure);
  StagedCopy copier(state->module->device());
  std::vector<uint8_t> bytes;
  return state->forEachState([&](const vulkan::Buffer &buffer, size_t) {
    for (uint64_t done = 0; done < buffer.size(); done += copier.pieceBytes()) {
      bytes.resize(pieceAt(copier, buffer, done));
      LLMC_RETURN_IF_ERROR(give(bytes.data(), bytes.size()));
      LLMC_RETURN_IF_ERROR(
          copier.toDevice({bytes.data(), bytes.size()}, buffer, done));
    }
    return okStatus();
  });
}

Status Session::runFunction(const std::string &function, const StepWords &words,
                            const std::vector<NamedInput> &inputs,
                            const std::vector<NamedOutput> &outputs) {
  LLMC_ASSIGN_OR_RETURN(std::unique_lock<std::mutex> lock, acquire());
  if (words.rows < 1)
    return Status(StatusCode::InvalidArgument, "a step was given " +
                                                   std::to_string(words.rows) +
                                                   " rows, least is 1");
  LLMC_ASSIGN_OR_RETURN(const uint32_t entry,
                        findEntry(function, static_cast<uint32_t>(words.rows)));
  for (const format::Port &port : state->entry(entry).inputs())
    if (std::none_of(inputs.begin(), inputs.end(), [&](const NamedInput &in) {
          return in.name == port.name();
        }))
      return Status(StatusCode::InvalidArgument, "input " + port.name() +
                                                     " of function " +
                                                     function + " is missing");
  writeStep(entry, words);
  for (const NamedInput &input : inputs) {
    LLMC_ASSIGN_OR_RETURN(const uint32_t port, findInput(entry, input.name));
    LLMC_RETURN_IF_ERROR(writeInput(entry, port, input.data, input.rows));
  }
  LLMC_RETURN_IF_ERROR(submit({entry}));
  for (const NamedOutput &output : outputs) {
    LLMC_ASSIGN_OR_RETURN(const uint32_t port, findOutput(entry, output.name));
    LLMC_RETURN_IF_ERROR(readOutput(entry, port, output.data, output.rows));
  }
  return okStatus();
}

} // namespace llmc::runtime
