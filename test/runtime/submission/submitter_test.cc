// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/submitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "horovodpp/runtime/submission/submissions.h"

#include "horovodpp/runtime/settings/options.h"

namespace hvd::runtime {
namespace {

using coordinator::RequestKind;
using coordinator::Results;
using ::testing::ElementsAre;

class SubmitterTest : public ::testing::Test, public SubmissionSink {
 protected:
  void submit(const SubmissionPtr& submission) override {
    submitted_.push_back(submission);
  }
  void wait_for(const SubmissionPtr& awaited, const Ready& ready) override {
    waited_for_.push_back(awaited->request.key.name);
    if (in_wait_) return in_wait_(ready);
    submitted_.front()->done(Results());
  }
  void callback_threw(const std::string& what) override { thrown_ = what; }

  absl::StatusOr<SubmissionPtr> built(const std::string& name = "x") {
    return submission(sets_, RequestKind::kAllreduce,
                      {ConstTensorView::of(x_, {2})},
                      AllreduceOptions{.name = name});
  }

  float x_[2] = {1, 2};
  SetTable sets_{0, 2};
  std::vector<SubmissionPtr> submitted_;
  std::vector<std::string> waited_for_;
  std::function<void(const Ready&)> in_wait_;
  std::string thrown_;
  std::unique_ptr<Submitter> submitter_ =
      std::make_unique<Submitter>(sets_, *this);
};

TEST_F(SubmitterTest, AFutureHasTheOutcomeOfItsSubmission) {
  const Future<void> fine =
      submitter_->in_place(built(), {TensorView::of(x_, {2})});
  const Future<void> bad = submitter_->in_place(built("y"), {});
  ASSERT_EQ(submitted_.size(), 2u);
  EXPECT_EQ(submitted_[0]->outputs.size(), 1u);
  submitted_[0]->done(Results());
  submitted_[1]->done(absl::AbortedError("no"));
  EXPECT_EQ(fine.wait(), absl::OkStatus());
  EXPECT_EQ(bad.wait().message(), "no");
}

TEST_F(SubmitterTest, ResultsLikeTheInputsAreInMemoryOfTheirOwn) {
  const Future<Buffer> one = submitter_->in_new_memory<Buffer>(built());
  const Future<std::vector<Buffer>> all =
      submitter_->in_new_memory<std::vector<Buffer>>(built("y"));
  for (const SubmissionPtr& s : submitted_) {
    *static_cast<float*>(s->outputs.at(0).data()) = 7;
    s->done(Results());
  }
  EXPECT_EQ(one.wait()->data<float>()[0], 7);
  EXPECT_EQ(all.wait()->at(0).data<float>()[0], 7);
  EXPECT_EQ(x_[0], 1);
}

TEST_F(SubmitterTest, ACallThatWasNotBuiltIsNotSubmitted) {
  const absl::Status why = absl::InvalidArgumentError("no");
  EXPECT_EQ(submitter_->in_place(why, {}).wait(), why);
  EXPECT_EQ(submitter_->in_new_memory<Buffer>(why).wait().status(), why);
  EXPECT_EQ(submitter_->in_new_memory<std::vector<Buffer>>(why).wait().status(),
            why);
  EXPECT_TRUE(submitted_.empty());
}

TEST_F(SubmitterTest, ABlockingWaitIsAnnouncedOnce) {
  const Future<void> done = submitter_->in_place(built(""), {});
  EXPECT_TRUE(waited_for_.empty());
  EXPECT_EQ(done.wait(), absl::OkStatus());
  EXPECT_EQ(done.wait(), absl::OkStatus());
  EXPECT_THAT(waited_for_, ElementsAre("allreduce.noname.0"));
}

TEST_F(SubmitterTest, FuturesThatOutliveTheSubmitterMayBeWaitedFor) {
  const Future<void> done = submitter_->in_place(built(), {});
  submitter_.reset();
  EXPECT_FALSE(done.wait_for(std::chrono::milliseconds(1)));
  EXPECT_TRUE(waited_for_.empty());
  submitted_[0]->done(absl::CancelledError("gone"));
  EXPECT_TRUE(absl::IsCancelled(done.wait()));
}

TEST_F(SubmitterTest, AJoinIsOverBeforeItsFutureIsReady) {
  const auto join = [this] {
    return submitter_->submit<int>(
        bare_submission(sets_, RequestKind::kJoin, ProcessSet::global()),
        [](const Results& results) -> Outcome<int> {
          return static_cast<int>(results.number);
        });
  };
  const Future<int> first = join();
  EXPECT_TRUE(
      absl::IsFailedPrecondition(submitter_->in_place(built(), {}).wait()));
  Future<void> next;
  first.then([&](const absl::StatusOr<int>&) {
    next = submitter_->in_place(built(), {});
  });
  submitted_[0]->done(Results{.number = 1});
  EXPECT_EQ(*first.wait(), 1);
  EXPECT_FALSE(next.poll());  // Not refused.
  submitted_.back()->done(Results());
  // Also if it fails.
  const Future<int> second = join();
  submitted_.back()->done(absl::CancelledError("no"));
  EXPECT_FALSE(second.wait().ok());
  EXPECT_FALSE(join().poll());
}

TEST_F(SubmitterTest, ACallbacksExceptionIsReportedAndGoesNoFurther) {
  submitter_->in_place(built(), {}).then([](const absl::Status&) {
    throw std::runtime_error("the disk is full");
  });
  submitter_->in_place(built("y"), {}).then([](const absl::Status&) {
    throw 7;
  });
  submitted_[0]->done(Results());
  EXPECT_EQ(thrown_, "the disk is full");
  submitted_[1]->done(Results());
  EXPECT_EQ(thrown_, "not a std::exception");
}

TEST_F(SubmitterTest, ACallbacksExceptionAfterTheSubmitterIsDropped) {
  submitter_->in_place(built(), {}).then([](const absl::Status&) { throw 7; });
  submitter_.reset();
  submitted_[0]->done(Results());
  EXPECT_EQ(thrown_, "");
}

// A thread that waits while the job ends returns, and does not use the
// destroyed Submitter.
TEST_F(SubmitterTest, WaitingRacesWithTheEnd) {
  in_wait_ = [](const Ready&) {};
  for (int round = 0; round < 200; ++round) {
    submitted_.clear();
    auto submitter = std::make_unique<Submitter>(sets_, *this);
    const Future<void> done = submitter->in_place(built(), {});
    std::thread waiter([done] { EXPECT_TRUE(absl::IsCancelled(done.wait())); });
    submitted_[0]->done(absl::CancelledError("the end"));
    submitter.reset();
    waiter.join();
  }
}

// The job, in which the thread waits, is destroyed after the Submitter.
TEST_F(SubmitterTest, ItsEndWaitsForThreadsInside) {
  std::latch is_there(1);
  std::latch may_leave(1);
  std::atomic<bool> has_left = false;
  in_wait_ = [&](const Ready& ready) {
    EXPECT_FALSE(ready());
    is_there.count_down();
    may_leave.wait();
    has_left.store(true);
  };
  const Future<void> done = submitter_->in_place(built(), {});
  std::thread waiter([done] { EXPECT_TRUE(absl::IsCancelled(done.wait())); });
  is_there.wait();
  std::thread ends_it([&] {
    submitter_.reset();
    EXPECT_TRUE(has_left.load());
  });
  may_leave.count_down();
  ends_it.join();
  submitted_[0]->done(absl::CancelledError("the end"));
  waiter.join();
}

}  // namespace
}  // namespace hvd::runtime
