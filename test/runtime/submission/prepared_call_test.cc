// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/prepared_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/runtime/prepared.h"
#include "horovodpp/runtime/submission/submissions.h"
#include "test/runtime/submission/recorded_submissions.h"
#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"

#include "horovodpp/runtime/settings/options.h"

namespace hvd::runtime {
namespace {

using ::testing::HasSubstr;

class PreparedCallTest : public RecordedSubmissions {
 protected:
  void wait_for(const SubmissionPtr&, const Ready& ready) override {
    ++(ready ? waits_ : announced_);
    if (ready) submitted_.back()->done(absl::CancelledError("waited for"));
  }

  void SetUp() override {
    sets_.add(1, {0, 1});
    const ProcessSet set = sets_.all().back();
    call_.emplace(
        *submission(sets_, coordinator::RequestKind::kAllreduce,
                    {ConstTensorView::of(&x_, {1})},
                    AllreduceOptions{.name = "x", .process_set = set}),
        set, sets_, sink_);
  }

  float x_ = 1;
  int waits_ = 0;
  int announced_ = 0;
  std::optional<PreparedCall> call_;
};

TEST_F(PreparedCallTest, IsOneSubmissionEachTime) {
  for (int i = 0; i < 3; ++i) {
    call_->start();
    EXPECT_FALSE(call_->poll());
    submitted_.back()->done(Results());
    EXPECT_TRUE(call_->poll());
    EXPECT_EQ(call_->wait(), absl::OkStatus());
    EXPECT_EQ(call_->wait(), absl::OkStatus());
  }
  EXPECT_EQ(submitted_.size(), 3u);
  EXPECT_EQ(submitted_[0], submitted_[2]);
  EXPECT_EQ(waits_, 0);
}

TEST_F(PreparedCallTest, IsExpectedUntilItsEnd) {
  EXPECT_EQ(expected_, 1);
  call_.reset();
  EXPECT_EQ(expected_, 0);
}

TEST_F(PreparedCallTest, KeepsTheFirstOutcomeUntilTheNextStart) {
  call_->start();
  submitted_.back()->done(absl::AbortedError("broken"));
  submitted_.back()->done(Results());
  EXPECT_EQ(call_->wait().message(), "broken");
  call_->start();
  submitted_.back()->done(Results());
  EXPECT_EQ(call_->wait(), absl::OkStatus());
}

TEST_F(PreparedCallTest, IsAwaitedBeforeARestartAndItsEnd) {
  call_->start();
  call_->start();
  EXPECT_EQ(waits_, 1);
  call_.reset();
  EXPECT_EQ(waits_, 2);
}

TEST_F(PreparedCallTest, ManyPollsAnnounceOneWait) {
  call_->start();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(call_->poll());
  EXPECT_EQ(announced_, 1);
}

TEST_F(PreparedCallTest, EndsWithItsSet) {
  sets_.remove(1);
  call_->start();
  EXPECT_TRUE(absl::IsInvalidArgument(call_->wait()));
  // A new set may reuse the id.
  sets_.add(1, {0});
  call_->start();
  EXPECT_TRUE(absl::IsInvalidArgument(call_->wait()));
  EXPECT_TRUE(submitted_.empty());
}

TEST_F(PreparedCallTest, IsRefusedWhileThisRankHasJoinedItsSet) {
  const ProcessSet set = sets_.all().back();
  coordinator::Request join = {.kind = coordinator::RequestKind::kJoin,
                               .key = {.process_set = set.id(), .name = ""}};
  ASSERT_EQ(sets_.admit(set, join), absl::OkStatus());
  call_->start();
  EXPECT_TRUE(absl::IsFailedPrecondition(call_->wait()));
  EXPECT_TRUE(submitted_.empty());
  sets_.join_ended(set.id(), true);
  call_->start();
  ASSERT_EQ(submitted_.size(), 1u);
  submitted_.back()->done(Results());
  EXPECT_EQ(call_->wait(), absl::OkStatus());
}

TEST(Prepared, EndsWithItsJob) {
  float value = 1;
  std::optional<Prepared> prepared;
  run_world({.size = 1}, [&](Runtime& job, auto&) {
    prepared =
        *job.prepare_allreduce_(TensorView::of(&value, {1}), {.name = "x"});
    EXPECT_EQ(prepared->run(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(prepared->run()));
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(prepared->run()));
}

// The call must be prepared anew in the next job.
TEST(Prepared, FailsWithItsBrokenJob) {
  std::latch all_have_run(2);
  run_world({.size = 2}, [&](Runtime& job, auto&) {
    float value = 1;
    const TensorView view = TensorView::of(&value, {1});
    Prepared prepared = *job.prepare_allreduce_(view, {.name = "x"});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(prepared.run(), absl::OkStatus());
    all_have_run.arrive_and_wait();
    if (job.topology().rank() == 0) job.abort("is tired");
    while (prepared.run().ok()) {
    }
    EXPECT_TRUE(absl::IsAborted(prepared.wait()));
    EXPECT_TRUE(absl::IsAborted(prepared.run()));
    auto next = job.reform();
    ASSERT_EQ(next.status(), absl::OkStatus());
    EXPECT_FALSE(prepared.run().ok());
    prepared = *(*next)->prepare_allreduce_(view, {.name = "x"});
    EXPECT_EQ(prepared.run(), absl::OkStatus());
    EXPECT_EQ((*next)->stop(), absl::OkStatus());
  });
}

// Moving or destroying a call in flight waits, because the call borrows memory.
TEST(Prepared, IsAwaitedWhenMovedOrDestroyed) {
  run_world({.size = 2}, [](Runtime& job, auto&) {
    for (int i = 0; i < 100; ++i) {
      float value = 1;
      Prepared one = *job.prepare_allreduce_(
          TensorView::of(&value, {1}), {.name = "x", .op = ReduceOp::kSum});
      one.start();
      if (i % 2 == 0) continue;
      std::thread([&] { EXPECT_EQ(one.wait(), absl::OkStatus()); }).join();
      EXPECT_EQ(value, 2);
    }
  });
}

// Both ranks run the call so often that it becomes a cycle.
void run_often(Runtime& job, Prepared& call) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(call.run(), absl::OkStatus()) << suite::rank_of(job);
  }
}

// One rank enters the call at once; the other rank never does.
TEST(Prepared, ALoneCallEndsWithALeavingRank) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    float x = 1;
    auto call = *job.prepare_allreduce_(TensorView::of(&x, {1}), {.name = "x"});
    run_often(job, call);
    if (suite::rank_of(job) == 1) {
      EXPECT_EQ(job.stop(), absl::OkStatus());
      return;
    }
    const Status end = call.run();
    EXPECT_TRUE(absl::IsCancelled(end)) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr("rank 1"));
    EXPECT_EQ(x, 1);
  });
}

TEST(Prepared, ALoneCallBreaksWithTheJob) {
  std::latch all_have_run(2);
  run_world({.size = 2}, [&](Runtime& job, transport::LoopbackWorld&) {
    float x = 1;
    auto call = *job.prepare_allreduce_(TensorView::of(&x, {1}), {.name = "x"});
    run_often(job, call);
    all_have_run.arrive_and_wait();
    if (suite::rank_of(job) == 1) return job.abort("has had enough");
    const Status end = call.run();
    EXPECT_TRUE(absl::IsAborted(end)) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr("has had enough"));
  });
}

// Each rank uses another order, so no cycle lasts long.
TEST(Prepared, ThreadsOfARankRunTheirsAtTheSameTime) {
  run_world({.size = 2}, [](Runtime& job, transport::LoopbackWorld&) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&job, thread] {
        float x = 1;
        const std::string name = "x" + std::to_string(thread);
        auto call = *job.prepare_allreduce_(
            TensorView::of(&x, {1}), {.name = name, .op = ReduceOp::kSum});
        for (int i = 0; i < 200; ++i) {
          x = 1;
          ASSERT_EQ(call.run(), absl::OkStatus());
          ASSERT_EQ(x, 2);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_F(PreparedCallTest, StartsAtOnceIfPossible) {
  EXPECT_FALSE(call_->start_at_once());
  tried_as_ = Quick::kDone;
  ASSERT_TRUE(call_->start_at_once());
  EXPECT_TRUE(call_->poll());
  EXPECT_EQ(call_->wait(), absl::OkStatus());
  tried_as_ = Quick::kBegun;
  ASSERT_TRUE(call_->start_at_once());
  EXPECT_FALSE(call_->poll());
  EXPECT_FALSE(call_->start_at_once());  // In flight.
  submitted_.back()->done(absl::AbortedError("broken"));
  EXPECT_EQ(call_->wait().message(), "broken");
  tried_as_ = Quick::kDone;
  ASSERT_TRUE(call_->start_at_once());
  EXPECT_EQ(call_->wait(), absl::OkStatus());
  sets_.remove(1);
  EXPECT_FALSE(call_->start_at_once());  // The set is gone.
  sink_.reset();
  EXPECT_FALSE(call_->start_at_once());
  EXPECT_EQ(waits_, 0);
}

}  // namespace
}  // namespace hvd::runtime
