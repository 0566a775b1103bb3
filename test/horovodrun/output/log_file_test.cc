// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/output/log_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace hvd::launcher {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() {
    std::string name = (fs::temp_directory_path() / "log_file.XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~LogFileTest() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ / "stdout"; }
  std::string contents(const std::string& suffix = "") const {
    std::ifstream file(path() + suffix);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool exists(const std::string& suffix) const {
    return fs::exists(path() + suffix);
  }
  std::unique_ptr<LogFile> create(const LogLimits& limits) const {
    auto file = LogFile::create(path(), limits);
    EXPECT_TRUE(file.ok()) << file.status();
    return *std::move(file);
  }

  fs::path folder_;
};

TEST_F(LogFileTest, GrowsWithoutALimit) {
  const auto file = create({});
  for (int i = 0; i < 1000; ++i) file->add("0123456789\n");
  EXPECT_EQ(contents().size(), 11000u);
  EXPECT_FALSE(exists(".1"));
}

TEST_F(LogFileTest, RenamesFullFilesAndRemovesTheOldest) {
  const auto file = create({.max_bytes = 10, .files = 3});
  file->add("one\ntwo\nthree\nfour\n");
  EXPECT_EQ(contents(".2"), "one\ntwo\n");
  EXPECT_EQ(contents(".1"), "three\n");
  EXPECT_EQ(contents(), "four\n");
  file->add("five\nsix\nseven\n");
  EXPECT_EQ(contents(".2"), "three\n");
  EXPECT_EQ(contents(".1"), "four\nfive\n");
  EXPECT_EQ(contents(), "six\nseven\n");
  EXPECT_FALSE(exists(".3"));
  EXPECT_EQ(file->error(), "");
}

TEST_F(LogFileTest, LeavesLinesWholeHoweverTheyArrive) {
  const auto file = create({.max_bytes = 8, .files = 9});
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    all += line;
    for (const char c : line) file->add({&c, 1});
  }
  std::string found = contents();
  for (int i = 1; i < 9; ++i) {
    const std::string older = contents(absl::StrCat(".", i));
    EXPECT_EQ(older.back(), '\n');
    EXPECT_EQ(older.rfind("line ", 0), 0u);
    found = older + found;
  }
  EXPECT_EQ(found, all.substr(all.size() - found.size()));
}

TEST_F(LogFileTest, GivesALineBeyondTheLimitAFileOfItsOwn) {
  const auto file = create({.max_bytes = 10, .files = 4});
  const std::string longer(50, 'x');
  file->add("a\n" + longer + "\nb\n");
  EXPECT_EQ(contents(".2"), "a\n");
  EXPECT_EQ(contents(".1"), longer + "\n");
  EXPECT_EQ(contents(), "b\n");
}

TEST_F(LogFileTest, RemovesNumberedFilesOfAnEarlierJob) {
  create({.max_bytes = 4, .files = 4})->add("a\nb\nc\nd\ne\nf\ng\n");
  EXPECT_TRUE(exists(".3"));
  create({.max_bytes = 4, .files = 4});
  EXPECT_FALSE(exists(".1") || exists(".2") || exists(".3"));
  EXPECT_EQ(contents(), "");
}

TEST_F(LogFileTest, ReportsAFullDisk) {
  fs::create_symlink("/dev/full", path());
  const auto file = create({.max_bytes = 4, .files = 3});
  file->add("lost\nlost\n");
  EXPECT_THAT(file->error(), HasSubstr("stdout: No space left on device"));
  EXPECT_FALSE(exists(".1"));
}

TEST_F(LogFileTest, KeepsAllLinesIfItCannotRename) {
  const auto file = create({.max_bytes = 4, .files = 2});
  fs::create_directories(path() + ".1/x");
  file->add("one\ntwo\n");
  EXPECT_THAT(file->error(), HasSubstr("cannot rename"));
  EXPECT_EQ(contents(), "one\ntwo\n");
}

TEST_F(LogFileTest, NamesAFileThatCannotBeMade) {
  const auto file = LogFile::create("/nonexistent/stdout", {});
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("cannot write to /nonexistent/stdout"));
}

}  // namespace
}  // namespace hvd::launcher
