// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/data/data_loader.h"
#include "horovodpp/data/distributed_sampler.h"
#include "test/support/expect_error.h"
#include "test/support/temporary_folder.h"

namespace hvd::data {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> first_ids(std::int64_t count) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

void write_tokens(const std::string& path, std::int64_t vocabulary_size,
                  const std::vector<std::int64_t>& ids) {
  TokenFileWriter writer(path, vocabulary_size);
  writer.append(ids);
  writer.commit();
}

template <typename T>
void write_numbers(const std::string& path, const std::vector<T>& numbers) {
  std::ofstream(path, std::ios::binary | std::ios::app)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}

TEST(TokenFile, ReturnsWindowsAndTheTokensAfterThem) {
  const TemporaryFolder folder;
  for (const std::int64_t vocabulary : {65536, 65537}) {
    const std::string path = folder.path("tokens");
    {
      TokenFileWriter writer(path, vocabulary);
      writer.append(std::vector<std::int64_t>{0, 1, 2, 3});
      writer.append({});
      writer.append(std::vector<std::int64_t>{4, 5, vocabulary - 1});
      writer.commit();
    }
    const auto id_bytes = vocabulary == 65536 ? 2U : 4U;
    EXPECT_EQ(std::filesystem::file_size(path), 32 + 7 * id_bytes);
    const TokenWindows windows(path, {.length = 3});
    EXPECT_EQ(windows.num_tokens(), 7);
    ASSERT_EQ(windows.size(), 2);
    const Item last = windows.get(1);
    EXPECT_THAT(last[0].to_vector<std::int64_t>(), ElementsAre(3, 4, 5));
    EXPECT_THAT(last[1].to_vector<std::int64_t>(),
                ElementsAre(4, 5, vocabulary - 1));
    EXPECT_EQ(TokenWindows(path, {.length = 3, .stride = 1}).size(), 4);
    EXPECT_ERROR(InvalidArgument, "window 2", windows.get(2));
    EXPECT_ERROR(InvalidArgument, "window -1", windows.get(-1));
  }
}

TEST(TokenFile, ReadsTheFilesOfOthers) {
  const TemporaryFolder folder;
  write_numbers<std::uint16_t>(folder.path("raw2"), {7, 8, 65535});
  write_numbers<std::uint32_t>(folder.path("raw4"), {7, 8, 65535});
  for (const std::int64_t bytes : {2, 4}) {
    const TokenWindows windows(folder.path("raw" + std::to_string(bytes)),
                               {.length = 2, .raw_bytes = bytes});
    EXPECT_THAT(windows.get(0)[1].to_vector<std::int64_t>(),
                ElementsAre(8, 65535));
  }
  std::vector<std::int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 3;
  write_numbers(folder.path("llmc"), header);
  write_numbers<std::uint16_t>(folder.path("llmc"), {7, 8, 9});
  EXPECT_THAT(TokenWindows(folder.path("llmc"), {.length = 2})
                  .get(0)[0]
                  .to_vector<std::int64_t>(),
              ElementsAre(7, 8));
  write_numbers<std::uint16_t>(folder.path("llmc"), {10});
  EXPECT_ERROR(Error, folder.path("llmc"), TokenWindows(folder.path("llmc")));
}

TEST(TokenFile, SharesItsWindowsAmongRanksAndWorkers) {
  const TemporaryFolder folder;
  const std::string path = folder.path("tokens");
  write_tokens(path, 1000, first_ids(401));
  const TokenWindows windows(path, {.length = 4});
  std::vector<std::int64_t> firsts;
  for (const int rank : {0, 1}) {
    DistributedSampler sampler(windows.size(),
                               {.num_replicas = 2, .rank = rank});
    DataLoader loader(windows, sampler, {.batch_size = 10, .workers = 3});
    for (const Batch& batch : loader.iterate()) {
      const auto ids = batch[0].to_vector<std::int64_t>();
      for (std::size_t i = 0; i < ids.size(); i += 4) firsts.push_back(ids[i]);
    }
  }
  std::ranges::sort(firsts);
  ASSERT_EQ(firsts.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(firsts[i], static_cast<std::int64_t>(4 * i));
  }
}

TEST(TokenFile, RefusesEveryTruncationAndNamesTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("tokens");
  write_tokens(path, 10, first_ids(10));
  for (auto bytes = std::filesystem::file_size(path); bytes-- > 0;) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_ERROR(Error, path, TokenWindows(path, {.length = 2}));
  }
}

TEST(TokenFile, ReportsAFileThatBecameShorter) {
  const TemporaryFolder folder;
  const std::string path = folder.path("tokens");
  write_tokens(path, 10, first_ids(10));
  const TokenWindows windows(path, {.length = 2});
  std::filesystem::resize_file(path, 20);
  EXPECT_ERROR(Error, path, windows.get(3));
}

TEST(TokenFile, RefusesForeignFilesAndIds) {
  const TemporaryFolder folder;
  const std::string path = folder.path("tokens");
  EXPECT_ERROR(Error, path, TokenWindows{path});
  std::ofstream(path) << "some text, which is no token file";
  EXPECT_ERROR(Error, "raw_bytes", TokenWindows{path});
  EXPECT_ERROR(Error, path, TokenWindows(path, {.raw_bytes = 2}));
  EXPECT_ERROR(InvalidArgument, "raw_bytes 3",
               TokenWindows(path, {.raw_bytes = 3}));
  write_tokens(path, 10, first_ids(10));
  EXPECT_ERROR(Error, "10 tokens", TokenWindows(path, {.length = 10}));
  const TokenWindows windows(path, {.length = 4, .vocabulary_size = 6});
  EXPECT_EQ(windows.get(0)[0].num_elements(), 4);
  EXPECT_ERROR(Error, "the id 6 as token 6", windows.get(1));
}

TEST(TokenFile, WritesNoIdBeyondTheVocabulary) {
  const TemporaryFolder folder;
  EXPECT_ERROR(InvalidArgument, "vocabulary of 0",
               TokenFileWriter(folder.path("x"), 0));
  TokenFileWriter writer(folder.path("x"), 10);
  EXPECT_ERROR(InvalidArgument, "10", writer.append(first_ids(11)));
  EXPECT_FALSE(std::filesystem::exists(folder.path("x")));
}

}  // namespace
}  // namespace hvd::data
