// SPDX-License-Identifier: Apache-2.0
//
// Parsing and help.

#include "tools/llmc/Options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace llmc::tool {

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

static std::string join(const std::vector<std::string> &parts,
                        const std::string &separator) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : separator) + part;
  return text;
}

static std::string withDashes(const std::string &name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Options::add(const std::string &names, const std::string &placeholder,
                  const std::string &help,
                  std::function<std::string(const std::string &)> set) {
  options.push_back({split(names, ','), placeholder, help, std::move(set)});
}

void Options::flag(const std::string &names, bool &value,
                   const std::string &help) {
  add(names, "", help, [&value](const std::string &) {
    value = true;
    return std::string();
  });
}

void Options::text(const std::string &names, const std::string &placeholder,
                   std::string &value, const std::string &help) {
  add(names, placeholder, help, [&value](const std::string &given) {
    value = given;
    return std::string();
  });
}

void Options::integer(const std::string &names, const std::string &placeholder,
                      int64_t &value, int64_t least, int64_t most,
                      const std::string &help) {
  add(names, placeholder, help, [=, &value](const std::string &given) {
    char *end = nullptr;
    errno = 0;
    long long number = std::strtoll(given.c_str(), &end, 10);
    if (given.empty() || *end != '\0' || errno != 0 || number < least ||
        number > most)
      return "an integer from " + std::to_string(least) + " to " +
             std::to_string(most);
    value = number;
    return std::string();
  });
}

void Options::real(const std::string &names, const std::string &placeholder,
                   double &value, double least, double most,
                   const std::string &help) {
  add(names, placeholder, help, [=, &value](const std::string &given) {
    char *end = nullptr;
    double number = std::strtod(given.c_str(), &end);
    // The comparison is false for NaN.
    if (given.empty() || *end != '\0' || !(number >= least && number <= most)) {
      std::ostringstream allowed;
      allowed << "a number from " << least << " to " << most;
      return allowed.str();
    }
    value = number;
    return std::string();
  });
}

void Options::list(const std::string &names, const std::string &placeholder,
                   std::vector<std::string> &values, const std::string &help) {
  add(names, placeholder, help, [&values](const std::string &given) {
    for (std::string &part : split(given, ','))
      values.push_back(std::move(part));
    return std::string();
  });
}

void Options::texts(const std::string &names, const std::string &placeholder,
                    std::vector<std::string> &values, const std::string &help) {
  add(names, placeholder, help, [&values](const std::string &given) {
    values.push_back(given);
    return std::string();
  });
}

void Options::choice(const std::string &names,
                     const std::vector<std::string> &choices,
                     std::string &value, const std::string &help) {
  add(names, join(choices, "|"), help,
      [choices, &value](const std::string &given) {
        for (const std::string &allowed : choices)
          if (given == allowed) {
            value = given;
            return std::string();
          }
        return "one of " + join(choices, ", ");
      });
}

void Options::positional(const std::string &placeholder, std::string &value,
                         const std::string &help, bool isRequired) {
  positionals.push_back({placeholder, help, isRequired, &value, nullptr});
}

void Options::rest(const std::string &placeholder,
                   std::vector<std::string> &values, const std::string &help) {
  positionals.push_back({placeholder, help, false, nullptr, &values});
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

const Options::Option *Options::find(const std::string &name) const {
  for (const Option &option : options)
    for (const std::string &candidate : option.names)
      if (withDashes(candidate) == name)
        return &option;
  return nullptr;
}

/// Takes arguments[index], and the next one if it is the option's value.
/// Returns what is wrong, or nothing.
std::string Options::parseOption(const std::vector<std::string> &arguments,
                                 size_t &index) {
  const std::string &argument = arguments[index];
  size_t equals = argument.find('=');
  std::string name = argument.substr(0, equals);
  const Option *option = find(name);
  if (!option)
    return "unknown option '" + name + "'";
  bool hasValue = equals != std::string::npos;
  if (option->placeholder.empty()) {
    if (hasValue)
      return "option '" + name + "' takes no value";
    return option->set("");
  }
  if (!hasValue && index + 1 == arguments.size())
    return "option '" + name + "' needs a value, " + option->placeholder;
  std::string value =
      hasValue ? argument.substr(equals + 1) : arguments[++index];
  std::string allowed = option->set(value);
  return allowed.empty() ? ""
                         : "option '" + name + "' is '" + value +
                               "', allowed is " + allowed;
}

std::string Options::takePositionals(const std::vector<std::string> &values) {
  size_t next = 0;
  for (const Positional &positional : positionals) {
    if (positional.values)
      while (next < values.size())
        positional.values->push_back(values[next++]);
    else if (next < values.size())
      *positional.value = values[next++];
    else if (positional.isRequired)
      return positional.placeholder + " is missing";
  }
  if (next < values.size())
    return "unexpected argument '" + values[next] + "'";
  return "";
}

Options::Outcome Options::parse(const std::vector<std::string> &arguments) {
  std::vector<std::string> values;
  std::string problem;
  bool optionsEnded = false;
  for (size_t i = 0; i < arguments.size() && problem.empty(); ++i) {
    const std::string &argument = arguments[i];
    if (optionsEnded || argument.size() < 2 || argument[0] != '-')
      values.push_back(argument);
    else if (argument == "--")
      optionsEnded = true;
    else if (argument == "--help" || argument == "-h") {
      std::fputs(help().c_str(), stdout);
      return Outcome::Done;
    } else
      problem = parseOption(arguments, i);
  }
  if (problem.empty())
    problem = takePositionals(values);
  if (problem.empty())
    return Outcome::Ready;
  std::fprintf(stderr, "llmc: %s\nUsage: llmc %s\n", problem.c_str(),
               usage.c_str());
  return Outcome::Wrong;
}

std::string Options::help() const {
  std::ostringstream text;
  text << "Usage: llmc " << usage << "\n\n" << description << "\n\n";
  auto line = [&](std::string left, const std::string &right) {
    constexpr size_t kColumn = 30;
    left.resize(std::max(left.size(), kColumn), ' ');
    text << "  " << left << "  " << right << "\n";
  };
  for (const Positional &positional : positionals)
    line(positional.placeholder, positional.help);
  for (const Option &option : options) {
    if (option.help.empty())
      continue;
    std::vector<std::string> names;
    for (const std::string &name : option.names)
      names.push_back(withDashes(name));
    line(join(names, ", ") +
             (option.placeholder.empty() ? "" : "=" + option.placeholder),
         option.help);
  }
  line("--help, -h", "prints this");
  return text.str();
}

} // namespace llmc::tool
