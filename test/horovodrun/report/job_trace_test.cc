// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/job_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/horovodrun/report/traces.h"
#include "test/support/temporary_folder.h"

namespace hvd::launcher::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobTrace : public ::testing::Test {
 protected:
  std::string file(const MadeTimeline& timeline) {
    return timeline.write(folder_.path(absl::StrCat(++files_, ".json")));
  }
  std::vector<RankTrace> read(const std::vector<std::string>& files) {
    auto ranks = read_job(files);
    EXPECT_TRUE(ranks.ok()) << ranks.status();
    return ranks.ok() ? *std::move(ranks) : std::vector<RankTrace>();
  }
  std::string error_of(const std::vector<std::string>& files) {
    const auto ranks = read_job(files);
    EXPECT_EQ(ranks.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(ranks.status().message());
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(JobTrace, HasTheBatchesOfARank) {
  MadeTimeline timeline(3);
  timeline.process(1, "allreduce.a");
  timeline.process(2, "allreduce.b");
  for (const int pid : {1, 2}) {
    timeline.allreduce(pid, 10.0 * pid, 30, 50, 7, 100);
  }
  timeline.allreduce(1, 60, 70, 80, 8, 100);
  const auto ranks = read({file(timeline)});
  ASSERT_EQ(ranks.size(), 1);
  EXPECT_EQ(ranks[0].rank, 3);
  ASSERT_EQ(ranks[0].batches.size(), 2);
  const Batch& batch = ranks[0].batches[0];
  // Times begin with 0.
  EXPECT_EQ(batch.arrived, 10);
  EXPECT_EQ(batch.begin, 20);
  EXPECT_EQ(batch.end, 40);
  EXPECT_EQ(batch.bytes, 200);
  EXPECT_EQ(batch.tensors, 2);
  EXPECT_TRUE(batch.needs_all);
  EXPECT_THAT(ranks[0].planes, ElementsAre("SHM"));
  EXPECT_EQ(ranks[0].tensors[0].name, "allreduce.a");
  EXPECT_EQ(ranks[0].tensors[0].calls, 2);
  EXPECT_EQ(ranks[0].tensors[0].waited_us, 30);
  EXPECT_EQ(ranks[0].tensors[0].ran_us, 30);
  EXPECT_THAT(ranks[0].runs, ElementsAre(Interval{20, 40}, Interval{60, 70}));
}

TEST_F(JobTrace, TellsBatchesOfOneNumberApart) {
  MadeTimeline timeline(0);
  timeline.process(1, "allreduce.a");
  timeline.allreduce(1, 0, 10, 20, 0, 4);
  timeline.allreduce(1, 30, 40, 50, 0, 4);
  const auto ranks = read({file(timeline)});
  ASSERT_EQ(ranks[0].batches.size(), 2);
  EXPECT_NE(ranks[0].batches[0].number, ranks[0].batches[1].number);
}

TEST_F(JobTrace, HasWaitsWorkAndMarks) {
  MadeTimeline timeline(0);
  timeline.process(1, "training");
  timeline.event(1, "backward", 'B', 0, "");
  timeline.span(1, "WAIT", 30, 40);
  timeline.event(1, "backward", 'E', 50, "");
  timeline.mark("CYCLE_START", 0);
  timeline.mark("STEP_END", 50);
  timeline.event(0, "JOB_BREAKS", 'i', 60, R"("reason": "lost")");
  const auto ranks = read({file(timeline)});
  EXPECT_THAT(ranks[0].waits, ElementsAre(Interval{30, 40}));
  ASSERT_EQ(ranks[0].work.size(), 1);
  EXPECT_EQ(ranks[0].work[0].at, (Interval{0, 50}));
  EXPECT_THAT(ranks[0].kinds_of_work, ElementsAre("backward"));
  EXPECT_THAT(ranks[0].steps, ElementsAre(50));
  EXPECT_THAT(ranks[0].cycles, ElementsAre(0));
  EXPECT_EQ(ranks[0].break_reason, "lost");
}

TEST_F(JobTrace, NamesOperationsInFlight) {
  MadeTimeline timeline(0);
  timeline.process(1, "allreduce.a");
  timeline.event(1, "NEGOTIATE_ALLREDUCE", 'B', 5, "");
  std::string text = timeline.text();
  text.resize(text.size() - 3);
  const auto ranks =
      read({MadeTimeline::write_text(folder_.path("cut.json"), text)});
  EXPECT_FALSE(ranks[0].is_complete);
  EXPECT_THAT(ranks[0].in_flight, ElementsAre("allreduce.a"));
}

TEST_F(JobTrace, ReadsSeveralRanksOfAFile) {
  MadeTimeline timeline;
  timeline.process(0, "rank 0");
  timeline.process(1, "rank 0 allreduce.a");
  timeline.process(2, "rank 1");
  timeline.process(3, "rank 1 allreduce.a");
  timeline.process(4, "other name", R"(, "rank": 2)");
  timeline.allreduce(1, 0, 5, 9, 0, 4);
  timeline.allreduce(3, 4, 6, 9, 0, 4);
  const auto ranks = read({file(timeline)});
  ASSERT_EQ(ranks.size(), 3);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_TRUE(ranks[1].is_merged);
  EXPECT_EQ(ranks[1].tensors[0].name, "allreduce.a");
  EXPECT_EQ(ranks[1].batches[0].arrived, 4);
  EXPECT_EQ(ranks[2].rank, 2);
}

TEST_F(JobTrace, AlignsClocksByBatches) {
  std::vector<std::string> files;
  for (const int rank : {1, 0}) {
    // The wall clock of rank 1 is 100 off, and its file begins 1000 later.
    MadeTimeline timeline(rank, 5'000'000 + 1100.0 * rank);
    timeline.process(1, "allreduce.a");
    timeline.process(2, "broadcast.b");
    for (int batch = 0; batch < 3; ++batch) {
      const double at = 2000 + 100 * batch - 1000 * rank;
      timeline.allreduce(1, at, at + 10, at + 50, batch, 4);
    }
    files.push_back(file(timeline));
  }
  const auto ranks = read(files);
  ASSERT_EQ(ranks.size(), 2);
  EXPECT_EQ(ranks[0].rank, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(ranks[0].batches[i].end, ranks[1].batches[i].end, 0.01);
  }
  EXPECT_NEAR(ranks[0].extent.begin, 0, 0.01);
}

TEST_F(JobTrace, NumbersFilesWithoutARank) {
  MadeTimeline timeline;
  timeline.process(1, "allreduce.a");
  const auto ranks = read({file(timeline), file(timeline)});
  ASSERT_EQ(ranks.size(), 2);
  EXPECT_EQ(ranks[1].rank, 1);
  EXPECT_THAT(ranks[1].batches, IsEmpty());
}

TEST_F(JobTrace, RefusesWhatIsNoJob) {
  const std::string first = file(MadeTimeline(4));
  EXPECT_THAT(error_of({first, file(MadeTimeline(4))}),
              HasSubstr("2.json: it is of rank 4, as is"));
  EXPECT_THAT(error_of({MadeTimeline::write_text(folder_.path("x"), "[{}]")}),
              HasSubstr("it is no timeline: it names no process"));
  EXPECT_FALSE(read_job({folder_.path("none")}).ok());
}

}  // namespace
}  // namespace hvd::launcher::report
