// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/planes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/nccl/plane.h"
#include "horovodpp/collective/ring/adasum_plane.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/shm/adasum_plane.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/collective/staged_plane.h"
#include "horovodpp/core/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

bool share_a_node(const std::vector<int>& members, const Topology& sharing) {
  std::set<std::string> nodes;
  for (const int rank : members) nodes.insert(sharing.peer(rank).node);
  return nodes.size() < members.size();
}

// Between `members`, what `planes` do for tensors on the host is done for those of
// GPUs as well: by NCCL, by memory of GPUs that ranks share, or by way of the host.
// `positions` are the members' on their node, if that is one.
Planes::List with_gpus(Planes::List planes, const PlaneMeans& means,
                       const std::vector<int>& members,
                       std::vector<int> positions = {}) {
  const int rank = position_in(members, means.sharing.rank()).value_or(0);
  std::vector<collective::DataPlane*> of_the_host;
  for (const auto& plane : planes) of_the_host.push_back(plane.get());
  collective::DataPlane& host = *of_the_host.front();
  auto staged =
      std::make_unique<collective::StagedPlane>(collective::StagedPlane::Means{
          .gpus = means.gpus,
          .planes = std::move(of_the_host),
          .rank = rank,
          .ranks = static_cast<int>(members.size()),
          .memory = [&arenas = means.arenas](std::size_t bytes) {
            return arenas.results().allocate(bytes);
          }});
  std::unique_ptr<collective::DataPlane> ipc;
  if (means.cuda_ipc && !positions.empty()) {
    ipc = std::make_unique<collective::IpcPlane>(collective::IpcPlane::Means{
        .gpus = means.gpus,
        .board = means.board,
        .members = std::move(positions),
        .otherwise = *staged,
        .windows = collective::IpcWindows::of_process(),
        .tell = means.nccl.options().tell});
  }
  collective::DataPlane& own = ipc == nullptr ? *staged : *ipc;
  if (means.nccl.options().use.any()) {
    planes.push_back(std::make_unique<collective::NcclPlane>(
        collective::NcclPlane::Means{.session = means.nccl,
                                     .host = host,
                                     .otherwise = own,
                                     .members = members,
                                     .rank = rank}));
  }
  if (ipc != nullptr) planes.push_back(std::move(ipc));
  planes.push_back(std::move(staged));
  return planes;
}

}  // namespace

int Planes::Set::position_of(int rank) const {
  return position_in(members, rank).value_or(-1);
}

absl::Status Planes::add(coordinator::ProcessSetId id,
                         const std::vector<int>& members) {
  const std::optional<int> mine = position_in(members, rank_);
  if (!mine) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(List planes, factory_(members));
  sets_[id] = std::make_unique<Set>(
      Set{.members = members,
          .position = *mine,
          .selector = collective::PlaneSelector(std::move(planes))});
  return absl::OkStatus();
}

absl::Status Planes::not_found(coordinator::ProcessSetId id) const {
  return absl::InternalError(absl::StrCat(
      "rank ", rank_, " is to take part in a batch of process set ", id,
      ", which it is not in"));
}

Planes::Factory plane_factory(const PlaneMeans& means) {
  return [means](const std::vector<int>& members) {
    const std::vector<int>& local = means.sharing.local_ranks();
    std::vector<int> positions;  // Of the members on this node.
    for (const int rank : members) {
      if (const auto position = position_in(local, rank)) {
        positions.push_back(*position);
      }
    }
    const bool goes_by_nodes =
        means.hierarchical.allreduce || means.hierarchical.allgather;
    Planes::List planes;
    if (positions.size() == members.size()) {
      planes.push_back(std::make_unique<collective::ShmPlane>(
          means.board, positions, &means.arenas));
      planes.push_back(
          std::make_unique<collective::ShmAdasumPlane>(means.board, positions));
      return with_gpus(std::move(planes), means, members, std::move(positions));
    }
    if (goes_by_nodes && share_a_node(members, means.sharing)) {
      planes.push_back(std::make_unique<collective::HierarchicalPlane>(
          collective::HierarchicalPlane::Means{.topology = means.sharing,
                                               .board = means.board,
                                               .wires = means.wires,
                                               .waiting = means.waiting},
          members, means.hierarchical));
    } else {
      planes.push_back(std::make_unique<collective::RingPlane>(
          means.wires, members, means.waiting));
    }
    planes.push_back(std::make_unique<collective::AdasumPlane>(
        means.wires, members, means.waiting));
    return with_gpus(std::move(planes), means, members);
  };
}

}  // namespace hvd::runtime
