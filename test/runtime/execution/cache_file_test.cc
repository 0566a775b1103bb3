// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/cache_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "test/support/temporary_folder.h"

namespace hvd::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::size_t kMost = 100;

class CacheFileTest : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const CacheFile file_{folder_.path() + "/below", "tuning", "a key"};
};

TEST_F(CacheFileTest, LoadsTheLastStoredContent) {
  EXPECT_EQ(file_.load(kMost), std::nullopt);
  ASSERT_EQ(file_.store("first"), absl::OkStatus());
  ASSERT_EQ(file_.store("second\nline\n"), absl::OkStatus());
  EXPECT_THAT(file_.load(kMost), Optional(std::string("second\nline\n")));
  EXPECT_EQ(
      std::distance(
          std::filesystem::directory_iterator(folder_.path() + "/below"), {}),
      1);
}

TEST_F(CacheFileTest, IgnoresTheContentOfAnotherKey) {
  ASSERT_EQ(file_.store("content"), absl::OkStatus());
  const CacheFile other(folder_.path() + "/below", "tuning", "another key");
  EXPECT_NE(other.path(), file_.path());
  EXPECT_EQ(other.load(kMost), std::nullopt);
  std::ofstream(file_.path()) << "another key\ncontent";
  EXPECT_EQ(file_.load(kMost), std::nullopt);
}

TEST_F(CacheFileTest, IgnoresWhatIsNoFileOrTooLong) {
  ASSERT_EQ(file_.store(std::string(kMost, 'x')), absl::OkStatus());
  EXPECT_EQ(file_.load(kMost), std::nullopt);
  std::filesystem::remove(file_.path());
  std::filesystem::create_directory(file_.path());
  EXPECT_EQ(file_.load(kMost), std::nullopt);
  std::filesystem::remove(file_.path());
  ASSERT_EQ(::mkfifo(file_.path().c_str(), 0600), 0);
  EXPECT_EQ(file_.load(kMost), std::nullopt);
}

TEST_F(CacheFileTest, NamesAFileThatCannotBeWritten) {
  std::ofstream(folder_.path() + "/file") << "";
  const CacheFile file(folder_.path() + "/file/below", "tuning", "a key");
  const absl::Status stored = file.store("content");
  EXPECT_TRUE(absl::IsUnavailable(stored));
  EXPECT_THAT(std::string(stored.message()), HasSubstr(file.path()));
}

TEST(CacheFile, WithoutAFolderNothingIsRemembered) {
  const CacheFile file("", "tuning", "a key");
  EXPECT_EQ(file.store("content"), absl::OkStatus());
  EXPECT_EQ(file.load(kMost), std::nullopt);
  EXPECT_EQ(file.path(), "");
}

}  // namespace
}  // namespace hvd::runtime
