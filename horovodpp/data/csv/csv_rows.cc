// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/csv/csv_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hvd::data {
namespace {

constexpr std::int64_t kRowsPerMark = 8;
constexpr std::uint64_t kReadBytes = std::uint64_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::uint64_t start_of(InputFile& file) {
  char begin[kByteOrderMark.size()];
  if (file.bytes() < sizeof begin) return 0;
  file.read_at(0, begin, sizeof begin);
  const bool has_mark = std::string_view(begin, sizeof begin) == kByteOrderMark;
  return has_mark ? sizeof begin : 0;
}

void drop_line_end(std::string& row) {
  if (!row.empty() && row.back() == '\n') row.pop_back();
  if (!row.empty() && row.back() == '\r') row.pop_back();
}

}  // namespace

bool CsvRowScanner::take(char c) {
  if (place_ == Place::kQuoted) {
    if (c == syntax_.quote) place_ = Place::kAfterQuote;
    return false;
  }
  if (c == '\n') return std::exchange(place_, Place::kBlank) != Place::kBlank;
  if (c == '\r' && place_ == Place::kBlank) return false;
  if (c == syntax_.quote && place_ != Place::kPlain) {
    place_ = Place::kQuoted;  // A doubled quote opens again.
  } else {
    place_ = c == syntax_.delimiter ? Place::kFieldStart : Place::kPlain;
  }
  return false;
}

bool CsvRowScanner::is_plain(std::string_view bytes) const {
  return place_ != Place::kQuoted &&
         bytes.find(syntax_.quote) == std::string_view::npos;
}

CsvRows::CsvRows(InputFile& file, const CsvSyntax& syntax)
    : file_(file), syntax_(syntax), scanner_(syntax) {
  std::uint64_t place = start_of(file);
  next_row_ = {.place = place, .line = line_};
  std::string bytes;
  while (place < file.bytes()) {
    bytes.resize(
        static_cast<std::size_t>(std::min(kReadBytes, file.bytes() - place)));
    file.read_at(place, bytes.data(), bytes.size());
    scan(bytes, place);
    place += bytes.size();
  }
  if (scanner_.place() == CsvRowScanner::Place::kQuoted) {
    file.fail(absl::DataLossError(
        absl::StrCat("line ", next_row_.line,
                     ": a quoted field of this row has no closing quote")));
  }
  if (scanner_.place() != CsvRowScanner::Place::kBlank) end_row(file.bytes());
  marks_.push_back({.place = file.bytes(), .line = line_});
}

void CsvRows::end_row(std::uint64_t next_place) {
  if (count_ % kRowsPerMark == 0) marks_.push_back(next_row_);
  ++count_;
  next_row_.place = next_place;
}

// Without quotes, only line ends need a look.
void CsvRows::scan(std::string_view bytes, std::uint64_t place) {
  std::size_t at = 0;
  const bool is_plain = scanner_.is_plain(bytes);
  while (at < bytes.size()) {
    if (is_plain && scanner_.place() != CsvRowScanner::Place::kBlank) {
      at = std::min(bytes.find('\n', at), bytes.size() - 1);
    }
    const bool was_blank = scanner_.place() == CsvRowScanner::Place::kBlank;
    if (was_blank) {
      next_row_ = {.place = place + at, .line = line_};
    }
    const char c = bytes[at++];
    const bool ends_row = scanner_.take(c);
    line_ += c == '\n';
    if (ends_row) end_row(place + at);
  }
}

const CsvRow& CsvRows::read(std::int64_t index, Block& block) const {
  const std::int64_t first = index / kRowsPerMark * kRowsPerMark;
  if (block.first != first) {
    const auto mark = static_cast<std::size_t>(index / kRowsPerMark);
    const std::uint64_t begin = marks_[mark].place;
    std::string bytes(static_cast<std::size_t>(marks_[mark + 1].place - begin),
                      '\0');
    file_.read_at(begin, bytes.data(), bytes.size());
    block = {.first = first};
    CsvRowScanner scanner(syntax_);
    CsvRow row;
    std::int64_t line = marks_[mark].line;
    for (const char c : bytes) {
      if (row.text.empty()) row.line = line;
      row.text += c;
      line += c == '\n';
      const bool ends_row = scanner.take(c);
      if (!ends_row && scanner.place() != CsvRowScanner::Place::kBlank)
        continue;
      if (ends_row) {
        drop_line_end(row.text);
        block.rows.push_back(std::move(row));
      }
      row = {};
    }
    drop_line_end(row.text);
    if (!row.text.empty()) block.rows.push_back(std::move(row));
  }
  const auto place = static_cast<std::size_t>(index - first);
  if (place >= block.rows.size()) {
    file_.fail(absl::DataLossError("it has changed while it was read"));
  }
  return block.rows[place];
}

}  // namespace hvd::data
