// SPDX-License-Identifier: Apache-2.0

#include "tools/llmc/KernelFigures.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

namespace llmc::tool {

namespace {

using Json = nlohmann::json;

/// Reads members of one kernel and remembers the first that is not as it must
/// be.
class MemberReader {
public:
  MemberReader(const Json &object, std::string &problem)
      : object(object), problem(problem) {}

  std::string text(const char *name) {
    const Json *found = member(name);
    if (found && found->is_string())
      return found->get<std::string>();
    complain(name, "a string");
    return "";
  }

  uint64_t count(const char *name) {
    const Json *found = member(name);
    if (found && found->is_number_unsigned())
      return found->get<uint64_t>();
    complain(name, "a whole number");
    return 0;
  }

  /// Absent where the file has null.
  std::optional<double> ratio(const char *name) {
    const Json *found = member(name);
    if (found && found->is_number())
      return found->get<double>();
    if (!found || !found->is_null())
      complain(name, "a number or null");
    return std::nullopt;
  }

  const Json *member(const char *name) const {
    auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nullptr : &*found;
  }

private:
  void complain(const char *name, const char *allowed) {
    if (problem.empty())
      problem = "field '" + std::string(name) + "' is not " + allowed;
  }

  const Json &object;
  std::string &problem;
};

KernelFigures readFigures(const MemberReader &kernel, const Json &measured,
                          std::string &problem) {
  MemberReader reader(measured, problem);
  KernelFigures figures;
  figures.registers = reader.count("registers");
  figures.occupancy = reader.count("occupancy");
  figures.spills = reader.count("spills");
  figures.fills = reader.count("fills");
  figures.threadLocalBytes = reader.count("tls");
  const Json *hotLoop = kernel.member("hot_loop");
  if (hotLoop && hotLoop->is_object()) {
    MemberReader loop(*hotLoop, problem);
    figures.instructionsPerMultiplyAdd = loop.ratio("per_mac");
    figures.weightBytesPerLoad = loop.ratio("weight_bytes_per_load");
  }
  return figures;
}

} // namespace

std::string checksumText(uint64_t checksum) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(checksum));
  return text;
}

StatusOr<KernelFiguresFile> KernelFiguresFile::open(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status(StatusCode::NotFound, "cannot open '" + path + "'");
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  std::string problem;
  MemberReader top(json, problem);
  KernelFiguresFile result;
  result.mesa = top.text("mesa");
  const Json *kernels = top.member("kernels");
  if (problem.empty() && !(kernels && kernels->is_array()))
    problem = "field 'kernels' is not a list";
  for (size_t i = 0; problem.empty() && i < kernels->size(); ++i) {
    MemberReader kernel((*kernels)[i], problem);
    std::string target = kernel.text("target");
    std::string checksum = kernel.text("checksum");
    // A kernel that its driver could not compile has no figures.
    if (const Json *measured = kernel.member("measured"))
      result.figures[{target, checksum}] =
          readFigures(kernel, *measured, problem);
    if (!problem.empty())
      problem = "kernel " + std::to_string(i) + ": " + problem;
  }
  if (!problem.empty())
    return Status(StatusCode::InvalidFile,
                  path + ": not written by shader-stats' report: " + problem);
  return result;
}

const KernelFigures *
KernelFiguresFile::find(const std::string &target,
                        const std::string &checksum) const {
  auto found = figures.find({target, checksum});
  return found == figures.end() ? nullptr : &found->second;
}

} // namespace llmc::tool
