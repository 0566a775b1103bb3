// SPDX-License-Identifier: Apache-2.0
// A Value is a JSON value, or bytes: null, a bool, an integer, a number, a
// text, bytes, an array or an object. Ranks can send Values to each other:
//
//   hvd::Value report = hvd::Value::Object{
//       {"step", 100}, {"losses", hvd::Value::Array{0.5, 0.25}}, {"name", "gpt"}};
//   for (const hvd::Value& each : hvd::allgather_object(report)) {
//     total += each.at("step").as_int();
//   }
//
// Received bytes are decoded as data, within limits, and never executed. Bytes
// that are not a Value are an error.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace replica {

class Value {
 public:
  struct Bytes {
    std::string data;
    bool operator==(const Bytes& other) const { return data == other.data; }
  };
  using Array = std::vector<Value>;
  using Object = std::map<std::string, Value>;

  Value() = default;                                     // Null.
  Value(std::nullptr_t) {}                               // NOLINT
  Value(double number) : held_(number) {}                // NOLINT
  Value(std::string text) : held_(std::move(text)) {}    // NOLINT
  Value(const char* text) : held_(std::string(text)) {}  // NOLINT
  Value(Bytes bytes) : held_(std::move(bytes)) {}        // NOLINT
  Value(Array array) : held_(std::move(array)) {}        // NOLINT
  Value(Object object) : held_(std::move(object)) {}     // NOLINT
  // bool, or an integer that int64 holds: not std::uint64_t.
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> &&
                                 (std::is_signed_v<T> || sizeof(T) < 8 ||
                                  std::is_same_v<T, bool>),
                             int> = 0>
  Value(T number) {  // NOLINT
    if constexpr (std::is_same_v<T, bool>) {
      held_ = number;
    } else {
      held_ = static_cast<std::int64_t>(number);
    }
  }

  bool is_null() const { return is<std::monostate>(); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(held_);
  }

  //   InvalidArgument  it is of another kind; says which. as_double() takes
  //                    integers, too
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const std::string& as_bytes() const;
  const Array& as_array() const;
  const Object& as_object() const;
  //   InvalidArgument  it is not an object, or has no such key; not an array,
  //                    or has no such index
  const Value& at(const std::string& key) const;
  const Value& at(std::size_t place) const;

  bool operator==(const Value& other) const { return held_ == other.held_; }
  bool operator!=(const Value& other) const { return !(*this == other); }

  // "null", "bool", "int64", …
  const char* kind() const;

 private:
  template <typename T>
  const T& get(const char* wanted) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Bytes,
               Array, Object>
      held_;
};

// Values beyond these limits are neither written nor read.
struct ValueLimits {
  int depth = 64;  // Nesting of arrays and objects.
  std::uint64_t bytes = std::uint64_t{1} << 30;  // The size of the encoding.
};

// The encoding, the same on all machines.
//   InvalidArgument  it exceeds the limits
std::string encoded(const Value& value, const ValueLimits& limits = {});
// The Value that `bytes` encode. It takes memory in proportion to them.
//   InvalidArgument  they are not a Value, or exceed the limits; says where
Value decoded(const std::string& bytes, const ValueLimits& limits = {});

}  // namespace replica
}  // namespace hvd

namespace HVD_EXPORT hvd {
using replica::Value;
}  // namespace hvd
