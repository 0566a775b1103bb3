// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/csv/csv_fields.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace hvd::data {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

// Takes the quoted field at the start of `rest`, with its quotes.
absl::StatusOr<CsvField> take_quoted(std::string_view& rest,
                                     const CsvSyntax& syntax) {
  CsvField field;
  std::size_t at = 1;
  while (true) {
    at = rest.find(syntax.quote, at);
    if (at == std::string_view::npos) {
      return absl::InvalidArgumentError("a quoted field has no closing quote");
    }
    if (at + 1 == rest.size() || rest[at + 1] != syntax.quote) break;
    field.is_escaped = true;
    at += 2;
  }
  field.text = rest.substr(1, at - 1);
  rest.remove_prefix(at + 1);
  if (!rest.empty() && rest.front() != syntax.delimiter) {
    return absl::InvalidArgumentError(
        "text follows a closing quote; double the quotes within a field");
  }
  return field;
}

CsvField take_plain(std::string_view& rest, const CsvSyntax& syntax) {
  const std::string_view text = rest.substr(0, rest.find(syntax.delimiter));
  rest.remove_prefix(text.size());
  return {.text = without_blanks(text)};
}

}  // namespace

absl::StatusOr<std::vector<CsvField>> split_csv_row(std::string_view row,
                                                    const CsvSyntax& syntax) {
  std::vector<CsvField> fields;
  while (true) {
    if (row.empty() || row.front() != syntax.quote) {
      fields.push_back(take_plain(row, syntax));
    } else {
      auto field = take_quoted(row, syntax);
      if (!field.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "column ", fields.size() + 1, ": ", field.status().message()));
      }
      fields.push_back(*field);
    }
    if (row.empty()) return fields;
    row.remove_prefix(1);  // The delimiter; a field follows.
  }
}

std::string unescaped(const CsvField& field, const CsvSyntax& syntax) {
  std::string text;
  for (std::size_t i = 0; i < field.text.size(); ++i) {
    text += field.text[i];
    if (field.is_escaped && field.text[i] == syntax.quote) ++i;
  }
  return text;
}

}  // namespace hvd::data
