// SPDX-License-Identifier: Apache-2.0
//
// What a ProgramRunner's kernels run on: the machine's Vulkan device, or the
// host in lockstep.

#ifndef LLMC_TEST_E2E_SUPPORT_KERNELBACKEND_H
#define LLMC_TEST_E2E_SUPPORT_KERNELBACKEND_H

#include "dialects/Program/Program.h"
#include "mlir/Pass/PassManager.h"
#include "test/e2e/support/ComputeDevice.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace llmc::test {

class KernelBackend {
public:
  struct Dispatch {
    std::string kernel;
    std::array<uint32_t, 3> groups;
    /// Numbers of buffers, by binding.
    std::vector<size_t> buffers;
  };

  virtual ~KernelBackend() = default;
  /// Passes behind those that lower regions to gpu modules.
  virtual void addPasses(mlir::PassManager &passes) = 0;
  /// False, after a message on stderr, when it cannot be run.
  virtual bool addKernel(program::KernelOp kernel) = 0;
  /// A buffer that the host sees, filled with 0xff, which is NaN in f32 and
  /// f16: what a kernel should not have read shows. Its number is that of the
  /// buffers before it.
  virtual void *addBuffer(size_t bytes) = 0;
  /// Runs the dispatches in order, each after a full barrier, and waits.
  /// Returns the seconds that the device took.
  virtual double run(const std::vector<Dispatch> &dispatches) = 0;
};

std::unique_ptr<KernelBackend> makeVulkanBackend(ComputeDevice &device);

/// LockstepKernel.h. A kernel that does what it must not ends the process with
/// a message.
std::unique_ptr<KernelBackend> makeLockstepBackend();

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_KERNELBACKEND_H
