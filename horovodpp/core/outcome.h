// SPDX-License-Identifier: Apache-2.0
// The outcome of an operation. A Status is OK or an error; a StatusOr<T> is a T
// or an error Status.
//
//   hvd::Status status = hvd::allreduce_(grad, {.name = "fc1.weight"});
//   if (!status.ok()) std::cerr << status << '\n';
//
//   hvd::StatusOr<hvd::Buffer> rows = hvd::allgather(mine, {.name = "rows"});
//   if (rows.ok()) use(rows->data<float>());
//
// absl::Status and absl::StatusOr<T> have the same codes and convert to and
// from these types, as do similar types of other libraries. No Abseil header is
// included.
//
// Value types; copying an OK Status is free.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Must come first.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// The codes of Abseil and gRPC, with their numbers.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "FAILED_PRECONDITION" …
const char* name_of(StatusCode code);

class Status;
template <typename T>
class StatusOr;

namespace internal {

// Whether E is the code enum of another library's status.
template <typename E, typename = void>
inline constexpr bool is_other_code = false;
template <typename E>
inline constexpr bool is_other_code<
    E, std::void_t<decltype(E::kOk), decltype(E::kFailedPrecondition)>> =
    std::is_enum_v<E> && !std::is_same_v<E, StatusCode>;

// Whether S is another library's status.
template <typename S, typename = void>
inline constexpr bool is_other_status = false;
template <typename S>
inline constexpr bool is_other_status<
    S, std::void_t<decltype(std::declval<const S&>().code()),
                   decltype(std::declval<const S&>().message()),
                   decltype(bool(std::declval<const S&>().ok()))>> =
    !std::is_base_of_v<Status, S> &&
    is_other_code<std::decay_t<decltype(std::declval<const S&>().code())>>;

// For any string class.
template <typename String>
std::string_view text_of(const String& text) {
  return {text.data(), text.size()};
}

// Whether S is a StatusOr, ours or another library's.
template <typename S, typename = void>
inline constexpr bool is_status_or = false;
template <typename S>
inline constexpr bool is_status_or<
    S, std::void_t<typename S::value_type, decltype(*std::declval<const S&>()),
                   decltype(bool(std::declval<const S&>().ok())),
                   decltype(bool(std::declval<const S&>().status().ok()))>> =
    true;
template <typename S>
inline constexpr bool is_ours = false;
template <typename T>
inline constexpr bool is_ours<StatusOr<T>> = true;

}  // namespace internal

class [[nodiscard]] Status {
 public:
  // OK.
  Status() = default;
  // With the code kOk the text is dropped.
  Status(StatusCode code, std::string_view message);

  template <typename S,
            typename = std::enable_if_t<internal::is_other_status<S>>>
  Status(const S& other)  // NOLINT(google-explicit-constructor)
      : Status(other.ok() ? Status()
                          : Status(static_cast<StatusCode>(other.code()),
                                   internal::text_of(other.message()))) {}
  template <typename S,
            typename = std::enable_if_t<internal::is_other_status<S>>>
  operator S() const {  // NOLINT(google-explicit-constructor)
    using Code = std::decay_t<decltype(std::declval<const S&>().code())>;
    if (ok()) return S();
    return S(static_cast<Code>(code()), std::string(message()));
  }

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : failure_->code; }
  // Empty if OK. Valid while a copy of this status lives.
  std::string_view message() const {
    return ok() ? std::string_view() : std::string_view(failure_->message);
  }
  // "OK", "ABORTED: rank 3 …".
  std::string to_string() const;
  // Marks the outcome as deliberately ignored.
  void ignore_error() const {}
  // Abseil's names.
  std::string ToString() const { return to_string(); }
  void IgnoreError() const {}

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }
  friend bool operator!=(const Status& a, const Status& b) { return !(a == b); }
  template <typename S,
            typename = std::enable_if_t<internal::is_other_status<S>>>
  friend bool operator==(const Status& a, const S& b) {
    return a == Status(b);
  }
  template <typename Stream>
  friend auto operator<<(Stream& stream, const Status& status)
      -> decltype(stream << std::declval<std::string>()) {
    return stream << status.to_string();
  }

 private:
  struct Failure {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure_;  // nullptr: OK.
};

// Allows hvd::StatusCode::kAborted == absl::StatusCode::kAborted.
template <typename E, typename = std::enable_if_t<internal::is_other_code<E>>>
bool operator==(StatusCode a, E b) {
  return static_cast<int>(a) == static_cast<int>(b);
}

namespace internal {
// Throws hvd::Error.
[[noreturn]] void throw_status(const Status& status);
// `status`, or an Internal error if it is OK.
Status not_ok(Status status);
}  // namespace internal

template <typename T>
class [[nodiscard]] StatusOr {
 public:
  using value_type = T;

  // Unknown: neither a value nor an error.
  StatusOr() : status_(StatusCode::kUnknown, "") {}
  // An OK status becomes an Internal error.
  StatusOr(Status status)  // NOLINT(google-explicit-constructor)
      : status_(internal::not_ok(std::move(status))) {}
  template <typename S, std::enable_if_t<internal::is_other_status<S>, int> = 0>
  StatusOr(const S& status)  // NOLINT(google-explicit-constructor)
      : StatusOr(Status(status)) {}

  template <typename U = T,
            std::enable_if_t<std::is_convertible_v<U&&, T> &&
                                 !std::is_same_v<std::decay_t<U>, Status> &&
                                 !internal::is_other_status<std::decay_t<U>> &&
                                 !internal::is_status_or<std::decay_t<U>>,
                             int> = 0>
  StatusOr(U&& value)  // NOLINT(google-explicit-constructor)
      : value_(std::forward<U>(value)) {}

  template <typename S,
            std::enable_if_t<
                internal::is_status_or<std::decay_t<S>> &&
                    !std::is_same_v<std::decay_t<S>, StatusOr> &&
                    std::is_convertible_v<decltype(*std::declval<S>()), T>,
                char> = 0>
  StatusOr(S&& other) {  // NOLINT(google-explicit-constructor)
    if (other.ok()) {
      value_.emplace(*std::forward<S>(other));
    } else {
      status_ = other.status();
    }
  }
  template <typename S,
            typename = std::enable_if_t<internal::is_status_or<S> &&
                                        !internal::is_ours<S> &&
                                        std::is_constructible_v<S, const T&>>>
  operator S() const& {  // NOLINT(google-explicit-constructor)
    return ok() ? S(*value_) : S(status_);
  }
  template <typename S,
            typename = std::enable_if_t<internal::is_status_or<S> &&
                                        !internal::is_ours<S> &&
                                        std::is_constructible_v<S, T&&>>>
  operator S() && {  // NOLINT(google-explicit-constructor)
    return ok() ? S(*std::move(value_)) : S(status_);
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // The value; throws hvd::Error if there is none.
  const T& operator*() const& { return checked(), *value_; }
  T& operator*() & { return checked(), *value_; }
  T&& operator*() && { return checked(), *std::move(value_); }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }
  const T& value() const& { return **this; }
  T& value() & { return **this; }
  T&& value() && { return *std::move(*this); }

  template <typename U>
  T value_or(U&& instead) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(instead));
  }

 private:
  void checked() const {
    if (!ok()) internal::throw_status(status_);
  }

  Status status_;  // OK if there is a value.
  std::optional<T> value_;
};

// The result type of a finished operation: Status if there is no value.
template <typename T>
struct OutcomeOf {
  using type = StatusOr<T>;
};
template <>
struct OutcomeOf<void> {
  using type = Status;
};
template <typename T>
using Outcome = typename OutcomeOf<T>::type;

}  // namespace hvd
