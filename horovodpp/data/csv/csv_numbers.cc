// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/csv/csv_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>

#include "absl/strings/charconv.h"
#include "absl/strings/str_cat.h"

namespace hvd::data {
namespace {

constexpr std::size_t kShownBytes = 40;

std::string shown(std::string_view text) {
  const bool is_long = text.size() > kShownBytes;
  return absl::StrCat("'", std::string(text.substr(0, kShownBytes)),
                      is_long ? "…'" : "'");
}

// A parsed number; of an integer dtype, an integer in its range.
template <typename T>
std::errc parse(std::string_view text, T& number) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') {
    text.remove_prefix(1);
  }
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if constexpr (std::is_floating_point_v<T>) {
    // A number that is too small for T is the nearest, which may be 0.
    if (result.ec == std::errc::result_out_of_range) {
      absl::from_chars(text.data(), end, number);
      if (std::abs(number) > T(1)) return result.ec;
      return result.ptr == end ? std::errc() : std::errc::invalid_argument;
    }
  }
  if (result.ec != std::errc()) return result.ec;
  return result.ptr == end ? std::errc() : std::errc::invalid_argument;
}

template <typename T>
bool fits(double value) {
  if constexpr (std::is_integral_v<T>) {
    // The bounds of 64 bits are no doubles; the upper one rounds up.
    return value == std::nearbyint(value) &&
           value >= static_cast<double>(std::numeric_limits<T>::min()) &&
           value < static_cast<double>(std::numeric_limits<T>::max()) + 1.0;
  } else {
    return !std::isfinite(value) || std::isfinite(static_cast<T>(value));
  }
}

template <typename T>
absl::Status put(std::string_view text, const CsvValues& values,
                 const char* dtype, std::byte* to) {
  T number{};
  if (std::find(values.missing.begin(), values.missing.end(), text) !=
      values.missing.end()) {
    if (!values.missing_value) {
      return absl::InvalidArgumentError(absl::StrCat(
          shown(text), " is a missing value; set CsvOptions::missing_value, ",
          "or leave the column out"));
    }
    if (!fits<T>(*values.missing_value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the missing_value ", *values.missing_value, " is no ", dtype));
    }
    number = static_cast<T>(*values.missing_value);
  } else if (const std::errc error = parse(text, number);
             error != std::errc()) {
    const bool is_far = error == std::errc::result_out_of_range;
    return absl::InvalidArgumentError(absl::StrCat(
        shown(text), is_far ? " is out of the range of " : " is no ", dtype));
  }
  std::memcpy(to, &number, sizeof number);
  return absl::OkStatus();
}

}  // namespace

bool is_csv_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
      return true;
    default:
      return false;
  }
}

absl::Status put_csv_number(std::string_view text, const CsvValues& values,
                            DType dtype, std::byte* to) {
  switch (dtype) {
    case DType::kF32:
      return put<float>(text, values, "float32", to);
    case DType::kF64:
      return put<double>(text, values, "float64", to);
    case DType::kI8:
      return put<std::int8_t>(text, values, "int8", to);
    case DType::kI16:
      return put<std::int16_t>(text, values, "int16", to);
    case DType::kI32:
      return put<std::int32_t>(text, values, "int32", to);
    case DType::kI64:
      return put<std::int64_t>(text, values, "int64", to);
    case DType::kU8:
      return put<std::uint8_t>(text, values, "uint8", to);
    default:
      return absl::InvalidArgumentError("no dtype of CSV files");
  }
}

}  // namespace hvd::data
