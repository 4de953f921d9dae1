// SPDX-License-Identifier: Apache-2.0
//
// Compiles a module of graph regions with the codegen passes and runs its
// entries on the machine's Vulkan device: kernels under test with no runtime,
// file or planner in between. Every slice is a buffer of its own.

#ifndef LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H
#define LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H

#include "dialects/Program/Program.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/e2e/support/ComputeDevice.h"

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
  ~ProgramRunner();
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
    const ComputeDevice::Buffer &buffer = find(name, 0);
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
  struct Entry {
    std::vector<ComputeDevice::Dispatch> dispatches;
  };

  explicit ProgramRunner(ComputeDevice &device) : device(device) {}
  bool compileText(const std::string &text, const Options &options);
  bool createKernels();
  void createEntry(program::EntryOp entry);
  std::string bufferKey(program::SliceOp slice);
  void writeBytes(const std::string &name, int plane, const void *data,
                  size_t bytes);
  ComputeDevice::Buffer &find(const std::string &name, int plane);

  ComputeDevice &device;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::map<std::string, ComputeDevice::Kernel> kernels;
  std::map<std::string, ComputeDevice::Buffer> buffers;
  std::map<std::string, Entry> entries;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_PROGRAMRUNNER_H
