// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/json_array_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "nlohmann/json.hpp"
#include "test/support/file_size_limit.h"
#include "test/support/temporary_folder.h"

namespace hvd::telemetry {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class JsonArrayFileTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path("array.json");
};

TEST_F(JsonArrayFileTest, IsAnArrayAfterEveryWrite) {
  auto file = JsonArrayFile::create(path_);
  ASSERT_EQ(file.status(), absl::OkStatus());
  EXPECT_EQ(text_of(path_), "[\n]\n");
  EXPECT_EQ((*file)->append(""), absl::OkStatus());
  EXPECT_EQ(text_of(path_), "[\n]\n");
  EXPECT_EQ((*file)->append("1"), absl::OkStatus());
  EXPECT_EQ(text_of(path_), "[\n1\n]\n");
  EXPECT_EQ((*file)->append("2,\n3"), absl::OkStatus());
  EXPECT_EQ(text_of(path_), "[\n1,\n2,\n3\n]\n");
}

TEST_F(JsonArrayFileTest, HoldsWhatItHeldAfterAFailedWrite) {
  auto file = JsonArrayFile::create(path_);
  ASSERT_EQ(file.status(), absl::OkStatus());
  {
    const FileSizeLimit limit(8);
    EXPECT_FALSE((*file)->append("\"does not fit\"").ok());
    EXPECT_EQ(text_of(path_), "[\n]\n");
    EXPECT_EQ((*file)->append("1"), absl::OkStatus());
    EXPECT_FALSE((*file)->append("\"does not fit\"").ok());
    EXPECT_EQ(text_of(path_), "[\n1\n]\n");
  }
  EXPECT_EQ((*file)->append("2"), absl::OkStatus());
  EXPECT_EQ(text_of(path_), "[\n1,\n2\n]\n");
}

TEST_F(JsonArrayFileTest, NamesAFileThatCannotBeWritten) {
  const std::string path = folder_.path("nowhere/array.json");
  const absl::Status status = JsonArrayFile::create(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find(path), std::string::npos);
}

TEST(JsonString, IsParsedAsTheText) {
  for (const std::string text :
       {"", "plain", "a \"quoted\" \\ name", "two\nlines\tand a tab", "é…"}) {
    EXPECT_EQ(nlohmann::json::parse(json_string(text)), text);
  }
}

TEST(JsonString, IsValidForBytesThatAreNoText) {
  const std::string bytes = {'a', '\xff', '\x01', '\x00', 'b'};
  EXPECT_EQ(nlohmann::json::parse(json_string(bytes)), "a\\xff\\x01\\x00b");
}

}  // namespace
}  // namespace hvd::telemetry
