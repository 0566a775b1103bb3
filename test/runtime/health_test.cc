#include "horovodpp/runtime/health.h"

#include <gtest/gtest.h>

#include "horovodpp/transport/loopback.h"

namespace hvd::runtime {
namespace {

using std::chrono::steady_clock;

// A peer that dies while this rank leaves may have left properly. If the end of
// the job does not follow, it is a fault, also for a rank that sleeps in a
// plane, where nothing else would wake it.
TEST(Health, ADeathWhileLeavingEndsAWaitThatNobodyRings) {
  transport::LoopbackWorld world(1);
  const auto wires = world.communicator(0);
  const auto topology = Topology::from_peers(0, wires->peers());
  const auto segment = transport::NodeSegment::open(
      *wires, *topology, 0, steady_clock::time_point::max());
  ASSERT_EQ(segment.status(), absl::OkStatus());
  transport::BreakWord hindrance;
  Health health(*topology, **segment, hindrance, 1);
  health.leaving();
  health.peer_lost(0, "was killed");
  EXPECT_EQ(health.check(), absl::OkStatus());
  const absl::Status status = transport::wait_until(
      [] { return false; }, health, {.spin = std::chrono::nanoseconds(0)},
      (*segment)->doorbell(0));
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

}  // namespace
}  // namespace hvd::runtime
