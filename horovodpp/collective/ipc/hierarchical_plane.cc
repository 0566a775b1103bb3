// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/hierarchical_plane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/ipc/lanes_reducing.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/ring/direct_circuit.h"
#include "horovodpp/collective/ring/doubling.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// For each piece, the number of elements before it.
std::vector<std::int64_t> begins_of(std::span<const Piece> pieces) {
  std::vector<std::int64_t> begins;
  std::int64_t begin = 0;
  for (const Piece& piece : pieces) {
    begins.push_back(begin);
    begin += piece.count;
  }
  return begins;
}

}  // namespace

HierarchicalIpcPlane::HierarchicalIpcPlane(Means means, Nodes nodes,
                                           const Options& options)
    : IpcPlane(
          std::move(means), options,
          {.rank =
               position_in(nodes.members, nodes.topology.rank()).value_or(0),
           .ranks = static_cast<int>(nodes.members.size())}),
      nodes_(std::move(nodes)),
      lanes_(HierarchicalLanes::between(nodes_.members, position().rank,
                                        nodes_.topology)),
      node_of_(lanes_.nodes_by_position()),
      staging_(direct_staging(
          lanes_.nodes(),
          4 * static_cast<std::size_t>(std::max(1, nodes_.ring.depth)) *
              nodes_.ring.chunk_bytes,
          nodes_.ring.chunk_bytes)) {}

absl::Status HierarchicalIpcPlane::run(const Call& call, const Body& body) {
  HVD_RETURN_IF_ERROR(staging_.map());
  ChunkLink link(nodes_.wires, staging_, call, nodes_.waiting);
  if (!call.certain) {
    HVD_RETURN_IF_ERROR(disseminate(
        {.members = nodes_.members, .rank = position().rank}, link));
    HVD_RETURN_IF_ERROR(link.flush());
  }
  const absl::Status status = body({.lanes = lanes_,
                                    .members = nodes_.members,
                                    .local = seat_in(call),
                                    .link = link});
  if (absl::IsCancelled(status)) {
    return absl::InternalError(absl::StrCat(
        "a call was given up though all had entered it: ", status.message()));
  }
  HVD_RETURN_IF_ERROR(status);
  return link.flush();
}

// If one rank of a node cannot connect, its node has no windows, and then no
// node uses them.
absl::StatusOr<bool> HierarchicalIpcPlane::connect(const Device& mine,
                                                   const Call& call) {
  bool on_node = false;
  std::byte everywhere = {};
  const auto pin = [&](IpcWindow& window) {
    return IpcLanesReducing::pin(window, lanes_);
  };
  const auto agree = [&](const HierarchicalSeat& seat) -> absl::Status {
    HVD_ASSIGN_OR_RETURN(on_node,
                         open_windows(seat.local, call.tag, mine, pin));
    everywhere = on_node ? std::byte{1} : std::byte{0};
    const ReduceKernel least({.dtype = DType::kU8, .op = ReduceOp::kMin},
                             position().ranks);
    return merge_by_doubling(
        {.members = nodes_.members, .rank = position().rank}, &everywhere, 1,
        least, seat.link);
  };
  HVD_RETURN_IF_ERROR(run(call, agree));
  const bool connected = everywhere != std::byte{0};
  if (connected) {
    report(absl::StrCat("tensors on GPUs are reduced in memory that ",
                        on_this_node(), " share, and between ", lanes_.nodes(),
                        " nodes by way of the host"));
  } else {
    report(absl::StrCat(
        "tensors on GPUs go by way of the host between ", on_this_node(),
        " and those of others: ",
        !obstacle().ok() ? obstacle().message()
        : on_node        ? "ranks of another node cannot reach all windows"
                  : "another one of this node cannot reach all windows"));
  }
  return connected;
}

bool HierarchicalIpcPlane::reduces(const Reduction& reduction) const {
  return IpcPlane::reduces(reduction) &&
         ReduceKernel(reduction, position().ranks).accumulator_bytes() ==
             device::CudaKernels::accumulator_bytes(reduction.dtype);
}

absl::Status HierarchicalIpcPlane::reduce(const Task& task, const Call& call) {
  const ReduceKernel kernel(task.reduction, position().ranks);
  IpcLanesReducing::Task of_lanes = {.pieces = task.pieces,
                                     .wanted = task.wanted,
                                     .reduction = task.reduction,
                                     .kernel = kernel};
  const PartTable parts(task.counts, position().ranks);
  const std::vector<std::int64_t> begins = begins_of(task.pieces);
  if (!task.counts.empty()) {
    of_lanes.needed = [&](int node, const Run& run) {
      bool found = false;
      parts.for_each_part(
          {begins[run.piece] + run.begin, run.count},
          [&](const PartTable::Part& part) {
            found = node_of_[static_cast<std::size_t>(part.rank)] == node;
            return !found;
          });
      return found;
    };
  }
  return run(call, [&](const HierarchicalSeat& seat) {
    GpuWait wait = wait_in(call);
    IpcLanesReducing reducing({seat, window(), peer_windows(), wait, call},
                              of_lanes);
    return seat.local.call(
        {.tag = call.tag, .kind = task.kind, .bytes = task.bytes()},
        [&] { return reducing.run(); });
  });
}

}  // namespace hvd::collective
