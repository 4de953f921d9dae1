// SPDX-License-Identifier: Apache-2.0
//
// How the runtime half reports failure: a code for programs and a sentence for
// people. No exceptions. The sentence names the file or object, the field, what
// was found and what is allowed.

#ifndef LLMC_RUNTIME_FORMAT_STATUS_H
#define LLMC_RUNTIME_FORMAT_STATUS_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace llmc {

/// The numbers are part of the C API's ABI (llmc_status_t): append only.
enum class StatusCode {
  Ok = 0,
  InvalidArgument = 1, // the caller's values: range, name, null
  InvalidFile = 2,     // the file is not what it should be
  NotFound = 3,        // no such file, function or port
  Io = 4,              // the system could not open, map or write
  Unsupported = 5,     // fine, but this build or this device can't
  NoVulkan = 6,        // no loader or no driver
  NoDevice = 7,        // no device fits
  OutOfHostMemory = 8,
  OutOfDeviceMemory = 9,
  DeviceLost = 10,
  Timeout = 11,        // the device did not answer in time
  Cancelled = 12,      // by the caller's callback
  Busy = 13,           // the object is in use by another thread
  NonFinite = 14,      // the model computed NaN or infinity
  ContextFull = 15,    // no positions left
  Internal = 16,       // a mistake of llmc's own
  SelfTestFailed = 17, // the device computes wrong or unstable numbers
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : theCode(code), text(std::move(message)) {}

  bool ok() const { return theCode == StatusCode::Ok; }
  StatusCode code() const { return theCode; }
  const std::string &message() const { return text; }

  /// The same failure with `context + ": "` before its sentence.
  Status withContext(const std::string &context) const {
    return ok() ? *this : Status(theCode, context + ": " + text);
  }

private:
  StatusCode theCode = StatusCode::Ok;
  std::string text;
};

inline Status okStatus() { return Status(); }

/// A value, or the reason why there is none.
template <typename T>
class [[nodiscard]] StatusOr {
public:
  StatusOr(Status status) : state(std::move(status)) {
    assert(!state.ok() && "an ok StatusOr needs a value");
  }
  StatusOr(T value) : held(std::move(value)) {}

  bool ok() const { return state.ok(); }
  const Status &status() const { return state; }
  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

private:
  Status state;
  std::optional<T> held;
};

} // namespace llmc

/// Leaves the function with the status of `expr` unless it is ok.
#define LLMC_RETURN_IF_ERROR(expr)                                             \
  do {                                                                         \
    if (::llmc::Status llmcStatus = (expr); !llmcStatus.ok())                  \
      return llmcStatus;                                                       \
  } while (false)

#define LLMC_CONCAT_INNER(a, b) a##b
#define LLMC_CONCAT(a, b) LLMC_CONCAT_INNER(a, b)

/// `LLMC_ASSIGN_OR_RETURN(auto buffer, Buffer::create(…))`
#define LLMC_ASSIGN_OR_RETURN(declaration, expr)                               \
  auto LLMC_CONCAT(llmcResult, __LINE__) = (expr);                             \
  if (!LLMC_CONCAT(llmcResult, __LINE__).ok())                                 \
    return LLMC_CONCAT(llmcResult, __LINE__).status();                         \
  declaration = std::move(*LLMC_CONCAT(llmcResult, __LINE__))

#endif // LLMC_RUNTIME_FORMAT_STATUS_H
