// SPDX-License-Identifier: Apache-2.0
//
// Progress of a long command.

#ifndef LLMC_TOOLS_LLMC_PROGRESSLINE_H
#define LLMC_TOOLS_LLMC_PROGRESSLINE_H

#include <cstdio>
#include <string>
#include <unistd.h>

namespace llmc::tool {

/// One line on stderr that is written over; nothing unless it is a terminal.
class ProgressLine {
public:
  ProgressLine() : isTerminal(isatty(STDERR_FILENO) != 0) {}
  ~ProgressLine() { clear(); }

  void show(const std::string &what, double done) {
    if (!isTerminal)
      return;
    constexpr int kWidth = 30;
    std::string bar(static_cast<size_t>(done * kWidth), '#');
    bar.resize(kWidth, ' ');
    std::fprintf(stderr, "\r\033[K[%s] %3d%% %s", bar.c_str(),
                 static_cast<int>(done * 100), what.c_str());
    std::fflush(stderr);
  }
  void clear() {
    if (isTerminal)
      std::fputs("\r\033[K", stderr);
  }

private:
  bool isTerminal;
};

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_PROGRESSLINE_H
