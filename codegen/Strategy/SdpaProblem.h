// SPDX-License-Identifier: Apache-2.0
//
// What the choice of an attention's tile rests on, read off its region and the
// device.

#ifndef LLMC_CODEGEN_STRATEGY_SDPAPROBLEM_H
#define LLMC_CODEGEN_STRATEGY_SDPAPROBLEM_H

#include "codegen/Strategy/RootStrategies.h"
#include "codegen/Strategy/SdpaTile.h"

namespace llmc::codegen {

/// The attention of a region; an error when its shapes have no kernel.
FailureOr<SdpaProblem> readSdpaProblem(const StrategyInput &input);

SdpaDevice sdpaDevice(target::DeviceAttr device);

} // namespace llmc::codegen

#endif // LLMC_CODEGEN_STRATEGY_SDPAPROBLEM_H
