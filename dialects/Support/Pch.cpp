// SPDX-License-Identifier: Apache-2.0
//
// Holds the precompiled header's object file; see tools/cmake/LlmcMlir.cmake.
