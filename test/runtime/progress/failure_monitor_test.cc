// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/failure_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "horovodpp/core/job/suspects.h"
#include "horovodpp/transport/loopback/loopback.h"

namespace hvd::runtime {
namespace {

using ::testing::ElementsAre;

// The monitor of rank 0. Rank 1 runs on another node and does nothing.
struct OfRank0 {
  OfRank0()
      : world(1),
        wires(world.communicator(0)),
        topology(*Topology::from_peers(
            0, {wires->peers().front(),
                {.host = "other", .pid = 2, .node = "other"}})),
        segment(*transport::NodeSegment::open(
            *wires, *Topology::from_peers(0, wires->peers()), 0,
            std::chrono::steady_clock::time_point::max())) {}

  transport::LoopbackWorld world;
  std::unique_ptr<transport::Communicator> wires;
  Topology topology;
  std::unique_ptr<transport::NodeSegment> segment;
  transport::FailureRecord early_leave = {};
  FailureMonitor monitor{topology, *segment, early_leave, 1};
};

// A peer that dies while this rank leaves may have left properly. If the end of
// the job does not follow, the death is a fault. Only the monitor wakes a rank
// that sleeps in a plane.
TEST(FailureMonitor, ADeathWhileLeavingEndsAnUnrungWait) {
  OfRank0 of;
  FailureMonitor& monitor = of.monitor;
  monitor.leaving();
  monitor.peer_lost(0, "was killed");
  EXPECT_EQ(monitor.check(), absl::OkStatus());
  const absl::Status status = transport::wait_until(
      [] { return false; }, monitor, {.spin = std::chrono::nanoseconds(0)},
      of.segment->doorbell(0));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

// Both have ended when this rank looks. The other node reports why its rank
// ended.
TEST(FailureMonitor, ADeathExplainedByAReportIsNoFault) {
  OfRank0 of;
  FailureMonitor& monitor = of.monitor;
  monitor.peer_lost(1, "ended");
  EXPECT_EQ(monitor.judge(), absl::OkStatus());
  EXPECT_TRUE(monitor.loss_due().has_value());
  monitor.report("rank 7 was the cause");
  EXPECT_EQ(monitor.judge(), absl::AbortedError("rank 7 was the cause"));
}

TEST(FailureMonitor, ANodeThatIsSilentIsAFaultAtOnce) {
  OfRank0 of;
  FailureMonitor& monitor = of.monitor;
  monitor.node_lost(1);
  EXPECT_TRUE(absl::IsAborted(monitor.judge()));
  EXPECT_THAT(suspects_of(monitor.verdict()), ElementsAre(1));
  EXPECT_EQ(failure_kind_of(monitor.verdict()), FailureKind::kSilentNode);
}

TEST(FailureMonitor, ARankLeftBehindKeepsTheSuspects) {
  OfRank0 of;
  FailureMonitor& monitor = of.monitor;
  monitor.left_behind(1, "does not answer", {1});
  const absl::Status status = transport::wait_until(
      [] { return false; }, monitor, {.spin = std::chrono::nanoseconds(0)},
      of.segment->doorbell(0));
  EXPECT_THAT(suspects_of(status), ElementsAre(1));
  EXPECT_EQ(failure_kind_of(status), FailureKind::kOther);
}

}  // namespace
}  // namespace hvd::runtime
