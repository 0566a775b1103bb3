// SPDX-License-Identifier: Apache-2.0
// Fleets of HierarchicalIpcPlanes: ranks with tensors on GPUs, on pseudo-nodes
// of any sizes. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/ipc/hierarchical_plane.h"
#include "horovodpp/core/job/ranks.h"
#include "test/collective/gpu_fleet.h"
#include "test/collective/hierarchical/fleets.h"

namespace hvd::collective {

// One rank on some node; each node has two GPUs. Windows are so small that
// small tensors need many chunks. An IpcPlane connects the ranks of a node.
class IpcNodesSeat {
 public:
  static constexpr std::size_t kHalfBytes = 2048;

  IpcNodesSeat(transport::Communicator& communicator, const Seating& seating,
               SharedGpus& shared)
      : shared_(shared),
        communicator_(communicator),
        waiting_(test_waiting(communicator.size())),
        rank_(communicator,
              Topology::from_peers(communicator.rank(),
                                   seated(communicator, seating))
                  .value(),
              {}),
        sets_(
            shared, rank(), context(),
            [this](const std::vector<int>& members) {
              return make_host(members);
            },
            [this](const std::vector<int>& members, DataPlane& staged) {
              return make_ipc(members, staged);
            }) {}

  int rank() const { return topology().rank(); }
  int ranks() const { return topology().size(); }
  int gpu() const {
    return topology().local_rank() % 2 % testing::TestGpus::count();
  }
  device::CudaContext context() const {
    return shared_.gpus.driver().value()->context(gpu()).value();
  }
  IpcSets& sets() { return sets_; }
  DataPlane& host() { return sets_.host(all_ranks(ranks())); }
  std::unique_ptr<OnGpu> on_gpu() { return sets_.on_gpu(all_ranks(ranks())); }
  // The last message about the route of tensors.
  const std::string& told() const { return told_; }

 private:
  const Topology& topology() const { return rank_.topology(); }
  static std::vector<Peer> seated(const transport::Communicator& communicator,
                                  const Seating& seating) {
    std::vector<Peer> peers = communicator.peers();
    for (std::size_t r = 0; r < peers.size(); ++r) peers[r].node = seating[r];
    return peers;
  }

  // Positions on this node.
  std::vector<int> here(const std::vector<int>& members) const {
    std::vector<int> positions;
    for (const int rank : members) {
      const auto position = position_in(topology().local_ranks(), rank);
      if (position) positions.push_back(*position);
    }
    return positions;
  }

  std::vector<int> ranks_here(const std::vector<int>& members) const {
    std::vector<int> ranks;
    for (const int position : here(members)) {
      ranks.push_back(
          topology().local_ranks()[static_cast<std::size_t>(position)]);
    }
    return ranks;
  }

  std::unique_ptr<DataPlane> make_host(const std::vector<int>& members) {
    const std::vector<int> positions = here(members);
    if (positions.size() == members.size()) {
      return std::make_unique<ShmPlane>(rank_.board(), positions);
    }
    return std::make_unique<HierarchicalPlane>(
        HierarchicalPlane::Means{.topology = topology(),
                                 .board = rank_.board(),
                                 .wires = communicator_,
                                 .waiting = waiting_},
        members, kSmallBlocks);
  }

  std::unique_ptr<IpcPlane> make_ipc(const std::vector<int>& members,
                                     DataPlane& staged) {
    IpcPlane::Means means = {
        .gpus = shared_.gpus,
        .board = rank_.board(),
        .members = here(members),
        .otherwise = staged,
        .windows = windows_,
        .ranks_of_job = ranks_here(members),
        .report = [this](const std::string& text) { told_ = text; }};
    const IpcPlane::Options options = {.half_bytes = kHalfBytes};
    if (means.members.size() == members.size()) {
      return std::make_unique<IpcPlane>(std::move(means), options);
    }
    return std::make_unique<HierarchicalIpcPlane>(
        std::move(means),
        HierarchicalIpcPlane::Nodes{.topology = topology(),
                                    .wires = communicator_,
                                    .waiting = waiting_,
                                    .members = members,
                                    .ring = kSmallRing},
        options);
  }

  SharedGpus& shared_;
  transport::Communicator& communicator_;
  const transport::WaitPolicy waiting_;
  RankBoard rank_;
  IpcRankWindows windows_{shared_.windows};
  std::string told_;
  IpcSets sets_;
};

inline void run_on_ipc_nodes(transport::Communicator& communicator,
                             int ranks_here, const Seating& seating,
                             SharedGpus& shared, const Body& body) {
  IpcNodesSeat seat(communicator, seating, shared);
  run_on_seat(seat, ranks_here, body);
}

}  // namespace hvd::collective
