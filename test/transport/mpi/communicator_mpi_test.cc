// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/mpi/communicator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "horovodpp/core/job/topology.h"
#include "horovodpp/transport/loading/mpi_module.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/subset_communicator.h"
#include "test/transport/communicator_suite.h"

namespace hvd::transport {
namespace {

const JobKind kMpi = {
    .name = "Mpi", .run = [](const std::function<void(Communicator&)>& body) {
      const auto communicator = join_mpi_world({});
      ASSERT_TRUE(communicator.ok()) << communicator.status();
      body(**communicator);
    }};

// A job of all ranks but rank 1, if the world has more than two.
void run_without_rank_one(const std::function<void(Communicator&)>& body) {
  auto wires = join_mpi_world({});
  ASSERT_TRUE(wires.ok()) << wires.status();
  const auto router = std::make_shared<EpochRouter>(
      std::shared_ptr<Communicator>(*std::move(wires)));
  std::vector<int> members;
  const int size = router->wires().size();
  for (int rank = 0; rank < size; ++rank) {
    if (rank != 1 || size <= 2) members.push_back(rank);
  }
  if (size > 2 && router->wires().rank() == 1) return;
  // Consecutive epochs over the same wires.
  for (std::uint32_t epoch : {2u, 3u, 5u}) {
    const auto subset =
        make_subset_communicator(router, {.members = members, .epoch = epoch});
    ASSERT_TRUE(subset.ok()) << subset.status();
    body(**subset);
  }
}

const JobKind kSubset = {.name = "MpiSubset", .run = run_without_rank_one};

INSTANTIATE_TEST_SUITE_P(World, CommunicatorSuite,
                         ::testing::Values(kMpi, kSubset),
                         [](const auto& kind) { return kind.param.name; });

std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

TEST(MpiCommunicator, RunsOnceACommunicatorWasMade) {
  { ASSERT_TRUE(join_mpi_world({}).ok()); }
  EXPECT_TRUE(mpi_runs());
  EXPECT_TRUE(mpi_is_running());  // As seen from outside the module.
}

TEST(MpiCommunicator, KnowsThisProcess) {
  const auto communicator = join_mpi_world({});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const int rank = (*communicator)->rank();
  const auto& peers = (*communicator)->peers();
  EXPECT_EQ(peers[static_cast<std::size_t>(rank)].pid, ::getpid());
  const auto topology = Topology::from_peers(rank, peers);
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->local_size(), (*communicator)->size());
}

TEST(MpiCommunicator, DividesAHostIntoPseudoNodes) {
  const auto communicator = join_mpi_world({.ranks_per_node = 2});
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const auto topology =
      Topology::from_peers((*communicator)->rank(), (*communicator)->peers());
  ASSERT_TRUE(topology.ok());
  EXPECT_EQ(topology->node_count(), ((*communicator)->size() + 1) / 2);
  EXPECT_EQ(topology->local_rank(), (*communicator)->rank() % 2);
}

TEST(MpiCommunicator, RefusesAWorldOfAnotherSizeThanPromised) {
  int size = 0;
  {
    const auto communicator = join_mpi_world({});
    ASSERT_TRUE(communicator.ok());
    size = (*communicator)->size();
  }
  const auto refused = join_mpi_world({.expected_size = size + 3});
  ASSERT_TRUE(absl::IsFailedPrecondition(refused.status()));
  const std::string text(refused.status().message());
  EXPECT_NE(text.find("promised " + std::to_string(size + 3) + " ranks"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("its world has " + std::to_string(size) + ";"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("MPI ("), std::string::npos) << text;
  EXPECT_TRUE(join_mpi_world({.expected_size = size}).ok());
}

TEST(MpiCommunicator, IsOneAtATime) {
  const auto first = join_mpi_world({});
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(join_mpi_world({}).status()));
}

TEST(MpiCommunicator, IsMadeAndDestroyedAHundredTimes) {
  for (int i = 0; i < 100; ++i) {
    const auto communicator = join_mpi_world({});
    ASSERT_TRUE(communicator.ok()) << communicator.status();
    Communicator& wires = **communicator;
    const int to = (wires.rank() + 1) % wires.size();
    ASSERT_TRUE(wires.exchange("", soon()).ok());
    // Unread mail: stale when the next generation finds it.
    ASSERT_TRUE(wires.send_mail(to, "stale " + std::to_string(i)).ok());
    const auto all = wires.exchange(std::to_string(i), soon());
    ASSERT_TRUE(all.ok()) << all.status();
    for (const std::string& text : *all) EXPECT_EQ(text, std::to_string(i));
  }
  const auto communicator = join_mpi_world({});
  ASSERT_TRUE(communicator.ok());
  ASSERT_TRUE((*communicator)->exchange("", soon()).ok());
  for (int i = 0; i < 1000; ++i) {
    const auto mail = (*communicator)->receive_mail();
    ASSERT_TRUE(mail.ok());
    EXPECT_FALSE(mail->has_value()) << (*mail)->bytes;
  }
}

}  // namespace
}  // namespace hvd::transport
