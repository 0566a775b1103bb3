// SPDX-License-Identifier: Apache-2.0
// The places of the rows of a CSV file.
//
//   CsvRows rows(file, {.delimiter = ';'});
//   CsvRow row = rows.read(12345);   // Its text, and its line.
//
// One pass through the file finds the rows; every eighth place is kept, in two
// bytes a row. Any thread may read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/core/system/input_file.h"
#include "horovodpp/data/csv/csv_fields.h"

namespace hvd::data {

// Finds rows in bytes that come in pieces.
class CsvRowScanner {
 public:
  // Whether a row is complete, continues, or has not begun.
  enum class Place { kBlank, kFieldStart, kPlain, kQuoted, kAfterQuote };

  explicit CsvRowScanner(const CsvSyntax& syntax) : syntax_(syntax) {}

  // Takes the next byte. Returns whether it ends a row; empty lines end none.
  bool take(char c);
  // Whether `bytes` can be taken as lines without quotes.
  bool is_plain(std::string_view bytes) const;

  Place place() const { return place_; }

 private:
  const CsvSyntax syntax_;
  Place place_ = Place::kBlank;
};

struct CsvRow {
  std::string text;       // Without its line end.
  std::int64_t line = 0;  // Of its start; the first is 1.
};

class CsvRows {
 public:
  // Reads the file once. `file` outlives this.
  //   hvd::Error  names the file: it cannot be read, or a quoted field has no
  //               end (DataLoss)
  CsvRows(InputFile& file, const CsvSyntax& syntax);

  std::int64_t size() const { return count_; }

  // Rows that lie next to each other, to be read at once.
  struct Block {
    std::int64_t first = -1;
    std::vector<CsvRow> rows = {};
  };
  // Row `index`, below size(), from `block`, which is read anew if it lacks the
  // row.
  //   hvd::Error  names the file, which has changed or cannot be read
  const CsvRow& read(std::int64_t index, Block& block) const;

 private:
  struct Mark {
    std::uint64_t place = 0;
    std::int64_t line = 0;
  };

  void scan(std::string_view bytes, std::uint64_t place);
  void end_row(std::uint64_t next_place);

  InputFile& file_;
  const CsvSyntax syntax_;
  CsvRowScanner scanner_;
  std::vector<Mark> marks_;
  Mark next_row_;          // While scanning: where the next row may begin.
  std::int64_t line_ = 1;  // While scanning.
  std::int64_t count_ = 0;
};

}  // namespace hvd::data
