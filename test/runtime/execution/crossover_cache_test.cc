// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/crossover_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "test/support/file_size_limit.h"

namespace hvd::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr CrossoverCache::Place kPlace = {.ranks = 2, .slot_bytes = 262144};
constexpr collective::ShmCrossovers kValues = {.small_bytes = 4096,
                                               .step_bytes = 65536};

class CrossoverCacheTest : public testing::Test {
 protected:
  CrossoverCacheTest() { std::filesystem::remove_all(directory_); }
  ~CrossoverCacheTest() override { std::filesystem::remove_all(directory_); }

  const std::string directory_ =
      testing::TempDir() + "/crossover_cache." + std::to_string(::getpid());
};

TEST_F(CrossoverCacheTest, LoadsTheLastStoredValues) {
  const CrossoverCache cache(directory_ + "/below", kPlace);
  EXPECT_EQ(cache.load(), std::nullopt);
  ASSERT_EQ(cache.store({.small_bytes = 1, .step_bytes = 2}), absl::OkStatus());
  ASSERT_EQ(cache.store(kValues), absl::OkStatus());
  EXPECT_EQ(CrossoverCache(directory_ + "/below", kPlace).load(), kValues);
  // No temporary files are left.
  const std::filesystem::directory_iterator files(directory_ + "/below");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(CrossoverCacheTest, KeepsPlacesApart) {
  ASSERT_EQ(CrossoverCache(directory_, kPlace).store(kValues),
            absl::OkStatus());
  EXPECT_EQ(
      CrossoverCache(directory_, {.ranks = 3, .slot_bytes = 262144}).load(),
      std::nullopt);
  EXPECT_EQ(
      CrossoverCache(directory_, {.ranks = 2, .slot_bytes = 131072}).load(),
      std::nullopt);
}

TEST_F(CrossoverCacheTest, IgnoresADamagedFile) {
  const CrossoverCache cache(directory_, kPlace);
  ASSERT_EQ(cache.store(kValues), absl::OkStatus());
  std::string text;
  {
    std::ifstream file(cache.path());
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  // The last byte is the newline.
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    std::ofstream(cache.path()) << text.substr(0, length);
    EXPECT_EQ(cache.load(), std::nullopt) << length;
  }
  std::ofstream(cache.path()) << "another machine" << text;
  EXPECT_EQ(cache.load(), std::nullopt);
}

TEST_F(CrossoverCacheTest, NamesAnUnwritablePath) {
  std::ofstream(directory_) << "a file where a directory is wanted";
  const CrossoverCache cache(directory_, kPlace);
  const absl::Status status = cache.store(kValues);
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(cache.path()), HasSubstr("HOROVODPP_CACHE_DIR")));
  EXPECT_EQ(cache.load(), std::nullopt);
}

TEST_F(CrossoverCacheTest, ReadsRegularFilesOnly) {
  std::filesystem::create_directories(directory_);
  const CrossoverCache cache(directory_, kPlace);
  ASSERT_EQ(::mkfifo(cache.path().c_str(), 0600), 0);
  EXPECT_EQ(cache.load(), std::nullopt);
  std::filesystem::remove(cache.path());
  std::filesystem::create_symlink("/dev/zero", cache.path());
  EXPECT_EQ(cache.load(), std::nullopt);
  // The file of that name is replaced.
  EXPECT_EQ(cache.store(kValues), absl::OkStatus());
  EXPECT_EQ(cache.load(), kValues);
}

TEST_F(CrossoverCacheTest, OutlivesALimitOnFiles) {
  const CrossoverCache cache(directory_, kPlace);
  const FileSizeLimit limit(8);
  EXPECT_TRUE(absl::IsUnavailable(cache.store(kValues)));
  const std::filesystem::directory_iterator files(directory_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 0);
}

TEST(CrossoverCache, StoresNoValuesWithoutADirectory) {
  const CrossoverCache cache("", kPlace);
  EXPECT_EQ(cache.store(kValues), absl::OkStatus());
  EXPECT_EQ(cache.load(), std::nullopt);
}

}  // namespace
}  // namespace hvd::runtime
