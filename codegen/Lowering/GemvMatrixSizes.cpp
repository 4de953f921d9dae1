// SPDX-License-Identifier: Apache-2.0
//
// GemvMatrixSizes.h.

#include "codegen/Lowering/GemvMatrixSizes.h"

#include "codegen/Lowering/TileMisfit.h"

namespace llmc::codegen {

bool hasPairsOfCodes(WeightFormat format) {
  int64_t group = scaleGroupColumns(format);
  return columnsPerUnit(format) == kGemvMatrixUnitColumns &&
         codebookOf(format) == Codebook::None && (group == 16 || group == 32);
}

std::string checkGemvMatrixSizes(const GemvMatrixSizes &sizes,
                                 WeightFormat format, int64_t K,
                                 int64_t subgroupSize) {
  // Matrices are known as 32 lanes hold them (MatrixFragments.h).
  constexpr int64_t kLanes = 32;
  if (!hasPairsOfCodes(format))
    return "format is " + std::string(formatName(format)) +
           ", allowed are whole numbers of 4 to 6 bits";
  if (subgroupSize != kLanes)
    return describeMisfit("the device's subgroup", subgroupSize,
                          "are " + std::to_string(kLanes) + " invocations");
  if (sizes.invocations < kLanes || sizes.invocations % kLanes != 0)
    return describeMisfit("workgroup's number of invocations",
                          sizes.invocations,
                          "are whole subgroups of " + std::to_string(kLanes));
  if (sizes.rows != 1)
    return describeMisfit("tile's rows", sizes.rows, "is 1");
  if (sizes.columns != 16 && sizes.columns != 32)
    return describeMisfit("tile's columns", sizes.columns, "are 16 and 32");
  if (sizes.columns != 32 && sizes.tileWorkgroups != 0)
    return describeMisfit("tile's columns", sizes.columns,
                          "are 32 where workgroups go over all tiles");
  if (sizes.tileWorkgroups < 0)
    return describeMisfit("tile's workgroups that go over all tiles",
                          sizes.tileWorkgroups, "are 0 and more");
  int64_t chunk = kChunkGroups * scaleGroupColumns(format);
  if (sizes.kStep != chunk)
    return describeMisfit("tile's k", sizes.kStep,
                          "is " + std::to_string(chunk));
  int64_t segment = kLanes * kGemvMatrixUnitColumns;
  if (K % segment != 0)
    return describeMisfit("the weight's number of columns", K,
                          "are multiples of " + std::to_string(segment));
  return "";
}

} // namespace llmc::codegen
