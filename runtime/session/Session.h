// SPDX-License-Identifier: Apache-2.0
//
// The state of one run of a module: its buffers, its descriptor sets, its
// recorded command buffers. Everything is allocated and written when the
// session is created, and an entry's commands are recorded when it first runs;
// a step writes inputs, submits, waits and reads outputs.

#ifndef LLMC_RUNTIME_SESSION_SESSION_H
#define LLMC_RUNTIME_SESSION_SESSION_H

#include "runtime/session/Module.h"
#include "runtime/vulkan/CommandBuffer.h"
#include "runtime/vulkan/DescriptorSets.h"
#include "runtime/vulkan/Fence.h"

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llmc::runtime {

struct SessionOptions {
  std::chrono::milliseconds stepTimeout{
      0}; // for one submission; 0: 30 s, on software devices 10 minutes
  bool takesTimes = false; // of each dispatch; steps get a little slower
};

/// What all submissions of a dispatch took so far, with the barrier before it.
struct DispatchTime {
  uint32_t entry = 0;
  uint32_t dispatch = 0; // number among the entry's dispatches
  uint64_t runs = 0;
  double nanoseconds = 0;     // of all runs
  double lastNanoseconds = 0; // of the last run
};

/// The step words of the kernel ABI.
struct StepWords {
  int32_t position = 0; // of the first row in the context
  int32_t rows = 1;     // in this step
  int32_t firstRow = 0; // the function reads a kept value from this row on
};

struct NamedInput {
  std::string name;
  const void *data = nullptr; // rows × row_elements values of 32 bits, packed
  uint64_t rows = 0;
};

struct NamedOutput {
  std::string name;
  void *data = nullptr; // as above
  uint64_t rows = 0;
};

/// Used by one thread at a time: `acquire` says whether another has it. Entries
/// and ports are indices of the manifest.
class Session {
public:
  /// `program`: a part of the module's manifest with buffers and entries to run
  /// instead of the variant's, on the variant's kernels and weights; null: the
  /// variant's.
  static StatusOr<std::unique_ptr<Session>>
  create(std::shared_ptr<const Module> module, const SessionOptions &options,
         const format::Variant *program = nullptr);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  const Module &module() const;

  /// Another session of the module with these states; arenas and outputs are
  /// its own and not copied.
  StatusOr<std::unique_ptr<Session>> fork() const;

  /// The right to use the session, until the lock dies. Busy when another
  /// thread has it.
  StatusOr<std::unique_lock<std::mutex>> acquire();

  /// The entry of `function` with the fewest rows that has at least `rows`.
  /// NotFound lists the functions; InvalidArgument tells the most rows.
  StatusOr<uint32_t> findEntry(const std::string &function,
                               uint32_t rows) const;
  /// NotFound lists the ports.
  StatusOr<uint32_t> findInput(uint32_t entry, const std::string &name) const;
  StatusOr<uint32_t> findOutput(uint32_t entry, const std::string &name) const;

  /// Whether two entries keep their step words apart, so that one submission
  /// may hold both.
  bool canSubmitTogether(uint32_t firstEntry, uint32_t secondEntry) const;

  /// Writes the step words of `entry`.
  void writeStep(uint32_t entry, const StepWords &words);
  /// Writes the first `rows` rows of a port. InvalidArgument: more rows than
  /// the port has.
  Status writeInput(uint32_t entry, uint32_t port, const void *data,
                    uint64_t rows);
  /// Writes one 32-bit element of a port's first row. `column` is below its
  /// row_elements.
  void writeElement(uint32_t entry, uint32_t port, uint64_t column,
                    int32_t bits);
  /// Reads one such element of an output, as the device left it.
  int32_t readElement(uint32_t entry, uint32_t port, uint64_t column) const;
  /// Runs the entries in order and waits until all are done: in one submission,
  /// or in several that should each end within the variant's
  /// max_submit_milliseconds. After a timeout, a lost device or a failure
  /// between two submissions the session only fails.
  Status submit(std::initializer_list<uint32_t> entries);
  /// By entry, in the order of dispatches; empty unless the session takes
  /// times.
  std::vector<DispatchTime> dispatchTimes() const;
  void forgetDispatchTimes();
  /// A row of a port of 32-bit floats, as the last submission left it, without
  /// a copy; until the next submission. `row` is below the port's rows.
  const float *outputRow(uint32_t entry, uint32_t port, uint64_t row) const;
  /// Reads the first `rows` rows of a port, as the last submission left them.
  Status readOutput(uint32_t entry, uint32_t port, void *data,
                    uint64_t rows) const;

  /// Bytes of all states.
  uint64_t stateBytes() const;
  /// Gives the states' bytes, piece by piece.
  Status
  readStates(const std::function<Status(format::ByteSpan piece)> &take) const;
  /// Sets the states to what `give` fills in, piece by piece. After a failure
  /// the states are of no use until they are set or begun anew.
  Status
  writeStates(const std::function<Status(uint8_t *data, size_t size)> &give);

  /// All of the above for one step of any function: every input has to be
  /// given, outputs are those asked for.
  Status runFunction(const std::string &function, const StepWords &words,
                     const std::vector<NamedInput> &inputs,
                     const std::vector<NamedOutput> &outputs);

  // For chains of steps (StepChain.h).
  /// Records the entry's dispatches and barriers, the first command a barrier,
  /// so that one entry may follow another. Waits for their kernels.
  Status recordCommands(vulkan::CommandBuffer recording, uint32_t entry) const;
  std::chrono::milliseconds stepTimeout() const;
  /// Why the session only fails, or ok.
  Status failure() const;
  /// From now on the session only fails, with `status`, which is returned.
  Status fail(Status status);

private:
  struct State;
  explicit Session(std::unique_ptr<State> state);

  std::unique_ptr<State> state;
  std::mutex inUse;
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_SESSION_H
