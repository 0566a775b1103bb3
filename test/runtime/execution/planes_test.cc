// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/planes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "horovodpp/transport/loopback/loopback.h"
#include "horovodpp/transport/node/segment.h"
#include "test/runtime/execution/fake_plane.h"

namespace hvd::runtime {
namespace {

using ::testing::ElementsAre;

TEST(Planes, AreMadeForSetsOfThisRankOnly) {
  FakeCalls calls;
  std::vector<std::vector<int>> made;
  Planes planes(2, [&](const std::vector<int>& members) {
    made.push_back(members);
    Planes::List list;
    list.push_back(std::make_unique<FakePlane>(calls));
    return list;
  });
  ASSERT_EQ(planes.add(0, {0, 1, 2}), absl::OkStatus());
  ASSERT_EQ(planes.add(1, {0, 1}), absl::OkStatus());
  EXPECT_THAT(made, ElementsAre(ElementsAre(0, 1, 2)));
  const auto set = planes.find(0);
  ASSERT_TRUE(set.ok());
  EXPECT_EQ((*set)->position, 2);
  EXPECT_EQ((*set)->position_of(1), 1);
  EXPECT_EQ((*set)->position_of(3), -1);
  EXPECT_TRUE(absl::IsInternal(planes.find(1).status()));
  planes.remove(0);
  EXPECT_TRUE(absl::IsInternal(planes.find(0).status()));
}

TEST(Planes, ReportWhyTheyCannotBeMade) {
  Planes planes(0, [](const std::vector<int>&) -> absl::StatusOr<Planes::List> {
    return absl::ResourceExhaustedError("no memory");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(planes.add(0, {0})));
  EXPECT_FALSE(planes.find(0).ok());
}

// The planes of sets within and across two nodes of two ranks.
void expect_planes(const std::vector<std::string>& names,
                   const std::vector<std::string>& by_adasum,
                   const collective::HierarchicalOptions& hierarchical) {
  transport::LoopbackWorld world(4, {.ranks_per_node = 2});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank) {
    threads.emplace_back([&, rank] {
      auto wires = world.communicator(rank);
      const auto topology = Topology::from_peers(rank, wires->peers());
      const std::size_t lists = collective::ArenaMap::bytes_needed(2);
      auto segment = transport::NodeSegment::open(
          *wires, *topology, lists + collective::ShmBoard::bytes_needed(2),
          std::chrono::steady_clock::time_point::max());
      ASSERT_EQ(segment.status(), absl::OkStatus());
      const auto waiting = transport::WaitPolicy::for_node(4);
      const auto payload = (*segment)->payload();
      collective::ShmBoard board(**segment, payload.subspan(lists), waiting);
      collective::ArenaMap arenas(std::make_shared<Arena>(),
                                  {.rank = topology->local_rank(), .ranks = 2},
                                  payload.first(lists));
      device::Gpus gpus;
      collective::NcclSession nccl(gpus, {}, {});
      Planes planes(rank, plane_factory({.sharing = *topology,
                                         .board = board,
                                         .arenas = arenas,
                                         .wires = *wires,
                                         .waiting = waiting,
                                         .gpus = gpus,
                                         .nccl = nccl,
                                         .hierarchical = hierarchical}));
      const std::vector<std::vector<int>> sets = {
          {0, 1, 2, 3}, {0, 1}, {0, 1, 3}, {1, 2}, {rank}};
      for (std::size_t i = 0; i < sets.size(); ++i) {
        const auto id = static_cast<coordinator::ProcessSetId>(i);
        ASSERT_EQ(planes.add(id, sets[i]), absl::OkStatus());
        const auto set = planes.find(id);
        if (!set.ok()) continue;  // Not a member.
        EXPECT_EQ((*(*set)->selector.select(Device(), 8))->name(), names[i]);
        EXPECT_EQ(
            (*(*set)->selector.select(Device(), 8, ReduceOp::kAdasum))->name(),
            by_adasum[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PlaneFactory, UsesMemoryWithinANodeAndWiresAcross) {
  expect_planes({"hierarchical", "shm", "hierarchical", "ring", "shm"},
                {"adasum", "shm-adasum", "adasum", "adasum", "shm-adasum"}, {});
}

TEST(PlaneFactory, UsesRingsAcrossNodesIfAsked) {
  expect_planes({"ring", "shm", "ring", "ring", "shm"},
                {"adasum", "shm-adasum", "adasum", "adasum", "shm-adasum"},
                {.allreduce = false, .allgather = false});
}

}  // namespace
}  // namespace hvd::runtime
