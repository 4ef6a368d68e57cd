// Errors the world can cause. Our own bugs are assertions (ISOBIT_CHECK); verdicts are values of their own.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace isobit {

// The numeric values are the process exit codes documented in docs/guarantees.md.
enum class ErrorCode {
  kRejected = 1,     // a signature, hash or structure check failed
  kUsage = 2,        // the command line asks for something that makes no sense
  kUnreadable = 3,   // missing, malformed or unsupported input
  kUnavailable = 4,  // this machine cannot: ISA not there, disk full, folder not writable
};

// message: one line that names the file and field, what was found, what was expected, what to do.
struct Error {
  ErrorCode code = ErrorCode::kUnreadable;
  std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;
using Status = Expected<void>;

inline tl::unexpected<Error> rejected(std::string m) {
  return tl::unexpected<Error>({ErrorCode::kRejected, std::move(m)});
}
inline tl::unexpected<Error> usage_error(std::string m) {
  return tl::unexpected<Error>({ErrorCode::kUsage, std::move(m)});
}
inline tl::unexpected<Error> unreadable(std::string m) {
  return tl::unexpected<Error>({ErrorCode::kUnreadable, std::move(m)});
}
inline tl::unexpected<Error> unavailable(std::string m) {
  return tl::unexpected<Error>({ErrorCode::kUnavailable, std::move(m)});
}

// Prints the condition and aborts; for broken invariants of our own, never for input.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace isobit

#define ISOBIT_CHECK(condition) ((condition) ? (void)0 : ::isobit::check_failed(#condition, __FILE__, __LINE__))

#define ISOBIT_CONCAT_(a, b) a##b
#define ISOBIT_CONCAT(a, b) ISOBIT_CONCAT_(a, b)

// ISOBIT_TRY(auto x, f());   declares x from the value of an Expected, or returns its error.
#define ISOBIT_TRY(declaration, expression) ISOBIT_TRY_(ISOBIT_CONCAT(isobit_try_, __LINE__), declaration, expression)
#define ISOBIT_TRY_(name, declaration, expression)                            \
  auto name = (expression);                                                   \
  if (!name) return tl::unexpected<::isobit::Error>(std::move(name).error()); \
  declaration = std::move(*name)

// ISOBIT_RETURN_IF_ERROR(f());   for a Status.
#define ISOBIT_RETURN_IF_ERROR(expression)                                                        \
  do {                                                                                            \
    auto isobit_status = (expression);                                                            \
    if (!isobit_status) return tl::unexpected<::isobit::Error>(std::move(isobit_status).error()); \
  } while (false)
