// SPDX-License-Identifier: Apache-2.0
//
// A source file for the libraries that build precompiled headers of tests; see
// tools/cmake/LlmcTestPch.cmake.
