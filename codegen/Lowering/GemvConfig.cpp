// SPDX-License-Identifier: Apache-2.0
//
// Configs of GEMV kernels, and what they must be like.

#include "codegen/Lowering/GemvConfig.h"

#include "codegen/Lowering/Reduction.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace llmc::codegen {

static CodeDecode decodeOf(StringRef name) {
  if (name == "bytes")
    return CodeDecode::Bytes;
  if (name == "halves")
    return CodeDecode::Halves;
  return name == "exponent" ? CodeDecode::Exponent : CodeDecode::Convert;
}

GemvConfig::GemvConfig(RegionContext &context, LinearRegion &parts) {
  graph::LoweringConfigAttr config = context.getConfig();
  ArrayRef<int64_t> tile = config.getTile();
  lanes = config.getWorkgroup()[0];
  tileRows = tile[0];
  tilesAtOnce = parts.linears.size() == 1 ? tile[1] / 4 : 1;
  linearsAtOnce = tile[1] / 4 / tilesAtOnce;
  kStep = tile[2];
  quadsAtOnce = kQuadsPerTile / std::max<int64_t>(config.getSplits(), 1);
  stagedColumns = tile.size() > 3 ? tile[3] : 0;
  tileWorkgroups = tile.size() > 4 && !parts.experts ? tile[4] : 0;
  isStagedOnce = stagedColumns == parts.layout().paddedColumns;
  isHalf = config.getArithmetic() == "f16";
  decode = decodeOf(config.getDecode());
  subgroup = reductionSubgroup(config, context.getDevice(), lanes);
  exchangesInput = subgroup != 0 && stagedColumns == kStep;
  if (exchangesInput) {
    stagedColumns = 0;
    isStagedOnce = false;
  }
  takesOneTurn = subgroup != 0 && stagedColumns == 0 && !exchangesInput &&
                 tileWorkgroups == 0 && !parts.experts &&
                 context.rowsOf(parts.resultType()) == 1 &&
                 linearsAtOnce == static_cast<int64_t>(parts.linears.size()) &&
                 lanes / std::max<int64_t>(quadsAtOnce, 1) * kStep ==
                     parts.layout().paddedColumns;
}

LogicalResult GemvConfig::verify(RegionContext &context,
                                 LinearRegion &parts) const {
  const WeightLayout &layout = parts.layout();
  int64_t numLinears = static_cast<int64_t>(parts.linears.size()),
          group = scaleGroupColumns(layout.format);
  auto error = [&] { return context.getRegion().emitOpError("of kind gemv "); };
  if (parts.experts && tileRows * tilesAtOnce != 1)
    return error() << "has " << tileRows << " rows and " << tilesAtOnce
                   << " tiles at once; of linears of experts it takes one";
  if (int64_t columns = context.getConfig().getTile()[1];
      numLinears == 1
          ? columns < 4 || !llvm::isPowerOf2_64(static_cast<uint64_t>(columns))
          : columns != 4 && columns != 4 * numLinears)
    return error() << "has a tile of " << columns
                   << " columns, neither four nor four for each linear or for "
                      "some tiles of one, a power of two";
  int64_t unit = std::max<int64_t>(columnsPerUnit(layout.format), 4);
  bool isPartOfGroup = kStep % unit == 0 && group % kStep == 0;
  if (layout.paddedColumns % kStep != 0 ||
      (group ? kStep != 2 * group && !isPartOfGroup : kStep % unit))
    return error() << "takes " << kStep << " of " << layout.paddedColumns
                   << " columns at once, where " << std::max<int64_t>(group, 4)
                   << " belong together";
  int64_t shares = lanes / std::max<int64_t>(quadsAtOnce, 1);
  if (quadsAtOnce * context.getConfig().getSplits() != kQuadsPerTile ||
      (quadsAtOnce != kQuadsPerTile &&
       (parts.experts || tilesAtOnce != 1 || subgroup == 0)) ||
      (kStep < group && (stagedColumns != 0 || shares % (group / kStep) != 0)))
    return error() << "deals a tile to " << context.getConfig().getSplits()
                   << " workgroups whose " << shares << " shares have " << kStep
                   << " columns; it deals one tile of one expert to 1, 2 or 4 "
                      "that add up by subgroups, and takes parts of groups of "
                      "input that is not staged";
  if (tileWorkgroups != 0 &&
      (tileRows != 1 || context.rowsOf(parts.resultType()) != 1 ||
       stagedColumns != 0 || tilesAtOnce != 1 || linearsAtOnce != numLinears ||
       subgroup == 0 || shares * kStep != layout.paddedColumns))
    return error()
           << "has " << tileWorkgroups
           << " workgroups for all tiles; they take one row that is not "
              "staged and add up by subgroups, and the "
           << shares << " shares must be all " << layout.paddedColumns
           << " columns";
  if (isHalf && (columnsPerUnit(layout.format) != 8 || stagedColumns == 0 ||
                 codebookOf(layout.format) != Codebook::None))
    return error() << "has f16 arithmetic for " << formatName(layout.format)
                   << " and " << stagedColumns
                   << " staged columns; it takes codes of 4 to 6 bits and "
                      "staged input";
  int64_t handed = group ? std::min(group, kStep) : kStep;
  if (exchangesInput && (handed % (4 * kQuadsPerTile) != 0 || kStep < group ||
                         quadsAtOnce != kQuadsPerTile))
    return error() << "has " << quadsAtOnce << " lanes that hand each other "
                   << handed << " columns; it takes " << kQuadsPerTile
                   << " lanes, multiples of " << 4 * kQuadsPerTile
                   << " columns and whole groups";
  int64_t stride = lanes / quadsAtOnce * kStep;
  if (stagedColumns != 0 &&
      (tileRows != 1 || linearsAtOnce * tilesAtOnce != 1 || subgroup != 0 ||
       (!isStagedOnce &&
        (stagedColumns % std::max<int64_t>(stride, 256) != 0 ||
         !llvm::isPowerOf2_64(static_cast<uint64_t>(stagedColumns))))))
    return error() << "stages " << stagedColumns << " of "
                   << layout.paddedColumns << " columns for " << tileRows
                   << " rows and " << linearsAtOnce * tilesAtOnce
                   << " linears at once; it stages one row of one linear, all "
                      "columns or a power of two from 256 and the "
                   << stride << " that its lanes take at once";
  return success();
}

} // namespace llmc::codegen
