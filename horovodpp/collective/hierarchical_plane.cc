#include "horovodpp/collective/hierarchical_plane.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

std::vector<std::string> nodes_of(const std::vector<int>& members,
                                  const Topology& topology) {
  std::vector<std::string> nodes;
  for (const int rank : members) nodes.push_back(topology.peer(rank).node);
  return nodes;
}

// Of this rank's node.
std::vector<int> local_ranks_of(const std::vector<int>& members,
                                const Topology& topology) {
  const std::vector<int>& local = topology.local_ranks();
  std::vector<int> found;
  for (const int rank : members) {
    const auto place = std::find(local.begin(), local.end(), rank);
    if (place == local.end()) continue;
    found.push_back(static_cast<int>(place - local.begin()));
  }
  return found;
}

std::uint64_t bytes_of(std::span<const Piece> pieces,
                       const ReduceKernel& kernel) {
  return static_cast<std::uint64_t>(total_count(pieces)) *
         kernel.element_bytes();
}

std::vector<int> numbers_of(const HierarchicalLanes& lanes, int ranks) {
  std::vector<int> numbers(static_cast<std::size_t>(ranks));
  for (int node = 0; node < lanes.nodes(); ++node) {
    for (const int position : lanes.members(node)) {
      numbers[static_cast<std::size_t>(position)] = node;
    }
  }
  return numbers;
}

// Takes what of `range` goes to `rank` into its outputs.
void take_parts(int rank, std::span<const Piece> pieces, const PartTable& parts,
                std::size_t element_bytes, const Range& range,
                const std::byte* results) {
  const auto bytes_of = [&](std::int64_t count) {
    return static_cast<std::size_t>(count) * element_bytes;
  };
  parts.for_each_part(range, [&](const PartTable::Part& part) {
    if (part.rank != rank) return true;
    std::memcpy(static_cast<std::byte*>(pieces[part.piece].output) +
                    bytes_of(part.skipped),
                results + bytes_of(part.range.begin - range.begin),
                bytes_of(part.range.count));
    return true;
  });
}

}  // namespace

HierarchicalPlane::HierarchicalPlane(const Means& means,
                                     std::vector<int> members,
                                     const HierarchicalOptions& options)
    : RingPlane(means.wires, std::move(members), means.waiting, options.ring),
      options_(options),
      board_(means.board),
      lanes_(rank(), nodes_of(RingPlane::members(), means.topology)),
      node_of_(numbers_of(lanes_, ranks())),
      node_ranks_(local_ranks_of(RingPlane::members(), means.topology)),
      blocks_(2,
              HierarchicalReduction::slot_bytes(lanes_, options.block_bytes)) {}

absl::Status HierarchicalPlane::run_agreed(
    const Call& call,
    const std::function<absl::Status(const HierarchicalSeat&)>& body) {
  return run(call, [&](ChunkLink& link) -> absl::Status {
    HVD_RETURN_IF_ERROR(disseminate(link));
    HVD_RETURN_IF_ERROR(link.flush());
    const absl::Status status = body({.lanes = lanes_,
                                      .members = members(),
                                      .node_ranks = node_ranks_,
                                      .board = board_,
                                      .link = link,
                                      .watch = call.watch});
    if (!absl::IsCancelled(status)) return status;
    return absl::InternalError(absl::StrCat(
        "a call was given up though all had entered it: ", status.message()));
  });
}

absl::Status HierarchicalPlane::on_board(
    const ShmBoard::Label& label, const std::function<absl::Status()>& body) {
  HVD_RETURN_IF_ERROR(board_.begin(node_ranks_, label));
  const absl::Status status = body();
  if (!status.ok()) return board_.give_up(status);
  board_.end();
  return absl::OkStatus();
}

absl::Status HierarchicalPlane::reduce(std::span<const Piece> pieces,
                                       const ReduceKernel& kernel,
                                       const Call& call, char kind,
                                       const Outlet& outlet) {
  HVD_RETURN_IF_ERROR(blocks_.map());
  const ShmBoard::Label label = {
      .tag = call.tag, .kind = kind, .bytes = bytes_of(pieces, kernel)};
  return run_agreed(call, [&](const HierarchicalSeat& seat) {
    return on_board(label, [&] {
      return HierarchicalReduction(seat, pieces, kernel, blocks_,
                                   options_.block_bytes, outlet.needed)
          .run(outlet.deliver);
    });
  });
}

absl::Status HierarchicalPlane::move(std::span<const Piece> pieces,
                                     const ReduceKernel& kernel,
                                     const Call& call) {
  if (!options_.allreduce) return RingPlane::move(pieces, kernel, call);
  std::vector<PieceStream> outputs(node_ranks_.size(),
                                   {pieces, kernel.element_bytes()});
  const auto deliver = [&](int place, const Range& range,
                           const std::byte* results) {
    PieceStream& output = outputs[static_cast<std::size_t>(place)];
    output.seek(range.begin);
    output.unpack(results, range.count);
  };
  return reduce(pieces, kernel, call, 'r', {.deliver = deliver});
}

absl::Status HierarchicalPlane::move(std::span<const Piece> pieces,
                                     std::span<const std::int64_t> counts,
                                     const ReduceKernel& kernel,
                                     const Call& call) {
  if (!options_.allreduce) {
    return RingPlane::move(pieces, counts, kernel, call);
  }
  const PartTable parts(counts, ranks());
  const std::size_t element_bytes = kernel.element_bytes();
  const auto deliver = [&](int, const Range& range, const std::byte* results) {
    take_parts(rank(), pieces, parts, element_bytes, range, results);
  };
  const auto needed = [&](int node, const Range& range) {
    bool found = false;
    parts.for_each_part(range, [&](const PartTable::Part& part) {
      found = node_of_[static_cast<std::size_t>(part.rank)] == node;
      return !found;
    });
    return found;
  };
  return reduce(pieces, kernel, call, 's',
                {.deliver = deliver, .needed = needed});
}

}  // namespace hvd::collective
