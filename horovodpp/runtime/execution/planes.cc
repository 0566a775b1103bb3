// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/planes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/collective/ipc/plane.h"
#include "horovodpp/collective/nccl/plane.h"
#include "horovodpp/collective/ring/adasum_plane.h"
#include "horovodpp/collective/ring/plane.h"
#include "horovodpp/collective/shm/adasum_plane.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/collective/staged_plane.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::runtime {
namespace {

bool share_a_node(const std::vector<int>& members, const Topology& sharing) {
  std::set<std::string> nodes;
  for (const int rank : members) nodes.insert(sharing.peer(rank).node);
  return nodes.size() < members.size();
}

// The places of a process set's members.
struct Places {
  const std::vector<int>& members;
  collective::IpcRankWindows& windows;  // This rank's, for all sets.
  std::vector<int> here = {};           // The local ranks of the members here.

  bool are_one_node() const { return here.size() == members.size(); }
};

// A plane that reduces in GPU memory shared by the ranks of a node; nullptr:
// not possible between these ranks.
std::unique_ptr<collective::DataPlane> ipc_plane(
    const PlaneMeans& means, const Places& places,
    collective::DataPlane& otherwise) {
  if (!means.cuda_ipc || !places.are_one_node()) return nullptr;
  return std::make_unique<collective::IpcPlane>(
      collective::IpcPlane::Means{.gpus = means.gpus,
                                  .board = means.board,
                                  .members = places.here,
                                  .otherwise = otherwise,
                                  .windows = places.windows,
                                  .ranks_of_job = places.members,
                                  .timeouts = means.gpu_timeouts,
                                  .report = means.nccl.options().report});
}

// Adds planes for GPU tensors between the members: by NCCL, by GPU memory that
// ranks share, or through `planes` on the host.
Planes::List with_gpus(Planes::List planes, const PlaneMeans& means,
                       const Places& places) {
  const std::vector<int>& members = places.members;
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
          .memory =
              [&arenas = means.arenas](std::size_t bytes) {
                return arenas.results().allocate(bytes);
              },
          .timeouts = means.gpu_timeouts});
  std::unique_ptr<collective::DataPlane> ipc =
      ipc_plane(means, places, *staged);
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

std::uint16_t Planes::Set::traced_label(const collective::DataPlane& plane,
                                        trace::Recorder& recorder) {
  for (const auto& [known, label] : labels) {
    if (known == &plane) return label;
  }
  return labels.emplace_back(&plane, recorder.label(plane.name())).second;
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
  const auto windows = std::make_shared<collective::IpcRankWindows>(
      collective::IpcWindows::of_process());
  return [means, windows](const std::vector<int>& members) {
    const std::vector<int>& local = means.sharing.local_ranks();
    Places places = {.members = members, .windows = *windows};
    for (const int rank : members) {
      if (const auto position = position_in(local, rank)) {
        places.here.push_back(*position);
      }
    }
    const auto told = [&](Planes::List made, const char* why) {
      means.report(
          absl::StrCat("ranks ", absl::StrJoin(members, ","), " use ",
                       collective::names_of(made),
                       ", the first of them that a tensor suits: ", why));
      return made;
    };
    Planes::List planes;
    if (places.are_one_node()) {
      planes.push_back(std::make_unique<collective::ShmPlane>(
          means.board, places.here, &means.arenas));
      planes.push_back(std::make_unique<collective::ShmAdasumPlane>(
          means.board, places.here));
      return told(with_gpus(std::move(planes), means, places),
                  "they share the memory of one node");
    }
    const bool goes_by_nodes =
        means.hierarchical.allreduce || means.hierarchical.allgather;
    const bool some_share = share_a_node(members, means.sharing);
    if (goes_by_nodes && some_share) {
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
    return told(with_gpus(std::move(planes), means, places),
                !some_share ? "each is on a node of its own"
                : goes_by_nodes
                    ? "they are on several nodes, some of which they share"
                    : "HOROVOD_HIERARCHICAL_ALLREDUCE and _ALLGATHER are "
                      "off");
  };
}

}  // namespace hvd::runtime
