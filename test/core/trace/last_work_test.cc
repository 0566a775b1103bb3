// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/last_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/core/trace/ticks.h"

namespace hvd::trace {
namespace {

using ::testing::MatchesRegex;
using ::testing::StartsWith;

class LastWorkTest : public ::testing::Test {
 protected:
  LastWorkTest() { recorder_->begin_job(1, 4); }

  std::uint32_t name(const std::string& text) {
    return recorder_->name("allreduce", text);
  }
  void submit(const std::string& text) {
    recorder_->write(EventKind::kSubmitted, {.name = name(text)});
  }
  void begin_batch(std::uint32_t size) {
    recorder_->write(EventKind::kBatchBegins,
                     {.name = size, .value = pack(3, 812)});
  }
  void enter(const std::string& text) {
    recorder_->write(EventKind::kBatchEntry, {.name = name(text)});
  }
  void call(const std::string& plane) {
    recorder_->write(EventKind::kCallBegins,
                     {.label = recorder_->label(plane)});
  }
  void end_batch(BatchEnd how) {
    recorder_->write(
        EventKind::kBatchEnds,
        {.detail = static_cast<std::uint8_t>(how), .value = pack(3, 812)});
  }
  void break_job() { recorder_->write(EventKind::kJobBreaks, {}); }

  // Of the rank, two seconds from now.
  std::string work(bool is_over = true) {
    return describe_work(recorder_->reader(),
                         steady_nanoseconds() + 2'000'000'000, is_over);
  }

  const std::shared_ptr<Recorder> recorder_ = Recorder::open();
};

TEST_F(LastWorkTest, NamesTheBatchThePlaneAndTheTime) {
  for (const char* text : {"a", "b", "c", "d"}) submit(text);
  begin_batch(4);
  for (const char* text : {"a", "b", "c", "d"}) enter(text);
  call("shm");
  EXPECT_THAT(work(), MatchesRegex("was in allreduce batch 812 \\(a, b, c and "
                                   "1 more\\) for [0-9.]+ s, by shm"));
  EXPECT_THAT(work(false), StartsWith("is in allreduce batch 812 ("));
}

TEST_F(LastWorkTest, NamesTheOldestOperationThatWaits) {
  submit("done");
  submit("first");
  submit("second");
  begin_batch(1);
  enter("done");
  end_batch(BatchEnd::kDone);
  EXPECT_THAT(work(), MatchesRegex("waited for allreduce of first for [0-9.]+ "
                                   "s, and for 1 more"));
  EXPECT_THAT(work(false), StartsWith("waits for allreduce of first"));
}

TEST_F(LastWorkTest, TellsTheLastBatchIfNothingIsInFlight) {
  EXPECT_EQ(work(), "had nothing in flight");
  submit("a");
  begin_batch(1);
  enter("a");
  end_batch(BatchEnd::kDone);
  EXPECT_THAT(work(), MatchesRegex("had nothing in flight; its last batch, "
                                   "812, ended [0-9.]+ s before"));
  recorder_->write(EventKind::kDoneAtOnce, {.name = name("a")});
  EXPECT_THAT(work(false),
              MatchesRegex("has nothing in flight; its last operation, "
                           "allreduce of a, ended [0-9.]+ s ago"));
}

TEST_F(LastWorkTest, TheEntriesThatALongBatchDoesNotNameAreDone) {
  for (const char* text : {"a", "b", "c"}) submit(text);
  begin_batch(3);
  enter("a");
  submit("later");
  end_batch(BatchEnd::kDone);
  EXPECT_THAT(work(), StartsWith("waited for allreduce of later for "));
}

TEST_F(LastWorkTest, AnAbandonedBatchWaitsAgain) {
  submit("a");
  begin_batch(1);
  enter("a");
  end_batch(BatchEnd::kAbandoned);
  EXPECT_THAT(work(), StartsWith("waited for allreduce of a for "));
}

TEST_F(LastWorkTest, WorkOnAGpuGoesOn) {
  submit("a");
  begin_batch(1);
  enter("a");
  end_batch(BatchEnd::kGoesOnOnGpu);
  EXPECT_THAT(work(), StartsWith("was in allreduce batch 812 (a) for "));
  recorder_->write(EventKind::kWorkEnds, {.value = pack(3, 812)});
  EXPECT_THAT(work(), StartsWith("had nothing in flight; its last batch, 812"));
}

// A failed batch ends just before the job breaks.
TEST_F(LastWorkTest, TellsTheWorkAtTheBreak) {
  submit("a");
  begin_batch(1);
  enter("a");
  end_batch(BatchEnd::kFailed);
  break_job();
  submit("b");
  EXPECT_THAT(work(false),
              MatchesRegex("was in allreduce batch 812 \\(a\\) for "
                           "[0-9.]+ ms, when the job broke"));
  recorder_->begin_job(0, 3);
  EXPECT_EQ(work(false), "has nothing in flight");
}

TEST_F(LastWorkTest, ARefusedOperationIsOver) {
  submit("a");
  recorder_->write(EventKind::kRefused, {.name = name("a")});
  EXPECT_EQ(work(), "had nothing in flight");
  recorder_->write(EventKind::kJobEnds, {});
  EXPECT_EQ(work(), "had left the job");
}

TEST_F(LastWorkTest, LongNamesLeaveItShort) {
  const std::string text(1000, 'n');
  for (const char* end : {"1", "2", "3", "4"}) submit(text + end);
  begin_batch(4);
  for (const char* end : {"1", "2", "3", "4"}) enter(text + end);
  call(text);
  EXPECT_LE(work().size(), 250u);
}

}  // namespace
}  // namespace hvd::trace
