// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/merge_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "test/horovodrun/timeline/made_part.h"
#include "test/support/temporary_folder.h"
#include "test/support/timeline_file.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace hvd::launcher
