// SPDX-License-Identifier: Apache-2.0
// The waits that a waiting thread, which drives the job, announces before it
// sleeps or leaves. The test drives by hand, without the thread of
// Progress::run().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/thread/interruption.h"
#include "horovodpp/runtime/job/node_layout.h"
#include "horovodpp/runtime/progress/progress.h"
#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::runtime {
namespace {

using coordinator::Key;
using ::testing::ElementsAre;
using transport::Doorbell;

constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kEpoch = 1;

// Rank 1 of two on one node; rank 0 does nothing.
class ProgressWait : public ::testing::Test {
 protected:
  ProgressWait()
      : wires_(world_.communicator(1)),
        topology_(*Topology::from_peers(1, wires_->peers())),
        segment_(open_segment()) {}

  static Key key(const std::string& name) { return {.name = name}; }

  // Puts `name` in flight: rank 0 never submits it.
  void submit(const std::string& name) {
    const auto submission = std::make_shared<coordinator::Submission>();
    submission->request.key = key(name);
    submission->request.tensors = {{DType::kF32, Shape({1})}};
    submission->done = [](const auto&) {};
    ASSERT_TRUE(queue_.push(submission).ok());
  }

  // Whether the driving thread is about to sleep. The call prevents that sleep.
  bool is_listened_to() {
    Doorbell& bell = segment_->doorbell(1);
    const std::uint32_t ticket = bell.listen(Doorbell::Listener::kReader);
    bell.leave(Doorbell::Listener::kReader);
    bell.ring();
    return bell.has_rung_since(ticket);
  }

  // Drives for a thread that waits for `name`, until the driver would sleep.
  void drive_until_sleep(const std::string& name) {
    bool is_over = false;
    EXPECT_TRUE(progress_.help(key(name), [&] {
      has_had_changes_ = has_had_changes_ || queue_.has_changes();
      return is_over = is_over || is_listened_to();
    }));
  }

  std::vector<Key> waited_for() {
    coordinator::TensorQueue::Changes changes;
    queue_.take_changes(changes);
    return changes.waited_for;
  }

  std::unique_ptr<transport::NodeSegment> open_segment() {
    const auto open = [this](transport::Communicator& wires, int rank) {
      return *transport::NodeSegment::open(
          wires, *Topology::from_peers(rank, wires.peers()), layout_.bytes(),
          std::chrono::steady_clock::time_point::max());
    };
    std::thread other([&] { open(*world_.communicator(0), 0); });
    auto mine = open(*wires_, 1);
    other.join();
    return mine;
  }

  transport::LoopbackWorld world_{2};
  const NodeLayout layout_{2, kSlots};
  const std::unique_ptr<transport::Communicator> wires_;
  const Topology topology_;
  const std::unique_ptr<transport::NodeSegment> segment_;
  transport::FailureRecord early_leave_ = {};
  FailureMonitor monitor_{topology_, *segment_, early_leave_, kEpoch};
  transport::NodeMail mail_{*segment_, layout_.mail(segment_->payload())};
  MessageRouter router_{*wires_, mail_, topology_};
  coordinator::SharedBoard board_{layout_.board(segment_->payload()), 1, 2,
                                  kSlots};
  coordinator::Coordinator coordinator_{
      {.rank = 1,
       .tree = coordinator::Tree::of(topology_),
       .epoch = kEpoch,
       .cache_capacity = kSlots},
      board_,
      Clock::steady()};
  SetTable sets_{1, 2};
  Planes planes_{1, [](const auto&) { return Planes::List(); }};
  Executor executor_{planes_, sets_, monitor_};
  telemetry::Log log_{1, {}};
  const LauncherChannel launcher_{""};
  coordinator::TensorQueue queue_;
  bool has_had_changes_ = false;
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

// As when a submission has woken another thread, which has taken in the
// submission and sleeps again before a thread waits.
TEST_F(ProgressWait, AWaitIsAnnouncedWithoutOtherWork) {
  submit("x");
  drive_until_sleep("another");
  has_had_changes_ = false;
  drive_until_sleep("x");
  EXPECT_TRUE(has_had_changes_);
}

// An interrupted thread may wait again, but the promise asks for help only
// once.
TEST_F(ProgressWait, AnInterruptedWaitIsAnnounced) {
  submit("x");
  const Interruption interruption([](void*) { return true; }, nullptr);
  int looks = 0;
  EXPECT_TRUE(progress_.help(key("x"), [&] {
    // Otherwise the driver would loop once more and take in the news.
    static_cast<void>(segment_->doorbell(1).missed());
    return ++looks > 1;
  }));
  EXPECT_THAT(waited_for(), ElementsAre(key("x")));
}

}  // namespace
}  // namespace hvd::runtime
