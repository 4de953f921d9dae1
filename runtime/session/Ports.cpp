// SPDX-License-Identifier: Apache-2.0
//
// Ports.h.

#include "runtime/session/Ports.h"

namespace llmc::runtime {

StatusOr<uint32_t> findPort(const Ports &ports, const std::string &name,
                            const format::Entry &entry) {
  std::string known;
  for (int i = 0; i < ports.size(); ++i) {
    if (ports[i].name() == name)
      return static_cast<uint32_t>(i);
    known += (i ? ", " : "") + ports[i].name();
  }
  return Status(StatusCode::NotFound,
                "function " + entry.function() + " has no port '" + name +
                    "', only: " + (known.empty() ? "none" : known));
}

Status checkRows(const format::Port &port, uint64_t rows) {
  const uint64_t most = port.slice().range() / port.row_bytes();
  if (rows <= most)
    return okStatus();
  return Status(StatusCode::InvalidArgument,
                "port " + port.name() + " was given " + std::to_string(rows) +
                    " rows, it has " + std::to_string(most));
}

} // namespace llmc::runtime
