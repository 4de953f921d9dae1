// SPDX-License-Identifier: Apache-2.0
//
// What a driver's self-tests of a file gave, kept from start to start.

#ifndef LLMC_RUNTIME_SESSION_SELFTESTRECORD_H
#define LLMC_RUNTIME_SESSION_SELFTESTRECORD_H

#include "runtime/vulkan/DriverFile.h"

#include <map>
#include <optional>
#include <string>

namespace llmc::runtime {

/// Verdicts by the variant's name. Belongs to one device; another driver or
/// another .llmc file begins with none.
class SelfTestRecord {
public:
  /// As DriverFile; reads what is there.
  SelfTestRecord(const vulkan::DeviceFacts &device, const std::string &folder,
                 uint64_t contentHash);

  /// The problem that was found, empty when there was none; nothing when the
  /// variant has not been tested.
  std::optional<std::string> find(const std::string &variant) const;
  /// Remembers a verdict and writes the file, where there is a folder, with
  /// what others have written there since. That it can't be written costs a
  /// test at the next start and nothing else.
  void set(const std::string &variant, const std::string &problem);

  /// Whether the cases have passed that a load waits for, which leaves others
  /// for later (LaterTests.h).
  bool hasPassedFirst(const std::string &variant) const;
  void setPassedFirst(const std::string &variant);

private:
  void read();

  vulkan::DriverFile file;
  std::map<std::string, std::string> problems; // by variant
};

} // namespace llmc::runtime

#endif // LLMC_RUNTIME_SESSION_SELFTESTRECORD_H
