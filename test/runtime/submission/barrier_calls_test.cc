// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/barrier_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "test/runtime/submission/recorded_submissions.h"

namespace hvd::runtime {
namespace {

using coordinator::RequestKind;
using ::testing::ElementsAre;

class BarrierCallsTest : public RecordedSubmissions {
 protected:
  void wait_for(const SubmissionPtr&, const Ready& ready) override {
    waited_for_.push_back(ready ? "blocks" : "knows");
    if (ready) end();
  }

  Future<void> barrier(const ProcessSet& set = ProcessSet::global()) {
    return calls_->begin(set);
  }
  SubmissionPtr other(RequestKind kind) {
    auto submission = std::make_shared<coordinator::Submission>();
    submission->request.kind = kind;
    return submission;
  }

  std::vector<std::string> waited_for_;
  std::optional<BarrierCalls> calls_{std::in_place, sets_, sink_};
};

TEST_F(BarrierCallsTest, AllOfASetAreOneSubmission) {
  for (int i = 0; i < 3; ++i) {
    const Future<void> passed = barrier();
    EXPECT_FALSE(passed.poll());
    end();
    EXPECT_EQ(passed.wait(), absl::OkStatus());
  }
  ASSERT_EQ(submitted_.size(), 3u);
  EXPECT_EQ(submitted_[0], submitted_[2]);
  EXPECT_EQ(submitted_[0]->request.kind, RequestKind::kBarrier);
  EXPECT_FALSE(submitted_[0]->request.once);
  EXPECT_EQ(expected_, 1);
  submitted_.clear();
  calls_.reset();
  EXPECT_EQ(expected_, 0);
}

TEST_F(BarrierCallsTest, TheSecondIsSubmittedWhenTheFirstIsPassed) {
  const Future<void> first = barrier();
  const Future<void> second = barrier();
  EXPECT_EQ(submitted_.size(), 1u);
  end();
  EXPECT_TRUE(first.poll());
  EXPECT_FALSE(second.poll());
  EXPECT_EQ(submitted_.size(), 2u);
  end();
  EXPECT_TRUE(second.poll());
}

TEST_F(BarrierCallsTest, AWaitBehindIsAnnouncedAtItsTurn) {
  const Future<void> first = barrier();
  const Future<void> second = barrier();
  EXPECT_EQ(second.wait_for(0), false);
  EXPECT_THAT(waited_for_, ElementsAre("knows"));
  end();
  EXPECT_THAT(waited_for_, ElementsAre("knows", "knows"));
  end();
  // The second barrier is over, so its waiter is forgotten.
  const Future<void> third = barrier();
  EXPECT_THAT(waited_for_, ElementsAre("knows", "knows"));
  EXPECT_EQ(third.wait(), absl::OkStatus());
  EXPECT_THAT(waited_for_, ElementsAre("knows", "knows", "blocks"));
}

TEST_F(BarrierCallsTest, SetsDoNotWaitForEachOther) {
  sets_.add(1, {0, 1});
  const ProcessSet set = sets_.all().back();
  const Future<void> first = barrier();
  const Future<void> second = barrier(set);
  ASSERT_EQ(submitted_.size(), 2u);
  EXPECT_EQ(submitted_[1]->request.key.process_set, 1u);
  end();
  EXPECT_TRUE(second.poll());
  EXPECT_FALSE(first.poll());
}

TEST_F(BarrierCallsTest, AJoinWaitsBehindThoseThatWait) {
  const SubmissionPtr at_once = other(RequestKind::kJoin);
  calls_->submit_behind(0, at_once);
  EXPECT_EQ(submitted_.back(), at_once);
  const Future<void> first = barrier();
  calls_->submit_behind(0, at_once);
  EXPECT_EQ(submitted_.back(), at_once);  // A join follows barriers in flight.
  submitted_.pop_back();
  const Future<void> second = barrier();
  const SubmissionPtr join = other(RequestKind::kJoin);
  calls_->submit_behind(0, join);
  EXPECT_NE(submitted_.back(), join);
  const Future<void> third = barrier();
  end();
  EXPECT_NE(submitted_.back(), join);
  end();
  EXPECT_TRUE(second.poll());
  // The barrier behind the join goes on.
  ASSERT_GE(submitted_.size(), 2u);
  EXPECT_EQ(submitted_[submitted_.size() - 2], join);
  end();
  EXPECT_TRUE(third.poll());
}

TEST_F(BarrierCallsTest, TheEndOfTheJobEndsAllBarriers) {
  std::vector<Future<void>> all;
  for (int i = 0; i < 100'000; ++i) all.push_back(barrier());
  refusal_ = absl::AbortedError("no");
  end(refusal_);
  for (const Future<void>& one : all) EXPECT_EQ(one.wait(), refusal_);
  EXPECT_EQ(barrier().wait(), refusal_);
  EXPECT_EQ(submitted_.size(), 2u);
}

TEST_F(BarrierCallsTest, ARepeatedOutcomeIsIgnored) {
  const Future<void> first = barrier();
  end(absl::AbortedError("no"));
  end(absl::AbortedError("no"));
  EXPECT_TRUE(absl::IsAborted(first.wait()));
}

TEST_F(BarrierCallsTest, RefusesNonMembersAndJoinedRanks) {
  sets_.add(1, {1});
  const ProcessSet set = sets_.all().back();
  EXPECT_TRUE(absl::IsInvalidArgument(barrier(set).wait()));
  const Future<void> passed = barrier();
  end();
  coordinator::Request join;
  join.kind = RequestKind::kJoin;
  ASSERT_EQ(sets_.admit(ProcessSet::global(), join), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(barrier().wait()));
  EXPECT_EQ(submitted_.size(), 1u);
}

TEST_F(BarrierCallsTest, ACallbackMayCallTheNext) {
  Future<void> next;
  barrier().then([&](const absl::Status&) { next = barrier(); });
  end();
  EXPECT_FALSE(next.poll());
  end();
  EXPECT_TRUE(next.poll());
}

TEST_F(BarrierCallsTest, ACallbacksExceptionIsReported) {
  barrier().then([](const absl::Status&) { throw std::runtime_error("full"); });
  end();
  EXPECT_EQ(thrown_, "full");
}

TEST_F(BarrierCallsTest, AfterTheJobEachFails) {
  sink_.reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(barrier().wait()));
}

TEST_F(BarrierCallsTest, ABarrierPassedAtOnceIsNotSubmitted) {
  tried_as_ = Quick::kDone;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(calls_->run_at_once(ProcessSet::global()), Status());
  }
  EXPECT_EQ(tried_, 2);
  EXPECT_TRUE(submitted_.empty());
  // Another barrier is in flight.
  const Future<void> first = barrier();
  EXPECT_EQ(calls_->run_at_once(ProcessSet::global()), std::nullopt);
  end();
  EXPECT_EQ(first.wait(), absl::OkStatus());
  tried_as_ = Quick::kNot;
  EXPECT_EQ(calls_->run_at_once(ProcessSet::global()), std::nullopt);
  EXPECT_EQ(submitted_.size(), 1u);
}

TEST_F(BarrierCallsTest, ABarrierWithLatePeersBlocks) {
  tried_as_ = Quick::kBegun;
  EXPECT_EQ(calls_->run_at_once(ProcessSet::global()), Status());
  EXPECT_THAT(waited_for_, ElementsAre("blocks"));
  EXPECT_EQ(submitted_.size(), 1u);
  EXPECT_FALSE(barrier().poll());
  EXPECT_EQ(submitted_.size(), 2u);
  end();
}

TEST_F(BarrierCallsTest, OthersWaitBehindABarrierTriedAtOnce) {
  for (const Quick tried_as : {Quick::kDone, Quick::kNot}) {
    submitted_.clear();
    tried_as_ = tried_as;
    const SubmissionPtr join = other(RequestKind::kJoin);
    Future<void> behind;
    while_tried_ = [&] {
      behind = barrier();
      calls_->submit_behind(0, join);
      EXPECT_TRUE(submitted_.empty());
    };
    calls_->run_at_once(ProcessSet::global());
    ASSERT_EQ(submitted_.size(), 1u);
    end();
    EXPECT_EQ(behind.wait(), absl::OkStatus());
    EXPECT_EQ(submitted_.back(), join);
  }
}

// A thread that runs a barrier at once does not wait for another thread's
// barrier.
TEST_F(BarrierCallsTest, ABarrierOfAnotherThreadIsSubmittedForIt) {
  tried_as_ = Quick::kDone;
  Future<void> of_another;
  while_tried_ = [&] { of_another = barrier(); };
  EXPECT_EQ(calls_->run_at_once(ProcessSet::global()), Status());
  EXPECT_EQ(submitted_.size(), 1u);
  EXPECT_EQ(for_another_, 1);
  // A later caller may wait for its own barrier.
  const Future<void> second = barrier();
  end();
  end();
  EXPECT_TRUE(second.poll());
  EXPECT_EQ(for_another_, 2);
  const Future<void> third = barrier();
  EXPECT_EQ(submitted_.size(), 3u);
  EXPECT_EQ(for_another_, 2);
  end();
}

}  // namespace
}  // namespace hvd::runtime
