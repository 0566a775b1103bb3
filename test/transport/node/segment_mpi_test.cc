// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "horovodpp/transport/mpi_module.h"
#include "horovodpp/transport/node/segment.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::transport {
namespace {

std::chrono::steady_clock::time_point opening_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

class BreakInterrupt : public Interrupt {
 public:
  explicit BreakInterrupt(const NodeSegment& segment) : segment_(segment) {}
  absl::Status check() override {
    if (!segment_.failure_record().raised()) return absl::OkStatus();
    return absl::AbortedError(segment_.failure_record().why());
  }

 private:
  const NodeSegment& segment_;
};

void use(NodeSegment& segment) {
  auto& arrived =
      *reinterpret_cast<std::atomic<int>*>(segment.payload().data());
  BreakInterrupt interrupt(segment);
  const WaitPolicy policy = WaitPolicy::for_node(segment.local_size());
  Doorbell& bell = segment.doorbell(segment.local_rank());
  for (int step = 1; step <= 200; ++step) {
    arrived.fetch_add(1);
    segment.ring_others();
    ASSERT_TRUE(
        wait_until(
            [&] { return arrived.load() >= step * segment.local_size(); },
            interrupt, policy, bell)
            .ok());
  }
  // The last rank breaks; waiting ranks see it.
  if (segment.local_rank() == segment.local_size() - 1) {
    EXPECT_TRUE(segment.failure_record().raise(3, "enough"));
    segment.ring_others();
  }
  const absl::Status status =
      wait_until([] { return false; }, interrupt, policy, bell);
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(segment.failure_record().epoch(), 3u);
}

TEST(NodeSegmentOverMpi, ServesTheProcessesOfEachNode) {
  for (int ranks_per_node : {0, 1, 2, 3}) {
    const auto communicator =
        make_mpi_communicator({.ranks_per_node = ranks_per_node});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    const auto topology =
        Topology::from_peers((*communicator)->rank(), (*communicator)->peers());
    ASSERT_TRUE(topology.ok());
    auto segment = NodeSegment::open(**communicator, *topology, 1 << 20,
                                     opening_deadline());
    ASSERT_TRUE(segment.ok()) << segment.status();
    EXPECT_EQ((*segment)->local_size(), topology->local_size());
    use(**segment);
    ASSERT_TRUE((*communicator)->exchange("", opening_deadline()).ok());
  }
}

TEST(NodeSegmentOverMpi, AnErrorOfALeaderIsTheResultOfEveryRank) {
  const auto communicator = make_mpi_communicator({.ranks_per_node = 2});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const auto topology =
      Topology::from_peers((*communicator)->rank(), (*communicator)->peers());
  ASSERT_TRUE(topology.ok());
  const auto segment = NodeSegment::open(
      **communicator, *topology, std::size_t{1} << 60, opening_deadline());
  EXPECT_EQ(segment.status().code(), absl::StatusCode::kResourceExhausted)
      << segment.status();
  EXPECT_TRUE(
      NodeSegment::open(**communicator, *topology, 100, opening_deadline())
          .ok());
}

}  // namespace
}  // namespace hvd::transport
