// SPDX-License-Identifier: Apache-2.0
// The encoding is a version, then the value. A value is a tag and its content:
// numbers in 8 bytes, the lowest first; texts, bytes, arrays and objects as
// their length and parts.
#include "horovodpp/replica/value.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::replica {
namespace {

constexpr char kVersion = 1;

enum Tag : char {
  kNull,
  kFalse,
  kTrue,
  kInt,
  kDouble,
  kString,
  kBytes,
  kArray,
  kObject,
};

class Writer {
 public:
  explicit Writer(const ValueLimits& limits) : limits_(limits) {
    bytes_.push_back(kVersion);
  }
  std::string take() { return std::move(bytes_); }

  void write(const Value& value, int depth) {
    if (depth > limits_.depth) {
      throw InvalidArgument(
          absl::StrCat("a value is nested more than ", limits_.depth, " deep"));
    }
    if (value.is_null()) {
      tag(kNull);
    } else if (value.is<bool>()) {
      tag(value.as_bool() ? kTrue : kFalse);
    } else if (value.is<std::int64_t>()) {
      tag(kInt);
      number(static_cast<std::uint64_t>(value.as_int()));
    } else if (value.is<double>()) {
      tag(kDouble);
      const double held = value.as_double();
      std::uint64_t bits = 0;
      std::memcpy(&bits, &held, sizeof bits);
      number(bits);
    } else if (value.is<std::string>()) {
      tag(kString);
      text(value.as_string());
    } else if (value.is<Value::Bytes>()) {
      tag(kBytes);
      text(value.as_bytes());
    } else if (value.is<Value::Array>()) {
      tag(kArray);
      number(value.as_array().size());
      for (const Value& each : value.as_array()) write(each, depth + 1);
    } else {
      tag(kObject);
      number(value.as_object().size());
      for (const auto& [key, each] : value.as_object()) {
        text(key);
        write(each, depth + 1);
      }
    }
  }

 private:
  void tag(Tag tag) { append(&tag, 1); }
  void number(std::uint64_t number) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) {
      bytes[i] = static_cast<char>(number >> (8 * i));
    }
    append(bytes, sizeof bytes);
  }
  void text(const std::string& text) {
    number(text.size());
    append(text.data(), text.size());
  }
  void append(const void* from, std::size_t count) {
    if (count > limits_.bytes || bytes_.size() > limits_.bytes - count) {
      throw InvalidArgument(
          absl::StrCat("a value takes more than ", limits_.bytes, " bytes"));
    }
    bytes_.append(static_cast<const char*>(from), count);
  }

  const ValueLimits limits_;
  std::string bytes_;
};

class Reader {
 public:
  Reader(const std::string& bytes, const ValueLimits& limits)
      : bytes_(bytes), limits_(limits) {}

  Value read_all() {
    if (bytes_.size() > limits_.bytes) {
      refuse(absl::StrCat("are more than ", limits_.bytes));
    }
    if (left() == 0 || bytes_[at_++] != kVersion) {
      refuse("begin with another version, or with none");
    }
    Value value = read(0);
    if (left() > 0) refuse("go on after it");
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidArgument(absl::StrCat("bytes that are no value: at ", at_,
                                       " of ", bytes_.size(), " they ", why));
  }
  std::size_t left() const { return bytes_.size() - at_; }

  Value read(int depth) {
    if (depth > limits_.depth) {
      refuse(absl::StrCat("are nested more than ", limits_.depth, " deep"));
    }
    if (left() == 0) refuse("end");
    switch (bytes_[at_++]) {
      case kNull:
        return {};
      case kFalse:
        return false;
      case kTrue:
        return true;
      case kInt:
        return static_cast<std::int64_t>(number());
      case kDouble: {
        const std::uint64_t bits = number();
        double held = 0;
        std::memcpy(&held, &bits, sizeof held);
        return held;
      }
      case kString:
        return text();
      case kBytes:
        return Value::Bytes{text()};
      case kArray:
        return array(depth);
      case kObject:
        return object(depth);
      default:
        refuse("have an unknown tag");
    }
  }

  std::uint64_t number() {
    if (left() < 8) refuse("end within a number");
    std::uint64_t result = 0;
    for (int i = 0; i < 8; ++i) {
      result |= std::uint64_t{static_cast<unsigned char>(bytes_[at_++])}
                << (8 * i);
    }
    return result;
  }
  // A number of parts, each of which takes at least `least` bytes.
  std::size_t length(std::size_t least) {
    const std::uint64_t result = number();
    if (result > left() / least) refuse("announce more than is left of them");
    return static_cast<std::size_t>(result);
  }
  std::string text() {
    const std::size_t count = length(1);
    std::string result = bytes_.substr(at_, count);
    at_ += count;
    return result;
  }
  // Reserve nothing: an element takes more memory than its one byte.
  Value array(int depth) {
    Value::Array result;
    const std::size_t count = length(1);
    for (std::size_t i = 0; i < count; ++i) result.push_back(read(depth + 1));
    return result;
  }
  Value object(int depth) {
    Value::Object result;
    const std::size_t count = length(9);
    for (std::size_t i = 0; i < count; ++i) {
      std::string key = text();
      if (result.count(key) > 0) {
        refuse(absl::StrCat("have the key '", key, "' twice"));
      }
      Value value = read(depth + 1);
      result.emplace(std::move(key), std::move(value));
    }
    return result;
  }

  const std::string& bytes_;
  const ValueLimits limits_;
  std::size_t at_ = 0;
};

}  // namespace

template <typename T>
const T& Value::get(const char* wanted) const {
  if (const T* held = std::get_if<T>(&held_)) return *held;
  throw InvalidArgument(
      absl::StrCat("a value is ", kind(), ", and not ", wanted));
}

const char* Value::kind() const {
  static constexpr const char* kNames[] = {
      "null", "bool", "int64", "double", "string", "bytes", "array", "object"};
  return kNames[held_.index()];
}

bool Value::as_bool() const { return get<bool>("bool"); }
std::int64_t Value::as_int() const { return get<std::int64_t>("int64"); }
double Value::as_double() const {
  if (is<std::int64_t>()) return static_cast<double>(as_int());
  return get<double>("double");
}
const std::string& Value::as_string() const {
  return get<std::string>("string");
}
const std::string& Value::as_bytes() const { return get<Bytes>("bytes").data; }
const Value::Array& Value::as_array() const { return get<Array>("array"); }
const Value::Object& Value::as_object() const { return get<Object>("object"); }

const Value& Value::at(const std::string& key) const {
  const Object& all = as_object();
  const auto found = all.find(key);
  if (found != all.end()) return found->second;
  throw InvalidArgument(absl::StrCat("an object has no key '", key, "'"));
}

const Value& Value::at(std::size_t place) const {
  const Array& all = as_array();
  if (place < all.size()) return all[place];
  throw InvalidArgument(
      absl::StrCat("an array of ", all.size(), " has no place ", place));
}

std::string encoded(const Value& value, const ValueLimits& limits) {
  Writer writer(limits);
  writer.write(value, 0);
  return writer.take();
}

Value decoded(const std::string& bytes, const ValueLimits& limits) {
  return Reader(bytes, limits).read_all();
}

}  // namespace hvd::replica
