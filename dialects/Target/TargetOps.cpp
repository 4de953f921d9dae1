// SPDX-License-Identifier: Apache-2.0
//
// Parsers, printers and verifiers of the target dialect's ops.

#include "dialects/Target/Target.h"

#define GET_OP_CLASSES
#include "dialects/Target/TargetOps.cpp.inc"
