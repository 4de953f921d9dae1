// SPDX-License-Identifier: Apache-2.0
//
// TuneTimer.h.

#include "tools/llmc/TuneTimer.h"

#include "compiler/Driver/Driver.h"
#include "runtime/session/Module.h"
#include "runtime/session/Session.h"

#include <memory>
#include <vector>

namespace llmc::tool {

namespace {

Status writeZeros(runtime::Session &session, uint32_t number,
                  const format::Entry &entry) {
  session.writeStep(number, {0, static_cast<int32_t>(entry.rows()), 0});
  for (int input = 0; input < entry.inputs_size(); ++input) {
    const format::Port &port = entry.inputs(input);
    const uint64_t rows = port.slice().range() / port.row_bytes();
    const std::vector<int32_t> zeros(rows * port.row_elements());
    LLMC_RETURN_IF_ERROR(session.writeInput(
        number, static_cast<uint32_t>(input), zeros.data(), rows));
  }
  return okStatus();
}

/// The entries to time. Those that choose the next token have the linears of
/// others and options that zeros are none of.
std::vector<uint32_t> timedEntries(const format::Variant &variant) {
  std::vector<uint32_t> entries;
  for (int i = 0; i < variant.entries_size(); ++i)
    if (variant.entries(i).function() != "next")
      entries.push_back(static_cast<uint32_t>(i));
  return entries;
}

/// Of each dispatch that ran, the mean of a run.
tuner::ModelTimes collect(const runtime::Module &module,
                          const std::vector<runtime::DispatchTime> &times) {
  std::vector<std::vector<const format::Dispatch *>> dispatches;
  for (const format::Entry &entry : module.variant().entries()) {
    auto &ofEntry = dispatches.emplace_back();
    for (const format::Command &command : entry.commands())
      if (command.has_dispatch())
        ofEntry.push_back(&command.dispatch());
  }
  tuner::ModelTimes result{module.device().facts().name, {}};
  for (const runtime::DispatchTime &time : times) {
    if (!time.runs)
      continue;
    const format::Entry &entry =
        module.variant().entries(static_cast<int>(time.entry));
    result.dispatches.push_back(
        {entry.function(), static_cast<int64_t>(entry.rows()),
         dispatches[time.entry][time.dispatch]->label(),
         time.nanoseconds / static_cast<double>(time.runs) / 1e3});
  }
  return result;
}

} // namespace

StatusOr<tuner::ModelTimes> timeModel(const TuneTimerOptions &options,
                                      const std::string &model,
                                      const std::string &tuningPath) {
  driver::CompileOptions compile;
  compile.inputPath = model;
  compile.targets = {options.target};
  compile.tuningPath = tuningPath;
  compile.outputPath = tuningPath + ".llmc";
  compile.selfTests = false;
  LLMC_RETURN_IF_ERROR(driver::compileModel(compile).status());
  LLMC_ASSIGN_OR_RETURN(const std::shared_ptr<runtime::Module> module,
                        loadModule(compile.outputPath, options.device));
  LLMC_ASSIGN_OR_RETURN(
      const std::unique_ptr<runtime::Session> session,
      runtime::Session::create(module, toSessionOptions(options.device, true)));
  const std::vector<uint32_t> entries = timedEntries(module->variant());
  for (const uint32_t entry : entries)
    LLMC_RETURN_IF_ERROR(writeZeros(
        *session, entry, module->variant().entries(static_cast<int>(entry))));
  // The first round warms up and does not count.
  for (int64_t round = 0; round <= options.repeats; ++round) {
    for (const uint32_t entry : entries)
      LLMC_RETURN_IF_ERROR(session->submit({entry}));
    if (round == 0)
      session->forgetDispatchTimes();
  }
  return collect(*module, session->dispatchTimes());
}

} // namespace llmc::tool
