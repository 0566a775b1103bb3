// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/planes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/ring/adasum_plane.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/shm/adasum_plane.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

bool share_a_node(const std::vector<int>& members, const Topology& sharing) {
  std::set<std::string> nodes;
  for (const int rank : members) nodes.insert(sharing.peer(rank).node);
  return nodes.size() < members.size();
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
      planes.push_back(std::make_unique<collective::ShmAdasumPlane>(
          means.board, std::move(positions)));
      return planes;
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
    return planes;
  };
}

}  // namespace hvd::runtime
