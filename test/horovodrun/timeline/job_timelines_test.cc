// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/timeline/job_timelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "horovodrun/system/environment.h"
#include "test/horovodrun/timeline/made_part.h"
#include "test/support/temporary_folder.h"
#include "test/support/timeline_file.h"

namespace hvd::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobTimelinesTest : public ::testing::Test {
 protected:
  std::string write_text(const std::string& name, const std::string& text) {
    const std::string path = folder_.path(name);
    std::ofstream(path) << text;
    return path;
  }
  std::string write(const std::string& name, const Part& part) {
    return write_text(name, text_of_part(part));
  }
  std::size_t ranks() {
    std::size_t count = 0;
    for (const auto& event : read_timeline(merged_).events) {
      count += event["name"] == "clock_offset";
    }
    return count;
  }
  bool exists(const std::string& name) {
    return std::filesystem::exists(folder_.path(name));
  }

  // A remote shell for which every host is this one. Files in the folder
  // "other" of its host become visible when the host is asked.
  std::string shell() {
    std::filesystem::create_directory(folder_.path("other"));
    const std::string path = write_text(
        "shell", "#!/bin/sh\nshift\nmv " + folder_.path("other") + "/* " +
                     folder_.path() + "\necho Welcome\nexec sh -c \"$*\"\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  JobTimelines::Hosts hosts(const std::vector<std::string>& shell,
                            const std::vector<std::string>& of_ranks) {
    return {.of_ranks = of_ranks,
            .own_name = "a",
            .shell = shell,
            .program = HVD_HOROVODRUN,
            .environment = current_environment()};
  }

  TemporaryFolder folder_;
  const std::string merged_ = folder_.path("merged.json");
};

TEST_F(JobTimelinesTest, AJobsPartsBecomeOneFile) {
  write("merged.json.rank5", {.rank = 5});  // Of an earlier job.
  write_text("merged.json.rankings", "mine");
  const JobTimelines timelines(merged_, 2);
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge({}), IsEmpty());
  EXPECT_EQ(ranks(), 2u);
  EXPECT_FALSE(std::filesystem::exists(merged_ + ".rank1"));
  EXPECT_TRUE(std::filesystem::exists(merged_ + ".rankings"));
}

TEST_F(JobTimelinesTest, PartsOfOtherHostsAreMissed) {
  const JobTimelines timelines(merged_, 3);
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge({}), ElementsAre(HasSubstr("has 2 of 3 ranks")));
}

TEST_F(JobTimelinesTest, PartsStayIfTheMergedFileCannotBeWritten) {
  const JobTimelines timelines(merged_, 2);
  std::filesystem::create_directory(merged_ + ".merging");
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge({}),
              ElementsAre(HasSubstr("cannot merge the ranks' timelines")));
  EXPECT_TRUE(std::filesystem::exists(merged_ + ".rank1"));
  EXPECT_EQ(read_timeline(merged_).names.at(0), "rank 0");
}

TEST_F(JobTimelinesTest, SomePathsHaveNoParts) {
  for (const char* path : {"", "DYNAMIC", "dynamic", "of{rank}.json"}) {
    EXPECT_FALSE(JobTimelines(path, 2).has_parts()) << path;
  }
  EXPECT_FALSE(JobTimelines("x.json", 1).has_parts());
}

TEST_F(JobTimelinesTest, PartsOfOtherHostsAreFetched) {
  const JobTimelines timelines(merged_, 4);
  const std::string shell = this->shell();
  write("merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  write("other/merged.json.rank2", {.rank = 2});
  write("other/merged.json.rank3", {.rank = 3});
  EXPECT_THAT(timelines.merge(hosts({shell}, {"a", "a", "b", "c"})), IsEmpty());
  EXPECT_EQ(ranks(), 4u);
  for (const char* part : {".rank1", ".rank2", ".rank3", ".rank2.fetched"}) {
    EXPECT_FALSE(exists(std::string("merged.json") + part)) << part;
  }
}

TEST_F(JobTimelinesTest, Rank0MayBeOnAnotherHost) {
  const JobTimelines timelines(merged_, 2);
  const std::string shell = this->shell();
  write("other/merged.json", {.rank = 0});
  write("merged.json.rank1", {.rank = 1});
  EXPECT_THAT(timelines.merge(hosts({shell}, {"b", "a"})), IsEmpty());
  EXPECT_EQ(ranks(), 2u);
}

TEST_F(JobTimelinesTest, AHostThatCannotBeAskedIsNamedWithItsFile) {
  const JobTimelines timelines(merged_, 3);
  write("merged.json", {.rank = 0});
  write("merged.json.rank2", {.rank = 2});
  const auto notes = timelines.merge(
      hosts({"sh", "-c", "echo no way to $0 >&2; exit 255"}, {"a", "b", "a"}));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("has 2 of 3 ranks. It lacks rank 1's " +
                                  merged_ + ".rank1 on host 'b'"));
  EXPECT_THAT(notes[0], HasSubstr("no way to b"));
  EXPECT_EQ(ranks(), 2u);
}

}  // namespace
}  // namespace hvd::launcher
