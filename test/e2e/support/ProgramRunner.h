// SPDX-License-Identifier: Apache-2.0
//
// Compiles a module of graph regions with the codegen passes and runs its
// entries on the machine's Vulkan device or on the host: kernels under test
// with no runtime, file or planner in between. Every slice is a buffer of its
// own.

#ifndef LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H
#define LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/e2e/support/KernelBackend.h"

#include <map>
#include <string>
#include <vector>

namespace llmc::test {

class ProgramRunner {
public:
  /// A device shared by all tests of the process; null when the machine has
  /// none, and then tests skip.
  static ComputeDevice *sharedDevice();

  /// What to compile for.
  struct Options {
    /// A shipped description.
    std::string target = "lavapipe";
    /// What KV caches hold, "f32", "f16" or "i8"; empty: as the description
    /// says.
    std::string cacheType = {};
    /// The family whose choices are taken, with the description's limits;
    /// empty: as the description says.
    std::string family = {};
  };

  /// `text` is a module of functions of regions. Null, after a message on
  /// stderr, when it does not compile.
  static std::unique_ptr<ProgramRunner> compile(ComputeDevice &device,
                                                const std::string &text,
                                                const Options &options);
  /// Likewise, for a target that need not be here: kernels run in lockstep on
  /// the host (LockstepKernel.h).
  static std::unique_ptr<ProgramRunner> compileForHost(const std::string &text,
                                                       const Options &options);
  ProgramRunner(const ProgramRunner &) = delete;
  ProgramRunner &operator=(const ProgramRunner &) = delete;

  /// Writes a buffer: an input, output or kept value by its name, the step
  /// words as "step", a state by its symbol, plane `plane` of a weight.
  template <typename T>
  void write(const std::string &name, const std::vector<T> &values,
             int plane = 0) {
    writeBytes(name, plane, values.data(), values.size() * sizeof(T));
  }
  template <typename T>
  std::vector<T> read(const std::string &name) {
    const Buffer &buffer = find(name, 0);
    auto *data = static_cast<const T *>(buffer.data);
    return std::vector<T>(data, data + buffer.bytes / sizeof(T));
  }
  /// Fills a buffer with 0xff again.
  void spoil(const std::string &name);

  /// Bytes of a buffer, of all planes of a weight.
  size_t bytesOf(const std::string &name) const;

  /// Runs an entry with these step words. Returns the seconds that the device
  /// took.
  double run(const std::string &entry, int position, int rows,
             int firstRow = 0);

  mlir::ModuleOp getModule() { return *module; }

private:
  struct Buffer {
    size_t number, bytes;
    void *data;
  };

  explicit ProgramRunner(std::unique_ptr<KernelBackend> backend)
      : backend(std::move(backend)) {}
  static std::unique_ptr<ProgramRunner>
  compile(std::unique_ptr<KernelBackend> backend, const std::string &text,
          const Options &options);
  bool compileText(const std::string &text, const Options &options);
  void createEntry(program::EntryOp entry);
  std::string bufferKey(program::SliceOp slice);
  void writeBytes(const std::string &name, int plane, const void *data,
                  size_t bytes);
  Buffer &find(const std::string &name, int plane);

  std::unique_ptr<KernelBackend> backend;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, std::vector<KernelBackend::Dispatch>> entries;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H
