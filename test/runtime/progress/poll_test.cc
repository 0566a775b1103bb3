// SPDX-License-Identifier: Apache-2.0
// When a submission wakes its rank, which waits in a plane. The test drives the
// job, which has one rank, by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "horovodpp/runtime/job/node_layout.h"
#include "horovodpp/runtime/progress/progress.h"
#include "horovodpp/transport/loopback/loopback.h"
#include "test/runtime/execution/fake_plane.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

class Attend : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 16;
  static constexpr std::uint32_t kEpoch = 1;
  static constexpr int kStepsBeforeCycle = 3;

  Attend() {
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
    const auto submission = std::make_shared<coordinator::Submission>();
    submission->request.key.name = name;
    submission->request.tensors = {{DType::kF32, Shape({1})}};
    submission->inputs = {TensorView::of(&value_, {1})};
    submission->outputs = {TensorView::of(&value_, {1})};
    submission->done = [this](const auto& outcome) {
      EXPECT_TRUE(outcome.ok()) << outcome.status();
      ++done_;
    };
    const absl::StatusOr<bool> wakes = queue_.push(submission);
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

  std::unique_ptr<transport::NodeSegment> open_segment() {
    return *transport::NodeSegment::open(*wires_, topology_, layout_.bytes(),
                                         steady_clock::time_point::max());
  }

  transport::LoopbackWorld world_{1};
  const NodeLayout layout_{1, kSlots};
  const std::unique_ptr<transport::Communicator> wires_ =
      world_.communicator(0);
  const Topology topology_ = *Topology::from_peers(0, wires_->peers());
  const std::unique_ptr<transport::NodeSegment> segment_ = open_segment();
  transport::FailureRecord early_leave_ = {};
  FailureMonitor monitor_{topology_, *segment_, early_leave_, kEpoch};
  transport::NodeMail mail_{*segment_, layout_.mail(segment_->payload())};
  MessageRouter router_{*wires_, mail_, topology_};
  coordinator::SharedBoard board_{layout_.board(segment_->payload()), 0, 1,
                                  kSlots};
  coordinator::Coordinator coordinator_{
      {.tree = coordinator::Tree::of(topology_),
       .epoch = kEpoch,
       .cache_capacity = kSlots,
       .steps_before_schedule = kStepsBeforeCycle},
      board_,
      Clock::steady()};
  SetTable sets_{0, 1};
  FakeCalls calls_;
  Planes planes_{0, [this](const auto&) {
                   Planes::List list;
                   list.push_back(std::make_unique<FakePlane>(calls_));
                   return list;
                 }};
  Executor executor_{planes_, sets_, monitor_};
  telemetry::Log log_{0, {}};
  const LauncherChannel launcher_{""};
  coordinator::TensorQueue queue_;
  float value_ = 1;
  int done_ = 0;
  int expected_ = 0;
  std::function<void()> in_call_;
  Progress progress_{{.topology = topology_,
                      .segment = *segment_,
                      .router = router_,
                      .coordinator = coordinator_,
                      .queue = queue_,
                      .executor = executor_,
                      .monitor = monitor_,
                      .log = log_,
                      .launcher = launcher_},
                     std::chrono::hours(1)};
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
