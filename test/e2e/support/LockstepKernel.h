// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel on the host, from its gpu.func: all invocations of a workgroup
// in lockstep, workgroups one after the other. For targets that no machine here
// has: matrices of subgroups, subgroups of 32. Finds what drivers hide, too:
// accesses beyond a buffer, workgroup memory that is shared with no barrier,
// barriers, shuffles and matrices that not all lanes come to.

#ifndef LLMC_TEST_E2E_SUPPORT_LOCKSTEPKERNEL_H
#define LLMC_TEST_E2E_SUPPORT_LOCKSTEPKERNEL_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "test/e2e/support/LockstepMachine.h"

#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <vector>

namespace llmc::test {

class LockstepKernel {
public:
  struct Buffer {
    void *data;
    size_t bytes;
  };

  /// Reads the kernel of a module. Fails when it has an op that is not known
  /// here.
  static llvm::Expected<LockstepKernel> read(mlir::gpu::GPUModuleOp module,
                                             uint32_t subgroupSize);

  /// Runs so many workgroups with these buffers as bindings.
  llvm::Error run(std::array<uint32_t, 3> groups,
                  const std::vector<Buffer> &buffers) const;

private:
  friend class LockstepReader;

  struct SharedMemory {
    size_t bytes, granule;
  };

  std::string name;
  uint32_t subgroupSize = 0;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  size_t numWords = 0, numBuffers = 0;
  std::vector<SharedMemory> sharedMemories;
  std::vector<LockstepStep> steps;
};

} // namespace llmc::test

#endif // LLMC_TEST_E2E_SUPPORT_LOCKSTEPKERNEL_H
