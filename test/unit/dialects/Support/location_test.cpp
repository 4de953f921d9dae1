// SPDX-License-Identifier: Apache-2.0
//
// Locations as text.

#include "dialects/Support/Location.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using llmc::describeLocation;

TEST(LocationTest, PlaceIsThePartOfTheModelOrTheLine) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  mlir::Location part =
      mlir::NameLoc::get(builder.getStringAttr("blk.0.attn_q"));
  mlir::Location line = mlir::FileLineColLoc::get(&context, "m.mlir", 3, 7);
  EXPECT_EQ(describeLocation(part), "blk.0.attn_q");
  EXPECT_EQ(describeLocation(line), "m.mlir:3:7");
  EXPECT_EQ(describeLocation(builder.getUnknownLoc()), "");
  EXPECT_EQ(describeLocation(
                builder.getFusedLoc({builder.getUnknownLoc(), part, line})),
            "blk.0.attn_q");
}
