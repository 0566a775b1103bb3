// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "test/support/file_size_limit.h"
#include "test/support/temporary_folder.h"
#include "test/support/timeline_file.h"

namespace hvd::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;
using trace::EventKind;

class TimelineTest : public ::testing::Test {
 protected:
  void start(bool mark_cycles = false) {
    trace_.start_timeline({.path = path_, .mark_cycles = mark_cycles});
  }
  TimelineFile stop() {
    trace_.stop_timeline();
    return read_timeline(path_);
  }
  std::uint32_t name(const std::string& text) {
    return recorder_.name("allreduce", text);
  }
  void submit(std::uint32_t name) {
    recorder_.write(EventKind::kSubmitted, {.name = name, .value = 4});
  }
  void enter(std::uint32_t name) {
    recorder_.write(EventKind::kBatchEntry,
                    {.detail = 8, .name = name, .value = 4});
  }
  void begin_batch(std::uint64_t number, std::uint8_t detail = 0) {
    recorder_.write(EventKind::kBatchBegins,
                    {.detail = detail, .name = 1, .value = number});
  }
  void call(const std::string& plane) {
    recorder_.write(EventKind::kCallBegins,
                    {.label = recorder_.label(plane), .value = 4});
    recorder_.write(EventKind::kCallEnds, {});
  }
  void end_batch(std::uint64_t number, trace::BatchEnd how) {
    recorder_.write(
        EventKind::kBatchEnds,
        {.detail = static_cast<std::uint8_t>(how), .value = number});
  }
  void begin_work(const std::string& what, std::uint8_t thread = 0) {
    recorder_.write(EventKind::kSpanBegins,
                    {.detail = thread, .label = recorder_.label(what)});
  }
  void end_work(const std::string& what, std::uint8_t thread = 0) {
    recorder_.write(EventKind::kSpanEnds,
                    {.detail = thread, .label = recorder_.label(what)});
  }
  void batch(std::uint32_t name) {
    submit(name);
    begin_batch(7);
    enter(name);
    call("shm");
    end_batch(7, trace::BatchEnd::kDone);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.path("timeline.json");
  RankTrace trace_;
  trace::Recorder& recorder_ = trace_.recorder();
};

TEST_F(TimelineTest, ShowsEachPhaseOfAFusedBatch) {
  start();
  submit(name("a"));
  submit(name("b"));
  begin_batch(7);
  enter(name("a"));
  enter(name("b"));
  call("shm");
  call("shm-adasum");
  end_batch(7, trace::BatchEnd::kDone);
  const TimelineFile file = stop();
  for (const char* label : {"allreduce.a", "allreduce.b"}) {
    EXPECT_THAT(file.spans.at(label),
                ElementsAre("B NEGOTIATE_ALLREDUCE", "E NEGOTIATE_ALLREDUCE",
                            "B ALLREDUCE", "B SHM_ALLREDUCE", "E SHM_ALLREDUCE",
                            "B SHM_ADASUM_ALLREDUCE", "E SHM_ADASUM_ALLREDUCE",
                            "E ALLREDUCE"));
  }
  const nlohmann::json& end = file.events[file.events.size() - 2];
  EXPECT_EQ(end["args"]["bytes"], 4);
  EXPECT_EQ(end["args"]["batch"], 7);
  EXPECT_EQ(end["args"]["dtype"], "float32");
  EXPECT_EQ(file.lost, 0);
}

TEST_F(TimelineTest, BeginsWithTheNextEvent) {
  batch(name("early"));
  submit(name("in flight"));
  start();
  begin_batch(8);
  enter(name("in flight"));
  end_batch(8, trace::BatchEnd::kDone);
  const TimelineFile file = stop();
  EXPECT_FALSE(file.spans.contains("allreduce.early"));
  EXPECT_THAT(file.spans.at("allreduce.in flight"),
              ElementsAre("B ALLREDUCE", "E ALLREDUCE"));
}

TEST_F(TimelineTest, ShowsWhenTheProgramIsBlocked) {
  start();
  submit(name("a"));
  submit(name("b"));
  recorder_.write(EventKind::kAwaited, {.name = name("a")});
  recorder_.write(EventKind::kAwaited, {.name = name("b")});
  begin_batch(7);
  enter(name("a"));
  end_batch(7, trace::BatchEnd::kDone);
  begin_batch(8);
  enter(name("b"));
  end_batch(8, trace::BatchEnd::kDone);
  recorder_.write(EventKind::kDoneAtOnce, {.name = name("c")});
  submit(name("d"));
  recorder_.write(EventKind::kAwaited, {.name = name("d")});
  recorder_.write(EventKind::kJobEnds, {});
  EXPECT_THAT(
      stop().spans.at("waits"),
      ElementsAre("B WAIT", "E WAIT", "B WAIT", "E WAIT", "B WAIT", "E WAIT"));
}

TEST_F(TimelineTest, ShowsAnOperationThatWasDoneAtOnce) {
  start();
  const std::uint32_t barrier = recorder_.name("barrier", "barrier.noname");
  recorder_.write(EventKind::kDoneAtOnce, {.label = recorder_.label("shm"),
                                           .name = barrier,
                                           .value = trace::pack(10, 0)});
  EXPECT_THAT(
      stop().spans.at("barrier.noname"),
      ElementsAre("B BARRIER", "B SHM_BARRIER", "E SHM_BARRIER", "E BARRIER"));
}

TEST_F(TimelineTest, UnnamedOperationsInFlightAreThreads) {
  start();
  for (int i = 0; i < 2; ++i) submit(name("allreduce.noname"));
  batch(name("allreduce.noname"));
  const TimelineFile file = stop();
  std::vector<int> threads;
  for (const auto& event : file.events) {
    if (event["ph"] == "B") threads.push_back(event.value("tid", 0));
  }
  EXPECT_THAT(threads, ElementsAre(0, 1, 2, 0, 0));
}

TEST_F(TimelineTest, AnAbandonedBatchIsNegotiatedAgain) {
  start();
  submit(name("a"));
  begin_batch(7);
  enter(name("a"));
  end_batch(7, trace::BatchEnd::kAbandoned);
  begin_batch(8);
  enter(name("a"));
  end_batch(8, trace::BatchEnd::kDone);
  EXPECT_THAT(
      stop().spans.at("allreduce.a"),
      ElementsAre("B NEGOTIATE_ALLREDUCE", "E NEGOTIATE_ALLREDUCE",
                  "B ALLREDUCE", "E ALLREDUCE", "B NEGOTIATE_ALLREDUCE",
                  "E NEGOTIATE_ALLREDUCE", "B ALLREDUCE", "E ALLREDUCE"));
}

TEST_F(TimelineTest, ABatchOfAGpuEndsWithItsWork) {
  start();
  submit(name("a"));
  begin_batch(7);
  enter(name("a"));
  call("nccl");
  end_batch(7, trace::BatchEnd::kGoesOnOnGpu);
  begin_batch(8);
  enter(name("b"));
  end_batch(8, trace::BatchEnd::kDone);
  recorder_.write(EventKind::kWorkEnds, {.value = 7});
  const TimelineFile file = stop();
  EXPECT_EQ(file.spans.at("allreduce.a").back(), "E ALLREDUCE");
  EXPECT_EQ(file.events[file.events.size() - 2]["args"]["batch"], 7);
}

TEST_F(TimelineTest, MarksCyclesIfAsked) {
  for (const bool mark : {true, false}) {
    start(mark);
    begin_batch(7, trace::kFirstOfCycle);
    end_batch(7, trace::BatchEnd::kDone);
    begin_batch(8);
    end_batch(8, trace::BatchEnd::kDone);
    EXPECT_EQ(stop().marks["CYCLE_START"].size(), mark ? 1u : 0u);
  }
}

TEST_F(TimelineTest, ABreakEndsAllThatIsOpen) {
  start();
  submit(name("waits"));
  submit(name("runs"));
  begin_batch(7);
  enter(name("runs"));
  recorder_.write(EventKind::kCallBegins, {.label = recorder_.label("shm")});
  recorder_.write(EventKind::kJobBreaks,
                  {.name = recorder_.add_once("rank 1 \"died\"")});
  const TimelineFile file = stop();
  EXPECT_EQ(file.spans.at("allreduce.waits").back(), "E NEGOTIATE_ALLREDUCE");
  EXPECT_EQ(file.spans.at("allreduce.runs").back(), "E ALLREDUCE");
  EXPECT_EQ(file.marks.at("JOB_BREAKS").at(0)["args"]["reason"],
            "rank 1 \"died\"");
}

TEST_F(TimelineTest, SpansOfAThreadNest) {
  start();
  begin_work("backward");
  begin_work("data", 3);
  begin_work("recompute");
  end_work("recompute");
  batch(name("a"));
  end_work("data", 3);
  end_work("backward");
  const TimelineFile file = stop();
  EXPECT_THAT(file.spans.at("training"),
              ElementsAre("B backward", "B data", "B recompute", "E recompute",
                          "E data", "E backward"));
  EXPECT_THAT(
      file.threads,
      ElementsAre(Pair("training", ElementsAre("thread 0", "thread 3"))));
}

TEST_F(TimelineTest, ASpanEndsThoseWithinIt) {
  begin_work("early");
  start();
  end_work("early");
  begin_work("outer");
  begin_work("inner \"quoted\"");
  end_work("outer");
  end_work("inner \"quoted\"");
  EXPECT_THAT(stop().spans.at("training"),
              ElementsAre("B outer", "B inner \"quoted\"", "E inner \"quoted\"",
                          "E outer"));
}

TEST_F(TimelineTest, MarksTheEndsOfSteps) {
  start();
  recorder_.write(EventKind::kStepEnds, {});
  EXPECT_EQ(stop().marks.at("STEP_END").size(), 1u);
}

TEST_F(TimelineTest, IsValidWhileItGrows) {
  start();
  batch(name("a"));
  trace_.flush();
  const TimelineFile early = read_timeline(path_, /*is_closed=*/false);
  batch(name("b"));
  const TimelineFile file = stop();
  ASSERT_LT(early.events.size(), file.events.size());
  for (std::size_t i = 0; i < early.events.size(); ++i) {
    EXPECT_EQ(early.events[i], file.events[i]);
  }
}

// The thread may read some of the events while they are written.
TEST_F(TimelineTest, CountsEventsThatCameTooFast) {
  const std::uint32_t a = name("a");
  CaptureStderr();
  start();
  submit(name("waits"));
  begin_work("backward");
  trace_.flush();
  for (std::uint64_t i = 0; i < 6 * trace::kSlots; ++i) batch(a);
  const TimelineFile file = stop();
  const std::string log = GetCapturedStderr();
  const auto lost = file.lost.get<std::uint64_t>();
  ASSERT_GT(lost, 0u);
  EXPECT_LE(lost, 6 * 6 * trace::kSlots);
  EXPECT_THAT(
      log, HasSubstr("the timeline lacks " + std::to_string(lost) + " events"));
  EXPECT_EQ(file.spans.at("allreduce.waits").back(), "E NEGOTIATE_ALLREDUCE");
  EXPECT_EQ(file.spans.at("training").back(), "E backward");
}

TEST_F(TimelineTest, FollowsSeveralThreads) {
  constexpr int kThreads = 3;
  constexpr int kEach = 500;
  start();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, mine = name("of" + std::to_string(t))] {
      for (int i = 0; i < kEach; ++i) {
        submit(mine);
        recorder_.write(EventKind::kRefused, {.name = mine});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const TimelineFile file = stop();
  EXPECT_EQ(file.lost, 0);
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(file.spans.at("allreduce.of" + std::to_string(t)).size(),
              2u * kEach);
  }
}

TEST_F(TimelineTest, AFullDiskEndsItWithOneWarning) {
  CaptureStderr();
  start();
  batch(name("fits"));
  trace_.flush();
  {
    const FileSizeLimit limit(2000);
    for (int i = 0; i < 5; ++i) {
      for (int k = 0; k < 10; ++k) batch(name("a"));
      trace_.flush();
    }
  }
  batch(name("late"));
  trace_.stop_timeline();
  const std::string log = GetCapturedStderr();
  EXPECT_THAT(
      log, HasSubstr("the timeline ends here, and the job goes on: " + path_));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  const TimelineFile file = read_timeline(path_, /*is_closed=*/false);
  EXPECT_TRUE(file.spans.contains("allreduce.fits"));
  EXPECT_FALSE(file.spans.contains("allreduce.late"));
}

TEST_F(TimelineTest, AFileThatCannotBeWrittenIsAWarning) {
  CaptureStderr();
  trace_.start_timeline({.path = folder_.path("no/timeline.json")});
  batch(name("a"));
  trace_.stop_timeline();
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("cannot write the timeline"));
}

TEST_F(TimelineTest, OneFileIsOfRank0AndOneWithRankInItsNameOfEach) {
  for (const int rank : {0, 1}) {
    RankTrace trace;
    const std::string one = folder_.path("of" + std::to_string(rank));
    trace.start_timeline({.path = one, .rank = rank});
    trace.stop_timeline();
    EXPECT_EQ(std::filesystem::exists(one), rank == 0);
    trace.start_timeline({.path = folder_.path("{rank}.json"), .rank = rank});
    trace.stop_timeline();
    const TimelineFile file =
        read_timeline(folder_.path(std::to_string(rank) + ".json"));
    EXPECT_EQ(file.names.at(0), "rank " + std::to_string(rank));
  }
}

TEST_F(TimelineTest, RanksWritePartsIfAsked) {
  for (const int rank : {0, 2}) {
    RankTrace trace;
    trace.start_timeline({.path = path_, .rank = rank, .parts = true});
    trace.stop_timeline();
  }
  EXPECT_EQ(read_timeline(path_).names.at(0), "rank 0");
  EXPECT_EQ(read_timeline(path_ + ".rank2").names.at(0), "rank 2");
}

TEST_F(TimelineTest, OnlyRank0WarnsOfPartsThatCannotBeWritten) {
  CaptureStderr();
  for (const int rank : {0, 1}) {
    RankTrace trace;
    trace.start_timeline({.path = folder_.path("no/timeline.json"),
                          .rank = rank,
                          .parts = true});
  }
  const std::string log = GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST_F(TimelineTest, ANewFileReplacesTheOld) {
  start();
  batch(name("a"));
  const std::string other = folder_.path("other.json");
  trace_.start_timeline({.path = other});
  batch(name("b"));
  trace_.stop_timeline();
  EXPECT_FALSE(read_timeline(path_).spans.contains("allreduce.b"));
  EXPECT_FALSE(read_timeline(other).spans.contains("allreduce.a"));
}

}  // namespace
}  // namespace hvd::telemetry
