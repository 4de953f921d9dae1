// SPDX-License-Identifier: Apache-2.0
//
// Command lines: a command declares its options, each bound to a variable, and
// parses. Help is written from the declarations.

#ifndef LLMC_TOOLS_LLMC_OPTIONS_H
#define LLMC_TOOLS_LLMC_OPTIONS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace llmc::tool {

/// What llmc's exit codes mean.
enum ExitCode {
  kExitOk = 0,
  kExitFailure = 1, // it should have worked: no device, no space, a bug
  kExitUsage = 2,   // the command line is wrong
  kExitRefused = 3, // the input is: a damaged or unsupported file
};

/// Options are `--name=value`, `--name value`, `-n value` or `--flag`; `--`
/// ends them. `--help` and `-h` are always there.
class Options {
public:
  /// |usage| follows "Usage: llmc ", for instance "compile MODEL -o FILE";
  /// |description| is a paragraph.
  Options(std::string usage, std::string description)
      : usage(std::move(usage)), description(std::move(description)) {}

  // Each names an option (for instance "max-context"; |names| may add a letter,
  // "output,o"), says what it is for, and binds a variable whose value before
  // parsing is the default.
  /// An option whose help is empty is not listed.
  void flag(const std::string &names, bool &value, const std::string &help);
  void text(const std::string &names, const std::string &placeholder,
            std::string &value, const std::string &help);
  /// Accepts |least| to |most|.
  void integer(const std::string &names, const std::string &placeholder,
               int64_t &value, int64_t least, int64_t most,
               const std::string &help);
  void real(const std::string &names, const std::string &placeholder,
            double &value, double least, double most, const std::string &help);
  /// Values between commas, or the option several times.
  void list(const std::string &names, const std::string &placeholder,
            std::vector<std::string> &values, const std::string &help);
  /// A whole value each time the option is given.
  void texts(const std::string &names, const std::string &placeholder,
             std::vector<std::string> &values, const std::string &help);
  /// One of |choices|.
  void choice(const std::string &names, const std::vector<std::string> &choices,
              std::string &value, const std::string &help);
  /// The next argument that is no option; required ones come first.
  void positional(const std::string &placeholder, std::string &value,
                  const std::string &help, bool isRequired = true);
  /// All arguments that are left.
  void rest(const std::string &placeholder, std::vector<std::string> &values,
            const std::string &help);

  enum class Outcome {
    Ready, // go on
    Done,  // help was asked for and printed; exit with kExitOk
    Wrong, // a message was printed; exit with kExitUsage
  };
  /// Parses the arguments after the command's name.
  Outcome parse(const std::vector<std::string> &arguments);

  /// The help text.
  std::string help() const;

private:
  struct Option {
    std::vector<std::string> names; // without dashes; letters have one dash
    std::string placeholder;        // empty: a flag
    std::string help;
    /// Takes a value; gives what is wrong with it, or nothing.
    std::function<std::string(const std::string &)> set;
  };
  struct Positional {
    std::string placeholder;
    std::string help;
    bool isRequired;
    std::string *value;               // or
    std::vector<std::string> *values; // all the rest
  };

  void add(const std::string &names, const std::string &placeholder,
           const std::string &help,
           std::function<std::string(const std::string &)> set);
  const Option *find(const std::string &name) const;
  std::string parseOption(const std::vector<std::string> &arguments,
                          size_t &index);
  std::string takePositionals(const std::vector<std::string> &values);

  std::string usage;
  std::string description;
  std::vector<Option> options;
  std::vector<Positional> positionals;
};

} // namespace llmc::tool

#endif // LLMC_TOOLS_LLMC_OPTIONS_H
