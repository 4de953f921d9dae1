// SPDX-License-Identifier: Apache-2.0
//
// Locations as text.

#include "dialects/Support/Location.h"

#include "llvm/ADT/TypeSwitch.h"

namespace llmc {

std::string describeLocation(Location location) {
  return llvm::TypeSwitch<mlir::LocationAttr, std::string>(location)
      .Case([](mlir::NameLoc named) { return named.getName().str(); })
      .Case([](mlir::FileLineColLoc place) {
        return (place.getFilename().getValue() + ":" + Twine(place.getLine()) +
                ":" + Twine(place.getColumn()))
            .str();
      })
      .Case([](mlir::FusedLoc fused) {
        for (Location part : fused.getLocations())
          if (std::string text = describeLocation(part); !text.empty())
            return text;
        return std::string();
      })
      .Case([](mlir::CallSiteLoc call) {
        return describeLocation(call.getCallee());
      })
      .Default([](mlir::LocationAttr) { return std::string(); });
}

} // namespace llmc
