// SPDX-License-Identifier: Apache-2.0
// A Value is what JSON has, and bytes: nothing, a truth value, an integer, a number,
// a text, bytes, an array or an object. Ranks send them to each other:
//
//   hvd::Value report = hvd::Value::Object{
//       {"step", 100}, {"losses", hvd::Value::Array{0.5, 0.25}}, {"name", "gpt"}};
//   for (const hvd::Value& each : hvd::allgather_object(report)) {
//     total += each.at("step").as_int();
//   }
//
// What is received is read as data, within limits, and never executed; bytes that are
// no Value are an error.
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
  // bool, or an integer that int64 holds: no std::uint64_t.
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

  //   InvalidArgument  it is something else; says what. as_double() takes integers,
  //                    too
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const std::string& as_bytes() const;
  const Array& as_array() const;
  const Object& as_object() const;
  //   InvalidArgument  it is no object, or has no such key; no array, or no such
  //                    place
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

// Beyond these a Value is neither written nor read.
struct ValueLimits {
  int depth = 64;                                // Of arrays and objects.
  std::uint64_t bytes = std::uint64_t{1} << 30;  // Of all that is written.
};

// As bytes, the same on all machines.
//   InvalidArgument  it is beyond the limits
std::string encoded(const Value& value, const ValueLimits& limits = {});
// The Value that `bytes` say. It takes memory in proportion to them.
//   InvalidArgument  they are no Value, or beyond the limits; says where
Value decoded(const std::string& bytes, const ValueLimits& limits = {});

}  // namespace replica
}  // namespace hvd

namespace HVD_EXPORT hvd {
using replica::Value;
}  // namespace hvd
