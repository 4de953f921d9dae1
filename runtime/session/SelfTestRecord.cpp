// SPDX-License-Identifier: Apache-2.0
//
// SelfTestRecord.h: lines "variant<tab>problem", and "variant, up to 32
// rows<tab>" when the cases of such steps have passed.

#include "runtime/session/SelfTestRecord.h"

#include "runtime/session/TestPlan.h"

#include <algorithm>
#include <sstream>

namespace llmc::runtime {

SelfTestRecord::SelfTestRecord(const vulkan::DeviceFacts &device,
                               const std::string &folder, uint64_t contentHash)
    : file(device, folder, contentHash, ".selftest") {
  read();
}

void SelfTestRecord::read() {
  const std::vector<uint8_t> blob = file.read();
  std::istringstream lines(std::string(blob.begin(), blob.end()));
  for (std::string line; std::getline(lines, line);)
    if (const size_t tab = line.find('\t'); tab != std::string::npos)
      problems[line.substr(0, tab)] = line.substr(tab + 1);
}

std::optional<std::string>
SelfTestRecord::find(const std::string &variant) const {
  const auto found = problems.find(variant);
  if (found == problems.end())
    return std::nullopt;
  return found->second;
}

void SelfTestRecord::set(const std::string &variant,
                         const std::string &problem) {
  read();
  std::string &line = problems[variant];
  line = problem;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::string text;
  for (const auto &[name, found] : problems)
    text += name + '\t' + found + '\n';
  (void)file.write({text.begin(), text.end()});
}

static std::string nameOfFirst(const std::string &variant) {
  return variant + ", up to " + std::to_string(kFewRows) + " rows";
}

bool SelfTestRecord::hasPassedFirst(const std::string &variant) const {
  return find(nameOfFirst(variant)).has_value();
}

void SelfTestRecord::setPassedFirst(const std::string &variant) {
  set(nameOfFirst(variant), "");
}

} // namespace llmc::runtime
