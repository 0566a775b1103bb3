// How failures travel. The communication tower returns absl::Status and
// absl::StatusOr; the autograd tower and the roof throw hvd::Error, which
// carries the Status. Everything that the library throws is an hvd::Error, but
// for std::bad_alloc where the system has no memory for something small, and
// for what functions of the program's own throw, which passes through.
//
//   HVD_ASSIGN_OR_RETURN(Segment segment, Segment::create(bytes));
//   HVD_RETURN_IF_ERROR(segment.map());
//
//   hvd::throw_if_error(hvd::init());       // where exceptions are at home
//   Buffer all = hvd::value_or_throw(hvd::allgather(rows));
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hvd {

class Error : public std::runtime_error {
 public:
  // The text becomes printable() (core/printable.h).
  explicit Error(absl::Status status);
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// An argument that no call of this kind accepts: a wrong shape, dtype, index …
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& message)
      : Error(absl::InvalidArgumentError(message)) {}
};

void throw_if_error(const absl::Status& status);

template <typename T>
T value_or_throw(absl::StatusOr<T> value) {
  throw_if_error(value.status());
  return *std::move(value);
}

// `status` with "<context>: " before its text; OK stays OK.
absl::Status annotate(const absl::Status& status, const std::string& context);

// An Internal error "<call>: <text of errno>", for a system call that just
// failed.
absl::Status errno_error(const std::string& call);

}  // namespace hvd

#define HVD_CONCAT_INNER(a, b) a##b
#define HVD_CONCAT(a, b) HVD_CONCAT_INNER(a, b)

#define HVD_RETURN_IF_ERROR(expression)                           \
  do {                                                            \
    if (absl::Status hvd_status = (expression); !hvd_status.ok()) \
      return hvd_status;                                          \
  } while (false)

#define HVD_ASSIGN_OR_RETURN(declaration, expression)                    \
  HVD_ASSIGN_OR_RETURN_INNER(HVD_CONCAT(hvd_or_, __LINE__), declaration, \
                             expression)
#define HVD_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = *std::move(result)
