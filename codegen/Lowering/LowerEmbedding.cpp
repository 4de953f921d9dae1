// SPDX-License-Identifier: Apache-2.0
//
// Gather of rows of a weight: an invocation decodes the unit(s) of a few
// columns for the token's quad and keeps the one row of four that is the
// token's.

#include "codegen/Lowering/Elementwise.h"
#include "codegen/Lowering/RegionLowering.h"
#include "codegen/Lowering/WeightDecode.h"

namespace llmc::codegen {

/// Four columns' vectors over the quad's rows to one vector over the columns of
/// row `lane`.
static Value rowOfColumns(KernelBuilder &b, ArrayRef<Value> columns,
                          Value lane) {
  SmallVector<Value> scalars;
  for (Value column : columns)
    scalars.push_back(b.extract(column, lane));
  return b.vector(scalars);
}

LogicalResult lowerEmbedding(RegionContext &context) {
  auto embeddings =
      context.getRegion().getBody().getOps<graph::QuantizedEmbeddingOp>();
  if (!llvm::hasSingleElement(embeddings))
    return context.getRegion().emitOpError(
        "of kind embedding needs one quantized_embedding");
  graph::QuantizedEmbeddingOp embedding = *embeddings.begin();
  FailureOr<View> tokens = context.view(embedding.getTokens());
  FailureOr<WeightView> table = context.weight(embedding.getTable());
  if (failed(tokens) || failed(table))
    return failure();

  KernelUnit unit(context, context.getConfig().getWorkgroup());
  KernelBuilder &b = unit.builder();
  const WeightLayout &layout = table->layout;
  int64_t lanes = context.getConfig().getWorkgroup()[0],
          columns = context.getConfig().getTile()[1];
  int64_t numBlocks = layout.paddedColumns / columns;
  auto type = cast<RankedTensorType>(embedding.getType());

  Value block = b.add(b.mul(b.groupId(), lanes), b.localId()),
        row = b.groupId(gpu::Dimension::y);
  Value isInside = b.logicalAnd(b.less(block, b.index(numBlocks)),
                                b.less(row, unit.numRows(type)));
  LogicalResult ok = success();
  auto gather = [&](Value token) {
    WeightDecoder decoder(unit, *table, b.div(token, 4), columns);
    int64_t blocksPerGroup = decoder.columnsPerGroup() / columns,
            unitsPerBlock = columns / decoder.unitColumns();
    Value group = b.div(block, blocksPerGroup);
    WeightDecoder::Group data = decoder.loadGroup(group);
    Value firstUnit = b.mul(b.rem(block, blocksPerGroup), unitsPerBlock);
    SmallVector<Value> decoded;
    for (int64_t place = 0; place < unitsPerBlock; ++place)
      decoded.append(decoder.loadWeights(group, data, b.add(firstUnit, place)));
    for (int64_t column = 0; column < columns && succeeded(ok); column += 4) {
      Value quad = b.add(b.mul(block, columns / 4), column / 4);
      ElementwiseEmitter emitter(unit, row, quad);
      emitter.map(
          embedding.getResult(),
          rowOfColumns(b, ArrayRef(decoded).slice(column, 4), b.rem(token, 4)));
      for (unsigned number = 0;
           succeeded(ok) && number < context.getRegion().getNumResults();
           ++number)
        ok = emitter.storeResult(number);
    }
  };
  int64_t tableRows =
      cast<RankedTensorType>(embedding.getTable().getType()).getDimSize(0);
  b.ifThen(isInside, [&] {
    Value ids = unit.bind(tokens->slice, b.getI32Type(), program::Access::Read);
    // As unsigned, so that negative ids are clamped too.
    Value token = b.toIndex(
        b.min(b.load(ids, b.add(row, tokens->offset)), b.i32(tableRows - 1)));
    if (layout.rows == tableRows)
      return gather(token);
    // The dispatch of another part has the rows of other tokens; a token before
    // the part is a huge number here.
    Value inPart = b.sub(token, b.index(context.getPart().first));
    b.ifThen(b.less(inPart, b.index(layout.rows)), [&] { gather(inPart); });
  });
  if (failed(ok))
    return failure();
  std::string label = (Twine("embedding ") + formatName(layout.format) + " " +
                       Twine(layout.rows) + "x" + Twine(layout.columns) +
                       " rows " + Twine(context.rowsOf(type)))
                          .str();
  unit.finish(label,
              {(numBlocks + lanes - 1) / lanes, context.rowsOf(type), 1});
  return success();
}

} // namespace llmc::codegen
