// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/part_fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "horovodrun/system/environment.h"
#include "horovodrun/timeline/part_sender.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Pair;

// The remote shell runs the command here: sender and launcher share files.
class PartFetch : public ::testing::Test {
 protected:
  PartFetch() { std::signal(SIGPIPE, SIG_IGN); }
  PartFetchOptions options(std::string shell = R"(exec sh -c "$1")") {
    return {.request = {.path = path_, .age = std::chrono::seconds(10)},
            .hosts = {"b"},
            .shell = {"sh", "-c", std::move(shell)},
            .program = HVD_HOROVODRUN,
            .environment = current_environment()};
  }
  void write(const std::string& suffix, const std::string& text) {
    std::ofstream(path_ + suffix) << text;
  }
  std::string text(const std::string& suffix) {
    std::ifstream file(path_ + suffix);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool exists(const std::string& suffix) {
    return std::filesystem::exists(path_ + suffix);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path("t 'x'.json");
};

TEST_F(PartFetch, TakesTheFilesThatThisHostLacks) {
  const std::string large(300'000, '\n');
  write("", "zero");
  write(".rank1", "");
  write(".rank2", large);
  write(".rank3", "present");
  PartFetchOptions two = options();
  two.hosts = {"b", "c"};
  two.request.present = {3};
  const PartFetchResult result = fetch_parts(two);
  EXPECT_THAT(result.problems, IsEmpty());
  // The host has removed its files, and this one has stored them.
  EXPECT_FALSE(exists(""));
  EXPECT_EQ(text(".rank0"), "zero");
  EXPECT_TRUE(exists(".rank1"));
  EXPECT_EQ(text(".rank2"), large);
  EXPECT_EQ(text(".rank3"), "present");
}

TEST_F(PartFetch, LeavesFilesOfEarlierJobs) {
  write(".rank1", "old");
  std::filesystem::last_write_time(
      path_ + ".rank1",
      std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  PartFetchOptions none = options();
  none.most_bytes = 0;
  EXPECT_THAT(fetch_parts(none).too_large, IsEmpty());
}

TEST_F(PartFetch, LeavesFilesThatAreTooLarge) {
  write(".rank1", "12345678");
  write(".rank2", "1234");
  PartFetchOptions few = options();
  few.most_bytes = 7;
  const PartFetchResult result = fetch_parts(few);
  EXPECT_THAT(result.too_large, Contains(Pair(1, 8u)));
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(text(".rank1"), "12345678");
  EXPECT_EQ(text(".rank2"), "1234");
}

TEST_F(PartFetch, OfAFileThatEndsInTheMiddleNothingStays) {
  const PartFetchResult result = fetch_parts(options(
      "echo horovodrun timeline 1 100; echo abc; echo gone >&2; exit 3"));
  EXPECT_THAT(result.problems, Contains(Pair("b", HasSubstr("gone"))));
  EXPECT_THAT(std::filesystem::is_empty(folder_.path()), true);
}

TEST_F(PartFetch, AFileThatCannotBeWrittenIsAProblem) {
  write(".rank1", "1234");
  std::filesystem::create_directory(path_ + ".rank1.fetched");
  std::ofstream(path_ + ".rank1.fetched/full") << "";
  EXPECT_THAT(fetch_parts(options()).problems,
              Contains(Pair("b", HasSubstr("cannot write"))));
  EXPECT_EQ(text(".rank1"), "1234");
}

TEST_F(PartFetch, ASilentHostIsAProblem) {
  PartFetchOptions brief = options("exec sleep 60");
  brief.longest_silence = std::chrono::milliseconds(1);
  EXPECT_THAT(fetch_parts(brief).problems, Contains(Key("b")));
}

TEST(PartSender, RequestsBecomeWordsAndAreParsed) {
  const PartsRequest request = {.path = "/a b/t.json",
                                .age = std::chrono::seconds(7),
                                .present = {0, 12}};
  const auto parsed = parse_parts_request(to_words(request));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->path, request.path);
  EXPECT_EQ(parsed->age, request.age);
  EXPECT_EQ(parsed->present, request.present);
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"1", "none"},
      {"-1", "none", "/t"},
      {"1", "0,x", "/t"},
      {"1", "none", "relative"}};
  for (const auto& words : wrong) {
    EXPECT_FALSE(parse_parts_request(words).has_value());
    EXPECT_EQ(send_parts(words), 2);
  }
}

TEST(PartSender, AHeaderHasARankAndBytes) {
  EXPECT_EQ(parse_part_header("horovodrun timeline 3 40")->bytes, 40u);
  for (const char* line :
       {"", "horovodrun timeline 3", "timeline 3 40",
        "horovodrun timeline -1 4", "horovodrun timeline 3 4 5"}) {
    EXPECT_FALSE(parse_part_header(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace hvd::launcher
