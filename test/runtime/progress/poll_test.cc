// SPDX-License-Identifier: Apache-2.0
// When a submission wakes its rank, which waits in a plane. The test drives the
// job, which has one rank, by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "test/runtime/execution/fake_plane.h"
#include "test/runtime/progress/driven_rank.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

class Attend : public DrivenRank {
 protected:
  static constexpr int kStepsBeforeCycle = 3;

  Attend()
      : DrivenRank(0, 1, [this](const auto&) {
          Planes::List list;
          list.push_back(std::make_unique<FakePlane>(calls_));
          return list;
        }) {
    EXPECT_TRUE(executor_.add_set(coordinator::kGlobalSet, {0}).ok());
    monitor_.set_poll([this] { return progress_.poll(); },
                      [this] { return progress_.poll_due(); });
    calls_.outcome = [this](std::size_t) {
      if (in_call_) std::exchange(in_call_, nullptr)();
      return absl::OkStatus();
    };
  }

  // Returns whether the submission must wake a thread.
  bool submit(const std::string& name) {
    const auto mine = submission(name, [this](const auto& outcome) {
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      ++done_;
    });
    mine->inputs = {TensorView::of(&value_, {1})};
    mine->outputs = {TensorView::of(&value_, {1})};
    const absl::StatusOr<bool> wakes = queue_.push(mine);
    EXPECT_TRUE(wakes.ok()) << wakes.status();
    return *wakes;
  }

  // Drives until all submissions are done.
  void drive() {
    const int submitted = ++expected_;
    EXPECT_TRUE(
        progress_.help({.name = "x"}, [&] { return done_ >= submitted; }));
  }

  // Executes "x"; `in_call` runs while the plane waits.
  void step(std::function<void()> in_call = nullptr) {
    in_call_ = std::move(in_call);
    submit("x");
    drive();
  }

  FakeCalls calls_;
  float value_ = 1;
  int done_ = 0;
  int expected_ = 0;
  std::function<void()> in_call_;
};

TEST_F(Attend, SubmissionsBeforeACycleAreSentToThePeers) {
  bool wakes = false;
  step([&] {
    EXPECT_EQ(monitor_.check(), absl::OkStatus());
    wakes = submit("y");
    EXPECT_EQ(monitor_.check(), absl::OkStatus());
    EXPECT_FALSE(queue_.has_changes());
  });
  EXPECT_TRUE(wakes);
  drive();
}

TEST_F(Attend, SubmissionsInACycleWakeNoThread) {
  for (int i = 0; i < 4 * kStepsBeforeCycle; ++i) step();
  ASSERT_TRUE(coordinator_.follows_cycle());
  bool wakes = true;
  step([&] {
    EXPECT_EQ(monitor_.check(), absl::OkStatus());
    const auto due = monitor_.verdict_due();
    ASSERT_TRUE(due.has_value());
    EXPECT_LE(*due, steady_clock::now() + kMaxUnseenTime);
    wakes = submit("y");
    EXPECT_EQ(monitor_.check(), absl::OkStatus());
    EXPECT_FALSE(queue_.has_changes());
    // The submission is not in the cycle, so the cycle is about to end.
    EXPECT_FALSE(coordinator_.follows_cycle());
  });
  EXPECT_FALSE(wakes);
  drive();
}

// The driver may leave the work to a thread that sleeps.
TEST_F(Attend, SubmissionsAfterTheBatchWakeAgain) {
  for (int i = 0; i < 4 * kStepsBeforeCycle; ++i) step();
  ASSERT_TRUE(coordinator_.follows_cycle());
  step([&] { EXPECT_EQ(monitor_.check(), absl::OkStatus()); });
  EXPECT_TRUE(submit("x"));
  drive();
}

}  // namespace
}  // namespace hvd::runtime
