// SPDX-License-Identifier: Apache-2.0
// The fields of one row of a CSV file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::data {

struct CsvSyntax {
  char delimiter = ',';
  char quote = '"';
};

struct CsvField {
  std::string_view text;    // Within the quotes, if any; without outer blanks
                            // otherwise.
  bool is_escaped = false;  // `text` has doubled quotes.
};

// The fields of `row`, which has no line end. They refer to its memory.
//   InvalidArgument  text follows a closing quote, or a quote is not closed;
//                    names the column
absl::StatusOr<std::vector<CsvField>> split_csv_row(std::string_view row,
                                                    const CsvSyntax& syntax);

// The field's text, in which each doubled quote becomes one quote.
std::string unescaped(const CsvField& field, const CsvSyntax& syntax);

}  // namespace hvd::data
