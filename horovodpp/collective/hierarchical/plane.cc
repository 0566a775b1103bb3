// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/plane.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"

#include "horovodpp/collective/hierarchical/gather.h"
#include "horovodpp/collective/ring/doubling.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/job/ranks.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// The members on this rank's node, as local ranks.
std::vector<int> local_ranks_of(const std::vector<int>& members,
                                const Topology& topology) {
  const std::vector<int>& local = topology.local_ranks();
  std::vector<int> found;
  for (const int rank : members) {
    const std::optional<int> place = position_in(local, rank);
    if (place) found.push_back(*place);
  }
  return found;
}

std::uint64_t bytes_of(std::span<const Piece> pieces,
                       const ReduceKernel& kernel) {
  return static_cast<std::uint64_t>(total_count(pieces)) *
         kernel.element_bytes();
}

// Copies the results of `range` that belong to `rank` to its outputs.
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
      lanes_(HierarchicalLanes::between(RingPlane::members(), rank(),
                                        means.topology)),
      node_of_(lanes_.nodes_by_position()),
      node_ranks_(local_ranks_of(RingPlane::members(), means.topology)),
      blocks_(HierarchicalReduction::kSlots,
              HierarchicalReduction::slot_bytes(lanes_, options.block_bytes)),
      lane_staging_(direct_staging(
          lanes_.nodes(),
          4 * static_cast<std::size_t>(std::max(1, options.ring.depth)) *
              options.ring.chunk_bytes,
          options.ring.chunk_bytes)) {}

HierarchicalSeat HierarchicalPlane::seat_on(ChunkLink& link, const Call& call) {
  return {.lanes = lanes_,
          .members = members(),
          .local = {.board = board_,
                    .members = node_ranks_,
                    .rank = lanes_.place(),
                    .writer = writer_,
                    .interrupt = call.interrupt},
          .link = link};
}

absl::Status HierarchicalPlane::agree(const Call& call, ChunkLink& link) {
  if (call.certain) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(disseminate(team(), link));
  return link.flush();
}

bool HierarchicalPlane::is_small(std::span<const Piece> pieces,
                                 const ReduceKernel& kernel,
                                 const ChunkLink& link) const {
  const std::size_t bytes = static_cast<std::size_t>(total_count(pieces)) *
                            kernel.accumulator_bytes();
  return bytes <= std::min({options_.small_bytes, link.slot_bytes(),
                            board_.options().chunk_bytes});
}

// An allreduce can be given up at any point. A reducescatter that is not small
// has to agree first: it could end on nodes that need no result.
absl::Status HierarchicalPlane::reduce(std::span<const Piece> pieces,
                                       const ReduceKernel& kernel,
                                       const Call& call, char kind,
                                       const ResultSink& sink) {
  HVD_RETURN_IF_ERROR(blocks_.map());
  return run(call, lane_staging_, [&](ChunkLink& link) -> absl::Status {
    const bool small = is_small(pieces, kernel, link);
    const bool agrees = sink.needed != nullptr && !small;
    if (agrees) HVD_RETURN_IF_ERROR(agree(call, link));
    const ShmBoard::Label label = {.tag = call.tag,
                                   .kind = kind,
                                   .bytes = bytes_of(pieces, kernel),
                                   .votes = !agrees && !call.certain};
    const HierarchicalSeat seat = seat_on(link, call);
    if (small) return reduce_small(pieces, kernel, seat, label, sink);
    return HierarchicalReduction(seat, pieces, kernel, blocks_,
                                 {.block_bytes = options_.block_bytes,
                                  .doubling_bytes = options_.small_lane_bytes},
                                 sink.needed)
        .run(label, sink.deliver);
  });
}

// Every member reduces all contributions of its node, and merges them in each
// of its lanes with the other nodes'. All get the same result, because the
// order is the same.
absl::Status HierarchicalPlane::reduce_small(std::span<const Piece> pieces,
                                             const ReduceKernel& kernel,
                                             const HierarchicalSeat& seat,
                                             const ShmBoard::Label& label,
                                             const ResultSink& sink) {
  const std::int64_t count = total_count(pieces);
  const auto elements = static_cast<std::size_t>(count);
  std::vector<std::byte> of_node(elements * kernel.accumulator_bytes());
  HVD_RETURN_IF_ERROR(
      reduce_small_on_node(pieces, kernel, seat, label, of_node));
  std::vector<std::byte> of_all = of_node;
  const auto mine = lanes_.driven(lanes_.node(), lanes_.place());
  for (int lane = mine.begin; lane < mine.end && lanes_.nodes() > 1; ++lane) {
    if (lane > mine.begin) of_all = of_node;
    const std::vector<int> drivers = seat.drivers_of(lane);
    HVD_RETURN_IF_ERROR(
        merge_by_doubling({.members = drivers, .rank = lanes_.node()},
                          of_all.data(), count, kernel, seat.link));
  }
  std::vector<std::byte> results(elements * kernel.element_bytes());
  kernel.store(of_all.data(), results.data(), count);
  sink.deliver(0, {0, count}, results.data());
  return absl::OkStatus();
}

absl::Status HierarchicalPlane::reduce_small_on_node(
    std::span<const Piece> pieces, const ReduceKernel& kernel,
    const HierarchicalSeat& seat, const ShmBoard::Label& label,
    std::span<std::byte> accumulators) {
  const std::int64_t count = total_count(pieces);
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    PieceStream(pieces, kernel.element_bytes()).pack(slot, count);
  };
  const auto drain = [&](std::uint64_t, std::uint64_t step) {
    kernel.load(seat.local.slot(0, step), accumulators.data(), count);
    for (int place = 1; place < lanes_.places(); ++place) {
      kernel.combine(accumulators.data(), seat.local.slot(place, step), count);
    }
  };
  return seat.local.call(
      label, [&] { return seat.local.step_through(1, fill, drain); });
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

absl::Status HierarchicalPlane::move(const Allgather& gather,
                                     const Call& call) {
  if (!options_.allgather) return RingPlane::move(gather, call);
  return run(call, [&](ChunkLink& link) -> absl::Status {
    HVD_RETURN_IF_ERROR(agree(call, link));
    const HierarchicalSeat seat = seat_on(link, call);
    const absl::Status status =
        HierarchicalGather(seat, gather, rank()).run(call.tag);
    if (!absl::IsCancelled(status)) return status;
    return absl::InternalError(absl::StrCat(
        "a call was given up though all had entered it: ", status.message()));
  });
}

}  // namespace hvd::collective
