// The HierarchicalPlane's allgather.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/board_steps.h"
#include "horovodpp/collective/hierarchical_plane.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

// A member's part goes along the first lane that it drives, so it need not be
// gathered on the node before it leaves.
int HierarchicalPlane::contributor(int node, int lane) const {
  const int place = lanes_.driver(node, lane);
  if (lanes_.driven(node, place).begin != lane) return -1;
  return lanes_.members(node)[static_cast<std::size_t>(place)];
}

absl::Status HierarchicalPlane::move(const Gather& gather, const Call& call) {
  if (!options_.allgather) return RingPlane::move(gather, call);
  return run(call, [&](ChunkLink& link) -> absl::Status {
    HVD_RETURN_IF_ERROR(agree(call, link));
    const absl::Status status = gather_agreed(gather, call, link);
    if (!absl::IsCancelled(status)) return status;
    return absl::InternalError(absl::StrCat(
        "a call was given up though all had entered it: ", status.message()));
  });
}

absl::Status HierarchicalPlane::gather_agreed(const Gather& gather,
                                              const Call& call,
                                              ChunkLink& link) {
  const HierarchicalSeat seat = seat_on(link, call);
  const std::vector<std::byte*> places = gather.place_mine(rank());
  HVD_RETURN_IF_ERROR(circulate_parts(gather, places, seat));
  const ShmBoard::Label label = {
      .tag = call.tag,
      .kind = 'g',
      .bytes = std::accumulate(gather.bytes_of_rank.begin(),
                               gather.bytes_of_rank.end(), std::size_t{0})};
  return call_on_board(board_, node_ranks_, label,
                       [&] { return spread_parts(gather, places, seat); });
}

absl::Status HierarchicalPlane::circulate_parts(
    const Gather& gather, std::span<std::byte* const> places,
    const HierarchicalSeat& seat) {
  const auto [begin, end] = lanes_.driven(lanes_.node(), lanes_.place());
  for (int lane = begin; lane < end; ++lane) {
    std::vector<std::size_t> bytes;
    std::vector<std::byte*> places_in_lane;
    for (int node = 0; node < lanes_.nodes(); ++node) {
      const int whose = contributor(node, lane);
      const auto at = static_cast<std::size_t>(std::max(whose, 0));
      bytes.push_back(whose < 0 ? 0 : gather.bytes_of_rank[at]);
      places_in_lane.push_back(places[at]);
    }
    const RingSeat in_lane = seat.in_ring(lane);
    const bool is_home = contributor(lanes_.node(), lane) == rank();
    AllgatherFlow flow(in_lane.shape,
                       is_home ? gather.mine : std::span<const std::byte>(),
                       bytes, places_in_lane);
    HVD_RETURN_IF_ERROR(circulate(in_lane, flow, seat.link));
  }
  // The wires of a rank that waits at the board may stand still.
  return seat.link.flush();
}

std::vector<Piece> HierarchicalPlane::parts_from(
    int place, const Gather& gather, std::span<std::byte* const> places) const {
  std::vector<Piece> parts;
  const auto [begin, end] = lanes_.driven(lanes_.node(), place);
  for (int lane = begin; lane < end; ++lane) {
    for (int node = 0; node < lanes_.nodes(); ++node) {
      const int whose = contributor(node, lane);
      if (whose < 0) continue;
      const auto at = static_cast<std::size_t>(whose);
      parts.push_back(
          {.input = places[at],
           .output = places[at],
           .count = static_cast<std::int64_t>(gather.bytes_of_rank[at])});
    }
  }
  return parts;
}

absl::Status HierarchicalPlane::spread_parts(const Gather& gather,
                                             std::span<std::byte* const> places,
                                             const HierarchicalSeat& seat) {
  const auto chunk = static_cast<std::int64_t>(board_.options().chunk_bytes);
  const auto self = static_cast<std::size_t>(lanes_.place());
  std::vector<std::vector<Piece>> parts;
  std::vector<PieceStream> streams;
  std::vector<std::int64_t> left;  // To be shown by the member at each place.
  for (int place = 0; place < lanes_.places(); ++place) {
    parts.push_back(parts_from(place, gather, places));
    streams.emplace_back(parts.back(), 1);
    left.push_back(total_count(parts.back()));
  }
  std::int64_t to_show = left[self];
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    if (left.size() == 1) return;
    writer_.begin_step();
    streams[self].pack(writer_, slot, std::min(to_show, chunk));
    writer_.finish();
    to_show -= std::min(to_show, chunk);
  };
  const auto drain = [&](std::uint64_t, std::uint64_t step) {
    for (std::size_t place = 0; place < left.size(); ++place) {
      const std::int64_t length = std::min(left[place], chunk);
      left[place] -= length;
      if (place == self) continue;
      streams[place].unpack(seat.slot(static_cast<int>(place), step), length);
    }
  };
  const std::int64_t most = *std::max_element(left.begin(), left.end());
  const auto steps = static_cast<std::uint64_t>((most + chunk - 1) / chunk);
  return step_on_node(board_, std::max<std::uint64_t>(steps, 1), seat.interrupt,
                      fill, drain);
}

}  // namespace hvd::collective
