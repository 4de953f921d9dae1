// SPDX-License-Identifier: Apache-2.0
//
// Parsers, printers and verifiers of the program dialect's ops.

#include "dialects/Program/Program.h"

#define GET_OP_CLASSES
#include "dialects/Program/ProgramOps.cpp.inc"
