// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/merge_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/support/temporary_folder.h"
#include "test/support/timeline_file.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Part {
  int rank = 0;
  std::string clock = "boot";
  long steady_ns = 0;
  long epoch_us = 0;
  double begin = 100;  // Of its batch.
};

// As a rank writes it (horovodpp/telemetry/timeline).
std::string text_of_part(const Part& part) {
  const auto at = [&](double later) {
    return absl::StrCat(R"("ts": )", part.begin + later);
  };
  return absl::StrCat(
      R"([
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "rank )",
      part.rank, R"(", "start_time_since_epoch_in_micros": )", part.epoch_us,
      R"(, "start_of_steady_clock_in_nanos": )", part.steady_ns,
      R"(, "clock": ")", part.clock, R"("}},
{"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "allreduce.\"ts\": 5"}},
{"name": "NEGOTIATE_ALLREDUCE", "ph": "B", )",
      at(0), R"(, "pid": 1},
{"name": "NEGOTIATE_ALLREDUCE", "ph": "E", )",
      at(1), R"(, "pid": 1},
{"name": "ALLREDUCE", "ph": "B", )",
      at(2), R"(, "pid": 1},
{"name": "ALLREDUCE", "ph": "E", )",
      at(10), R"(, "pid": 1, "args": {"bytes": 4, "batch": 7}},
{"name": "STEP_END", "ph": "i", "s": "g", "pid": 0, )",
      at(11), R"(},
{"name": "lost_events", "ph": "M", "pid": 0, "args": {"count": 0}}
]
)");
}

class MergeTimelines : public ::testing::Test {
 protected:
  std::string write_text(const std::string& name, const std::string& text) {
    const std::string path = folder_.path(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string write(const std::string& name, const Part& part) {
    return write_text(name, text_of_part(part));
  }
  // When the operation of each rank is submitted, by the name of its "process".
  std::map<std::string, double> begins() {
    std::map<std::string, double> found;
    const TimelineFile file = read_timeline(merged_);
    for (const auto& event : file.events) {
      if (event["name"] == "NEGOTIATE_ALLREDUCE" && event["ph"] == "B")
        found[file.names.at(event["pid"])] = event["ts"];
      if (event["name"] == "clock_offset") offsets_.push_back(event["args"]);
      EXPECT_EQ(event.value("s", "p"), "p");
    }
    return found;
  }

  TemporaryFolder folder_;
  const std::string merged_ = folder_.path("merged.json");
  std::vector<nlohmann::json> offsets_;
};

TEST_F(MergeTimelines, RanksOfAHostShareItsClock) {
  const std::vector<std::string> files = {
      write("b", {.rank = 1, .steady_ns = 4'000'000}),
      write("a", {.rank = 0, .steady_ns = 5'000'000})};
  EXPECT_EQ(merge_timelines(files, merged_), absl::OkStatus());
  const auto begin = begins();
  // Rank 1 began a millisecond earlier, so that its times stay as they are.
  EXPECT_EQ(begin.at("rank 0 allreduce.\"ts\": 5"), 1100);
  EXPECT_EQ(begin.at("rank 1 allreduce.\"ts\": 5"), 100);
  EXPECT_EQ(offsets_.at(1)["from"], "same clock");
  EXPECT_EQ(offsets_.at(1)["error_us"], 1);
  const TimelineFile file = read_timeline(merged_);
  EXPECT_EQ(file.names.size(), 4u);
}

TEST_F(MergeTimelines, BatchesAlignTheClocksOfHosts) {
  const std::vector<std::string> files = {
      write("a", {.rank = 0, .clock = "one"}),
      write("b", {.rank = 1, .clock = "other", .begin = 5000})};
  EXPECT_EQ(merge_timelines(files, merged_), absl::OkStatus());
  const auto begin = begins();
  EXPECT_EQ(begin.at("rank 0 allreduce.\"ts\": 5"),
            begin.at("rank 1 allreduce.\"ts\": 5"));
  EXPECT_EQ(offsets_.at(1)["from"], "batches");
  EXPECT_EQ(offsets_.at(1)["error_us"], 10);
}

TEST_F(MergeTimelines, OfAFileThatIsNoTimelineNothingIsWritten) {
  const std::string good = write("a", Part{});
  for (const char* text : {"", "[]", "{}\n", "[\n{\"name\": \"x\"}\n]\n"}) {
    const auto merged = merge_timelines({good, write_text("b", text)}, good);
    EXPECT_EQ(merged.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(merged.message()), HasSubstr("/b: "));
  }
  EXPECT_FALSE(merge_timelines({folder_.path("absent")}, merged_).ok());
  EXPECT_FALSE(std::filesystem::exists(merged_));
}

TEST_F(MergeTimelines, AJobsPartsBecomeOneFile) {
  write("merged.json.rank5", {.rank = 5});  // Of an earlier job.
  write_text("merged.json.rankings", "mine");
  const JobTimelines timelines(merged_, 2);
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge(), IsEmpty());
  EXPECT_EQ(begins().size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(merged_ + ".rank1"));
  EXPECT_TRUE(std::filesystem::exists(merged_ + ".rankings"));
}

TEST_F(MergeTimelines, PartsOfOtherHostsAreMissed) {
  const JobTimelines timelines(merged_, 3);
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge(), ElementsAre(HasSubstr("has 2 of 3 ranks")));
}

TEST_F(MergeTimelines, PartsStayIfTheMergedFileCannotBeWritten) {
  const JobTimelines timelines(merged_, 2);
  std::filesystem::create_directory(merged_ + ".merging");
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge(),
              ElementsAre(HasSubstr("cannot merge the ranks' timelines")));
  EXPECT_TRUE(std::filesystem::exists(merged_ + ".rank1"));
  EXPECT_EQ(read_timeline(merged_).names.at(0), "rank 0");
}

TEST_F(MergeTimelines, SomePathsHaveNoParts) {
  for (const char* path : {"", "DYNAMIC", "dynamic", "of{rank}.json"}) {
    EXPECT_FALSE(JobTimelines(path, 2).has_parts()) << path;
  }
  EXPECT_FALSE(JobTimelines("x.json", 1).has_parts());
}

}  // namespace
}  // namespace hvd::launcher
