// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/csv_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/data/data_loader.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using autograd::Dims;
using testing::ElementsAre;
using testing::HasSubstr;

class CsvFiles : public testing::Test {
 protected:
  CsvFile open(const std::string& text, const CsvOptions& options = {}) {
    std::ofstream(path_, std::ios::binary) << text;
    return CsvFile(path_, options);
  }
  std::vector<float> row(const CsvFile& file, std::int64_t index) {
    return file.get(index)[0].to_vector<float>();
  }
  // The message for the rows of a file.
  std::string complaint(const std::string& text,
                        const CsvOptions& options = {}) {
    const Status status = error_of([&] {
      const CsvFile file = open(text, options);
      for (std::int64_t i = 0; i < file.size(); ++i) file.get(i);
    });
    EXPECT_THAT(status.message(), HasSubstr(path_));
    return std::string(status.message());
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.path("file.csv");
};

TEST_F(CsvFiles, RowsAreNumbers) {
  const CsvFile file = open("a,b\n1,2.5\n-3e2, +4 \n");
  EXPECT_EQ(file.size(), 2);
  EXPECT_THAT(file.column_names(), ElementsAre("a", "b"));
  EXPECT_THAT(row(file, 0), ElementsAre(1, 2.5));
  EXPECT_THAT(row(file, 1), ElementsAre(-300, 4));
}

TEST_F(CsvFiles, NumbersTooSmallForTheDtypeAreRounded) {
  const CsvFile file = open("a,b,c\n1e-46,-1e-400,1e-40\n");
  EXPECT_THAT(row(file, 0), ElementsAre(0, -0.0f, 1e-40f));
  EXPECT_THAT(complaint("a\n1e39\n"), HasSubstr("out of the range"));
  EXPECT_THAT(complaint("a\n1e-46x\n"), HasSubstr("is no float32"));
}

// Windows' line ends, a byte order mark, empty lines, no line end at the end.
TEST_F(CsvFiles, EndsOfLinesMayDiffer) {
  const CsvFile file = open(
      "\xEF\xBB\xBF"
      "a,b\r\n\r\n1,2\r\n\n\n3,4\n\"5\",\"6\"");
  EXPECT_EQ(file.size(), 3);
  EXPECT_EQ(file.column_names()[0], "a");
  EXPECT_THAT(row(file, 0), ElementsAre(1, 2));
  EXPECT_THAT(row(file, 1), ElementsAre(3, 4));
  EXPECT_THAT(row(file, 2), ElementsAre(5, 6));
}

TEST_F(CsvFiles, QuotedFieldsMayHoldAnything) {
  const CsvFile file = open(
      "\"a, \"\"x\"\"\",\"b\nc\",n\n\"1\",\"q,\n\"\"\",3\n5,it's \"so\",6\n",
      {.tensors = {{.columns = {"a, \"x\"", "n"}}}});
  EXPECT_THAT(file.column_names(), ElementsAre("a, \"x\"", "b\nc", "n"));
  EXPECT_EQ(file.size(), 2);
  EXPECT_THAT(row(file, 0), ElementsAre(1, 3));
  EXPECT_THAT(row(file, 1), ElementsAre(5, 6));
}

TEST_F(CsvFiles, TensorsHaveColumnsAndDtypes) {
  const CsvFile file =
      open("x;y;label;kind\n0.1;7;2;dog\n0.2;8;0;cat\n",
           {.tensors = {{.columns = {"y", "x"}, .dtype = DType::kF64},
                        {.columns = {"label"}, .dtype = DType::kU8},
                        {.columns = {"kind"},
                         .classes = {"cat", "dog"},
                         .scalar = true}},
            .delimiter = ';'});
  const std::vector<std::int64_t> both = {1, 0};
  const Batch batch = file.get_batch(both);
  EXPECT_EQ(batch[0].shape(), (Dims{2, 2}));
  EXPECT_THAT(batch[0].to_vector<double>(), ElementsAre(8, 0.2, 7, 0.1));
  EXPECT_EQ(batch[1].shape(), (Dims{2, 1}));
  EXPECT_THAT(batch[1].to_vector<std::uint8_t>(), ElementsAre(0, 2));
  EXPECT_EQ(batch[2].shape(), (Dims{2}));
  EXPECT_THAT(batch[2].to_vector<std::int64_t>(), ElementsAre(0, 1));
  EXPECT_EQ(file.get(0)[2].shape(), Dims{});
}

TEST_F(CsvFiles, MayHaveNoHeader) {
  const CsvFile file = open(
      "1\t2\n3\t4\n",
      {.tensors = {{.columns = {"2"}}}, .delimiter = '\t', .header = false});
  EXPECT_EQ(file.size(), 2);
  EXPECT_THAT(row(file, 1), ElementsAre(4));
}

TEST_F(CsvFiles, MissingValuesAreErrorsOrANumber) {
  const std::string text = "a,b\n1,\nNA,4\n";
  EXPECT_THAT(complaint(text),
              HasSubstr("line 2, column 2 ('b'): '' is a missing value"));
  const CsvFile file = open(text, {.missing_value = -1});
  EXPECT_THAT(row(file, 0), ElementsAre(1, -1));
  EXPECT_THAT(row(file, 1), ElementsAre(-1, 4));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(row(open(text, {.missing_value = nan}), 0)[1]));
  EXPECT_THAT(complaint(text, {.tensors = {{.dtype = DType::kI32}},
                               .missing_value = nan}),
              HasSubstr("the missing_value nan is no int32"));
}

TEST_F(CsvFiles, ErrorsNameLineAndColumn) {
  EXPECT_THAT(complaint("a,b\n\"1\n\",2\n"),
              HasSubstr("line 2, column 1 ('a')"));
  EXPECT_THAT(complaint("a,b\n\n1,2\n3,x4\n"),
              HasSubstr("line 4, column 2 ('b'): 'x4' is no float32"));
  EXPECT_THAT(complaint("a,b\n1,2\n3\n"),
              HasSubstr("line 3, a row of 1 fields; the first row has 2"));
  EXPECT_THAT(complaint("a,b\n1,\"2\"x\n"),
              HasSubstr("line 2, column 2: text follows a closing quote"));
  EXPECT_THAT(complaint("a\n1\n\"2\n3\n"),
              HasSubstr("line 3: a quoted field of this row has no closing"));
  EXPECT_THAT(complaint("a\n1e39\n"), HasSubstr("out of the range of float32"));
  EXPECT_THAT(complaint("a\n300\n", {.tensors = {{.dtype = DType::kU8}}}),
              HasSubstr("out of the range of uint8"));
  EXPECT_THAT(complaint("a\n1.5\n", {.tensors = {{.dtype = DType::kI64}}}),
              HasSubstr("'1.5' is no int64"));
  EXPECT_THAT(complaint("a\ncow\n", {.tensors = {{.classes = {"cat"}}}}),
              HasSubstr("'cow' is none of 1 classes"));
}

TEST_F(CsvFiles, WrongOptionsAreErrors) {
  EXPECT_THAT(complaint("a,b\n1,2\n", {.tensors = {{.columns = {"c"}}}}),
              HasSubstr("there is no column 'c' among 'a', 'b'"));
  EXPECT_THAT(complaint("a,a\n1,2\n", {.tensors = {{.columns = {"a"}}}}),
              HasSubstr("two columns have the name 'a'"));
  EXPECT_THAT(complaint("a,b\n1,2\n", {.tensors = {{.scalar = true}}}),
              HasSubstr("a scalar of 2 columns"));
  EXPECT_THAT(complaint(""), HasSubstr("it has no rows"));
  EXPECT_THAT(complaint("a,b\n"), HasSubstr("it has no rows"));
  EXPECT_ERROR(InvalidArgument, "differ", open("a\n1\n", {.delimiter = '"'}));
  EXPECT_ERROR(InvalidArgument, "no tensors", open("a\n1\n", {.tensors = {}}));
  EXPECT_ERROR(InvalidArgument, "dtype",
               open("a\n1\n", {.tensors = {{.dtype = DType::kBool}}}));
  EXPECT_ERROR(InvalidArgument, "row 1 of a file of 1", open("a\n1\n").get(1));
  EXPECT_ERROR(Error, "/no/such.csv", CsvFile("/no/such.csv"));
}

// More than one piece is read, with and without quotes in it, and line ends at
// the edges of pieces.
TEST_F(CsvFiles, LargeFilesAreReadInPieces) {
  constexpr std::int64_t kRows = 60000;
  for (const bool quoted : {false, true}) {
    std::string text = "number,square\n";
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::string number = std::to_string(i);
      text += quoted && i % 3 == 0 ? "\"" + number + "\"" : number;
      text += "," + std::to_string(i * i) + (i % 7 == 0 ? "\r\n\n" : "\n");
    }
    const CsvFile file = open(text, {.tensors = {{.dtype = DType::kI64}}});
    ASSERT_EQ(file.size(), kRows);
    for (const std::int64_t i : {0, 1, 7, 8, 9, 20000, 59999}) {
      EXPECT_THAT(file.get(i)[0].to_vector<std::int64_t>(),
                  ElementsAre(i, i * i));
    }
  }
}

TEST_F(CsvFiles, RanksReadTheirRows) {
  std::string text = "n\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  const CsvFile file = open(text, {.tensors = {{.scalar = true}}});
  std::vector<float> all;
  for (int rank = 0; rank < 2; ++rank) {
    DistributedSampler sampler(file.size(), {.num_replicas = 2, .rank = rank});
    DataLoader loader(file, sampler, {.batch_size = 16, .workers = 2});
    for (const Batch& batch : loader.iterate()) {
      for (const float n : batch[0].to_vector<float>()) all.push_back(n);
    }
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

// Any text is rows or an error.
TEST_F(CsvFiles, AnyTextIsReadOrRefused) {
  std::mt19937 random(1);
  const std::string alphabet = "12,,\"\"\n\r .x-e";
  int rows = 0;
  for (int i = 0; i < 600; ++i) {
    std::string text = i % 2 == 0 ? "a,b\n1,2\n" : "";
    for (unsigned k = 0; k < random() % 30; ++k) {
      text += alphabet[random() % alphabet.size()];
    }
    try {
      const CsvFile file = open(text, {.missing_value = 0});
      for (std::int64_t r = 0; r < file.size(); ++r, ++rows) file.get(r);
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr(path_)) << text;
      ASSERT_THAT(error.what(), testing::Not(HasSubstr("has changed"))) << text;
    }
  }
  EXPECT_GT(rows, 150);
}

}  // namespace
}  // namespace hvd::data
