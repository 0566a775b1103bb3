// SPDX-License-Identifier: Apache-2.0
// Numbers of the fields of a CSV file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/dtype.h"

namespace hvd::data {

// float32, float64, and the integers.
bool is_csv_dtype(DType dtype);

// Texts that a field may hold in place of a number.
struct CsvValues {
  std::vector<std::string> missing;     // Texts for a missing value.
  std::optional<double> missing_value;  // The number in its place, if any.
};

// Writes the number in `text` to `to`, of `dtype`.
//   InvalidArgument  it is no number of the dtype, or missing without a
//                    missing_value; says what it is
absl::Status put_csv_number(std::string_view text, const CsvValues& values,
                            DType dtype, std::byte* to);

}  // namespace hvd::data
