// SPDX-License-Identifier: Apache-2.0
// A CsvFile is a data set of the rows of a CSV file of numbers (RFC 4180).
//
//   hvd::data::CsvFile houses("houses.csv", {
//       .tensors = {{.columns = {"area", "rooms"}},
//                   {.columns = {"price"}, .dtype = hvd::DType::kF64},
//                   {.columns = {"city"}, .classes = {"Bonn", "Rome"}, .scalar = true}}});
//   hvd::data::Item item = houses.get(7);   // float32[2], float64[1], int64[]
//
// The constructor reads the file once, to find the rows. Later only rows that are
// asked for are read: with a DistributedSampler, this rank's. The file may be
// larger than memory; a row costs two bytes. Do not change the file meanwhile.
// Compressed files are not read.
//
// Immutable; any thread may read.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/data/dataset.h"

namespace HVD_EXPORT hvd {
namespace data {

// A tensor of an item: the numbers of some columns.
struct CsvTensor {
  // Names of the header. Without a header: "1", "2", … Empty: all columns.
  std::vector<std::string> columns = {};
  DType dtype = DType::kF32;  // Or float64, or an integer.
  // If any, fields are these texts, and stand for int64 0, 1, … in their order.
  std::vector<std::string> classes = {};
  bool scalar = false;  // Of one column: shape [] in place of [1].
};

struct CsvOptions {
  std::vector<CsvTensor> tensors = {{}};  // Of each item.
  char delimiter = ',';
  char quote = '"';
  bool header = true;  // Whether the first row has the names of the columns.
  // Texts for a missing value, and the number in its place. Without one a
  // missing value is an error.
  std::vector<std::string> missing = {"",     "NA",   "N/A",  "NaN", "nan",
                                      "null", "NULL", "None", "?"};
  std::optional<double> missing_value = std::nullopt;
};

class CsvFile : public Dataset {
 public:
  //   InvalidArgument  an option is invalid, or a column is not in the file
  //   hvd::Error       the file cannot be read, has no rows, or a quoted field
  //                    has no end; names the file, as do all below
  explicit CsvFile(const std::string& path, const CsvOptions& options = {});
  ~CsvFile() override;

  std::int64_t size() const override;  // Rows, without the header.
  const std::vector<std::string>& column_names() const;

  Item get(std::int64_t index) const override;
  // Reads neighboring rows at once.
  //   InvalidArgument        no such row
  //   hvd::Error (DataLoss)  a field is no number of its dtype, or a row has
  //                          more or fewer fields than the first; names line and
  //                          column
  Batch get_batch(std::span<const std::int64_t> indices) const override;

 private:
  class File;
  std::unique_ptr<const File> file_;
};

}  // namespace data
}  // namespace hvd
