// SPDX-License-Identifier: Apache-2.0
// CsvRows finds and reads the rows of a CSV file.
//
//   CsvRows rows(file, {.delimiter = ';'});
//   CsvRow row = rows.read(12345);   // Its text, and its line.
//
// One pass through the file finds the rows. It keeps the offset of every eighth
// row, which costs two bytes per row. Any thread may read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "horovodpp/core/system/input_file.h"
#include "horovodpp/data/csv/csv_fields.h"

namespace hvd::data {

// Finds the ends of rows in a stream of bytes.
class CsvRowScanner {
 public:
  // Where in a row the next byte lies.
  enum class Place { kBlank, kFieldStart, kPlain, kQuoted, kAfterQuote };

  explicit CsvRowScanner(const CsvSyntax& syntax) : syntax_(syntax) {}

  // Takes the next byte. Returns whether it ends a row; empty lines end none.
  bool take(char c);
  // Whether every line end in `bytes` ends a row, as `bytes` has no quotes.
  bool is_plain(std::string_view bytes) const;

  Place place() const { return place_; }

 private:
  const CsvSyntax syntax_;
  Place place_ = Place::kBlank;
};

struct CsvRow {
  std::string text;       // Without its line end.
  std::int64_t line = 0;  // The number of its first line, from 1.
};

class CsvRows {
 public:
  // Reads the file once. `file` outlives this.
  //   hvd::Error  names the file: it cannot be read, or a quoted field has no
  //               end (DataLoss)
  CsvRows(InputFile& file, const CsvSyntax& syntax);

  std::int64_t size() const { return count_; }

  // Adjacent rows, which are read at once.
  struct Block {
    std::int64_t first = -1;
    std::vector<CsvRow> rows = {};
  };
  // Row `index`, below size(). If `block` lacks the row, reads the block that
  // has it.
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
