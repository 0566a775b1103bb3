// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/csv_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/system/input_file.h"
#include "horovodpp/data/csv/csv_fields.h"
#include "horovodpp/data/csv/csv_numbers.h"
#include "horovodpp/data/csv/csv_rows.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::data {
namespace {

void check_options(const CsvOptions& options) {
  const auto is_special = [](char c) {
    return c == '\n' || c == '\r' || c == '\0';
  };
  if (options.delimiter == options.quote || is_special(options.delimiter) ||
      is_special(options.quote)) {
    throw InvalidArgument(
        "CsvFile: delimiter and quote differ, and neither ends lines");
  }
  if (options.tensors.empty()) throw InvalidArgument("CsvFile: no tensors");
  for (const CsvTensor& tensor : options.tensors) {
    if (!is_csv_dtype(tensor.dtype)) {
      throw InvalidArgument(
          "CsvFile: a dtype is none of float32, float64 and the integers");
    }
  }
}

// Where the numbers of a tensor come from.
struct Part {
  std::vector<std::size_t> columns = {};
  DType dtype = DType::kF32;
  const CsvTensor* options = nullptr;
};

}  // namespace

class CsvFile::File {
 public:
  File(const std::string& path, const CsvOptions& options)
      : options_(options),
        syntax_{.delimiter = options.delimiter, .quote = options.quote},
        values_{.missing = options.missing,
                .missing_value = options.missing_value},
        file_(path),
        rows_(file_, syntax_) {
    if (size() <= 0) file_.fail(absl::InvalidArgumentError("it has no rows"));
    read_names();
    for (const CsvTensor& tensor : options_.tensors) {
      parts_.push_back(part_of(tensor));
    }
  }

  std::int64_t size() const { return rows_.size() - first_row(); }
  const std::vector<std::string>& names() const { return names_; }

  Batch read(std::span<const std::int64_t> indices) const {
    const auto count = static_cast<std::int64_t>(indices.size());
    Batch batch;
    std::vector<std::byte*> next;
    for (const Part& part : parts_) {
      autograd::Dims shape{count};
      if (!part.options->scalar) {
        shape.push_back(static_cast<std::int64_t>(part.columns.size()));
      }
      batch.push_back(empty(shape, {.dtype = part.dtype}));
      next.push_back(static_cast<std::byte*>(batch.back().raw_data()));
    }
    CsvRows::Block block;
    for (const std::int64_t index : indices) {
      if (index < 0 || index >= size()) {
        throw InvalidArgument(
            absl::StrCat("row ", index, " of a file of ", size()));
      }
      const CsvRow& row = rows_.read(index + first_row(), block);
      const std::vector<CsvField> fields = fields_of(row);
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        put(row, fields, parts_[p], next[p]);
      }
    }
    return batch;
  }

 private:
  std::int64_t first_row() const { return options_.header ? 1 : 0; }

  [[noreturn]] void fail_at(const CsvRow& row, const std::string& why) const {
    file_.fail(absl::DataLossError(absl::StrCat("line ", row.line, ", ", why)));
  }

  std::vector<CsvField> fields_of(const CsvRow& row) const {
    auto fields = split_csv_row(row.text, syntax_);
    if (!fields.ok()) fail_at(row, std::string(fields.status().message()));
    if (!names_.empty() && fields->size() != names_.size()) {
      fail_at(row, absl::StrCat("a row of ", fields->size(),
                                " fields; the first row has ", names_.size()));
    }
    return *std::move(fields);
  }

  void read_names() {
    CsvRows::Block block;
    const auto fields = fields_of(rows_.read(0, block));
    for (std::size_t i = 0; i < fields.size(); ++i) {
      names_.push_back(options_.header ? unescaped(fields[i], syntax_)
                                       : std::to_string(i + 1));
    }
  }

  std::size_t column_of(const std::string& name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      file_.fail(absl::InvalidArgumentError(
          absl::StrCat("there is no column '", name, "' among '",
                       absl::StrJoin(names_, "', '"), "'")));
    }
    if (std::find(found + 1, names_.end(), name) != names_.end()) {
      file_.fail(absl::InvalidArgumentError(
          absl::StrCat("two columns have the name '", name, "'")));
    }
    return static_cast<std::size_t>(found - names_.begin());
  }

  Part part_of(const CsvTensor& tensor) const {
    Part part{.dtype = tensor.classes.empty() ? tensor.dtype : DType::kI64,
              .options = &tensor};
    for (const std::string& name : tensor.columns) {
      part.columns.push_back(column_of(name));
    }
    for (std::size_t i = 0; tensor.columns.empty() && i < names_.size(); ++i) {
      part.columns.push_back(i);
    }
    if (tensor.scalar && part.columns.size() != 1) {
      file_.fail(absl::InvalidArgumentError(absl::StrCat(
          "a scalar of ", part.columns.size(), " columns; there must be one")));
    }
    return part;
  }

  // The number of the class; -1: none.
  std::int64_t class_of(const CsvField& field,
                        const std::vector<std::string>& classes) const {
    const auto found =
        std::find(classes.begin(), classes.end(), unescaped(field, syntax_));
    return found == classes.end() ? -1 : found - classes.begin();
  }

  absl::Status put_field(const CsvField& field, const Part& part,
                         std::byte* to) const {
    if (part.options->classes.empty()) {
      return put_csv_number(field.text, values_, part.dtype, to);
    }
    const std::int64_t label = class_of(field, part.options->classes);
    if (label < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", unescaped(field, syntax_), "' is none of ",
                       part.options->classes.size(), " classes"));
    }
    std::memcpy(to, &label, sizeof label);
    return absl::OkStatus();
  }

  // Writes the row's numbers of a part, and moves `next` behind them.
  void put(const CsvRow& row, const std::vector<CsvField>& fields,
           const Part& part, std::byte*& next) const {
    for (const std::size_t column : part.columns) {
      const absl::Status status = put_field(fields[column], part, next);
      if (!status.ok()) {
        fail_at(row, absl::StrCat("column ", column + 1, " ('", names_[column],
                                  "'): ", status.message()));
      }
      next += size_of(part.dtype);
    }
  }

  const CsvOptions options_;
  const CsvSyntax syntax_;
  const CsvValues values_;
  InputFile file_;  // Threads read at places of their own.
  const CsvRows rows_;
  std::vector<std::string> names_;
  std::vector<Part> parts_;
};

CsvFile::CsvFile(const std::string& path, const CsvOptions& options) {
  check_options(options);
  file_ = std::make_unique<const File>(path, options);
}

CsvFile::~CsvFile() = default;

std::int64_t CsvFile::size() const { return file_->size(); }

const std::vector<std::string>& CsvFile::column_names() const {
  return file_->names();
}

Item CsvFile::get(std::int64_t index) const {
  Item item;
  for (const Tensor& tensor : get_batch(std::span(&index, 1))) {
    item.push_back(tensor.select(0, 0));
  }
  return item;
}

Batch CsvFile::get_batch(std::span<const std::int64_t> indices) const {
  return file_->read(indices);
}

}  // namespace hvd::data
