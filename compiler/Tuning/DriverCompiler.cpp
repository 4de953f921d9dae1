// SPDX-License-Identifier: Apache-2.0
//
// Starts the tool and reads what it prints.

#include "compiler/Tuning/DriverCompiler.h"

#include <nlohmann/json.hpp>

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace llmc::tuner {

namespace {

using Json = nlohmann::json;

constexpr int kNotSetUp = 77, kWrongArguments = 2;

/// A word of a command line for the shell.
std::string quoted(const std::string &word) {
  std::string result = "'";
  for (char c : word)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// Runs a command; its exit code (-1: it could not be started), and what it
/// printed.
std::pair<int, std::string> run(const std::string &command) {
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return {-1, ""};
  std::string output;
  std::array<char, 4096> buffer;
  while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), count);
  int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

/// What setup left in the folder that it filled; empty if it is not found.
std::string readVersion(const std::filesystem::path &toolFolder) {
  const char *given = std::getenv("LLMC_SHADER_STATS_DIR");
  std::filesystem::path folder =
      given ? std::filesystem::path(given)
            : toolFolder / ".." / ".." / "build" / "shader-stats";
  std::ifstream file(folder / "mesa-version");
  std::string version;
  std::getline(file, version);
  // A package's version: "26.2.6-1" is Mesa 26.2.6.
  version = version.substr(0, version.find_first_of("-~+"));
  return version.empty() ? "" : "Mesa " + version;
}

double numberOr(const Json &object, const char *key, double otherwise) {
  auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : otherwise;
}

} // namespace

StatusOr<DriverCompiler>
DriverCompiler::create(const std::string &folder,
                       const description::Target &target) {
  DriverCompiler compiler;
  std::filesystem::path tool = std::filesystem::path(folder) / "measure";
  std::error_code error;
  if (!std::filesystem::exists(tool, error))
    return Status(StatusCode::NotFound,
                  "'" + tool.string() + "' does not exist");
  compiler.targetName = target.name();
  compiler.command = quoted(tool.string()) + " " + quoted(target.name());
  compiler.countsVectors = target.family() == description::ADRENO;
  compiler.theVersion = readVersion(folder);
  // An empty module is refused, but only by a tool that is set up.
  int code = run(compiler.command + " /dev/null 2>/dev/null").first;
  if (code == kNotSetUp || code == kWrongArguments)
    return Status(StatusCode::Unsupported,
                  code == kNotSetUp
                      ? "'" + folder + "' is not set up; run its setup"
                      : "there is no driver compiler for target '" +
                            target.name() + "'");
  return compiler;
}

std::map<std::string, KernelFigures>
DriverCompiler::measure(const MeasureJob &job) const {
  std::string line = command + " --json --rows=" + std::to_string(job.rows);
  if (!job.weights.empty())
    line += " --weights=" + quoted(job.weights);
  for (const std::string &path : job.paths)
    line += " " + quoted(path);
  // It exits with 1 when one of the modules failed; the others count.
  return parseFigures(run(line + " 2>/dev/null").second, countsVectors);
}

std::map<std::string, KernelFigures> parseFigures(const std::string &text,
                                                  bool countsVectors) {
  std::map<std::string, KernelFigures> all;
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return all;
  for (const auto &item : json.items()) {
    const Json &figures = item.value();
    if (!figures.is_object())
      continue;
    auto hot = figures.find("hot_loop");
    if (hot == figures.end() || !hot->is_object()) {
      all[item.key()].isRefused = true;
      continue;
    }
    auto integer = [&](const char *key) {
      return static_cast<int64_t>(numberOr(figures, key, 0));
    };
    KernelFigures &result = all[item.key()];
    result.registers = integer("registers") * (countsVectors ? 4 : 1);
    result.occupancyPercent =
        integer("occupancy") * 100 / (countsVectors ? 16 : 2);
    result.spills = integer("spills") + integer("fills");
    result.threadLocalBytes = integer("tls");
    result.instructionsPerMultiplyAdd = numberOr(*hot, "per_mac", 0);
    result.bytesPerLoad = numberOr(*hot, "weight_bytes_per_load", 0);
  }
  return all;
}

} // namespace llmc::tuner
