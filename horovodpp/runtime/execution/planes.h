// SPDX-License-Identifier: Apache-2.0
// The Planes of one rank: for each of its process sets, the planes that connect
// the set's members.
//
// Belongs to the thread that drives the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/gpu_wait.h"
#include "horovodpp/collective/hierarchical/plane.h"
#include "horovodpp/collective/nccl/session.h"
#include "horovodpp/collective/plane_selector.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/trace/recorder.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::runtime {

class Planes {
 public:
  using List = std::vector<std::unique_ptr<collective::DataPlane>>;
  // Makes the planes between `members` (ranks of the job in ascending order,
  // this one included), in order of preference.
  using Factory =
      std::function<absl::StatusOr<List>(const std::vector<int>& members)>;

  struct Set {
    std::vector<int> members;
    int position;  // This rank's among the members.
    collective::PlaneSelector selector;

    int size() const { return static_cast<int>(members.size()); }
    // The position of a rank of the job among the members; -1 if it is not a
    // member.
    int position_of(int rank) const;

    // The name of one of its planes in the trace of `recorder`, always the same
    // one.
    std::uint16_t traced_label(const collective::DataPlane& plane,
                               trace::Recorder& recorder);

    // The labels of planes that have made calls.
    std::vector<std::pair<const collective::DataPlane*, std::uint16_t>> labels =
        {};
  };

  // Every rank of the job calls `before_removal` when a set is removed: in one
  // order with the batches, and before the set's planes are destroyed.
  Planes(
      int rank, Factory factory, std::function<void()> before_removal = [] {})
      : rank_(rank),
        factory_(std::move(factory)),
        before_removal_(std::move(before_removal)) {}

  // Makes the planes of a set; makes none if this rank is not in it.
  //   (errors)  the factory's errors
  absl::Status add(coordinator::ProcessSetId id,
                   const std::vector<int>& members);
  void remove(coordinator::ProcessSetId id) {
    before_removal_();
    sets_.erase(id);
  }

  // Valid until the set is removed; never nullptr.
  //   Internal  there is no such set with this rank in it
  absl::StatusOr<Set*> find(coordinator::ProcessSetId id) {
    const auto found = sets_.find(id);
    if (found == sets_.end()) return not_found(id);
    return found->second.get();
  }

 private:
  absl::Status not_found(coordinator::ProcessSetId id) const;

  const int rank_;
  const Factory factory_;
  const std::function<void()> before_removal_;
  std::map<coordinator::ProcessSetId, std::unique_ptr<Set>> sets_;
};

// The means of a job's planes, all of which outlive the planes.
struct PlaneMeans {
  const Topology& sharing;  // Ranks of a node share memory.
  collective::ShmBoard& board;
  collective::ArenaMap& arenas;
  transport::Communicator& wires;
  transport::WaitPolicy waiting;
  device::Gpus& gpus;
  bool cuda_ipc = true;  // Whether ranks share memory of GPUs.
  // The timeouts of calls that wait for a GPU.
  collective::GpuTimeouts gpu_timeouts = {};
  collective::NcclSession& nccl;
  // The calls that are hierarchical where a node has several members.
  collective::HierarchicalOptions hierarchical = {};
  // Receives, for a log, the planes of a process set and the reasons.
  std::function<void(const std::string& text)> report = [](const auto&) {};
};

// Makes the planes by where the members are:
// - members on one node: shared memory;
// - several nodes: the hierarchical plane, or, if each node has one member, the
//   ring over the wires, and another ring for Adasum;
// - tensors on GPUs: NCCL if possible, else GPU memory that ranks of a node
//   share, else a copy to the host and one of the planes above.
Planes::Factory plane_factory(const PlaneMeans& means);

}  // namespace hvd::runtime
