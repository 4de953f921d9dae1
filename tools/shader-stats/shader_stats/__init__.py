# SPDX-License-Identifier: Apache-2.0
"""What the targets' driver compilers make of kernels: compiling (driver), counting (disassembly, spirv, hot_loop)."""
