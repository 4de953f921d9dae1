// SPDX-License-Identifier: Apache-2.0
//
// The inputs and outputs of an entry, by name.

#ifndef LLMC_RUNTIME_SESSION_PORTS_H
#define LLMC_RUNTIME_SESSION_PORTS_H

#include "runtime/format/Status.h"
#include "runtime/format/manifest.pb.h"

#include <string>

namespace llmc::runtime {

using Ports = google::protobuf::RepeatedPtrField<format::Port>;

/// The number of `entry`'s port; NotFound lists those that there are.
StatusOr<uint32_t> findPort(const Ports &ports, const std::string &name,
                            const format::Entry &entry);

/// InvalidArgument when the port has room for fewer rows.
Status checkRows(const format::Port &port, uint64_t rows);

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_PORTS_H
