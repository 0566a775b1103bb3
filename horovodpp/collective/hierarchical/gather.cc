// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/gather.h"

#include <algorithm>
#include <numeric>

#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/ring/circuit.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {

absl::Status HierarchicalGather::run(const transport::DataTag& tag) {
  HVD_RETURN_IF_ERROR(circulate_parts());
  const ShmBoard::Label label = {
      .tag = tag,
      .kind = 'g',
      .bytes = std::accumulate(gather_.bytes_of_rank.begin(),
                               gather_.bytes_of_rank.end(), std::size_t{0})};
  return seat_.local.call(label, [&] { return spread_parts(); });
}

// A member's part travels in the first lane that the member drives, so the node
// need not gather it before it leaves.
int HierarchicalGather::contributor(int node, int lane) const {
  const int place = seat_.lanes.driver(node, lane);
  if (seat_.lanes.driven(node, place).begin != lane) return -1;
  return seat_.lanes.members(node)[static_cast<std::size_t>(place)];
}

absl::Status HierarchicalGather::circulate_parts() {
  const auto [begin, end] =
      seat_.lanes.driven(seat_.lanes.node(), seat_.lanes.place());
  for (int lane = begin; lane < end; ++lane) {
    std::vector<std::size_t> bytes;
    std::vector<std::byte*> places_in_lane;
    for (int node = 0; node < seat_.lanes.nodes(); ++node) {
      const int whose = contributor(node, lane);
      const auto at = static_cast<std::size_t>(std::max(whose, 0));
      bytes.push_back(whose < 0 ? 0 : gather_.bytes_of_rank[at]);
      places_in_lane.push_back(places_[at]);
    }
    const RingSeat in_lane = seat_.in_ring(lane);
    const bool is_home = contributor(seat_.lanes.node(), lane) == position_;
    HVD_RETURN_IF_ERROR(circulate(
        in_lane,
        {.mine = is_home ? gather_.mine : std::span<const std::byte>(),
         .bytes_of_rank = bytes,
         .places = places_in_lane},
        seat_.link));
  }
  // Complete all sends: a rank that waits at the board does not drive the
  // wires.
  return seat_.link.flush();
}

std::vector<Piece> HierarchicalGather::parts_from(int place) const {
  std::vector<Piece> parts;
  const auto [begin, end] = seat_.lanes.driven(seat_.lanes.node(), place);
  for (int lane = begin; lane < end; ++lane) {
    for (int node = 0; node < seat_.lanes.nodes(); ++node) {
      const int whose = contributor(node, lane);
      if (whose < 0) continue;
      const auto at = static_cast<std::size_t>(whose);
      parts.push_back(
          {.input = places_[at],
           .output = places_[at],
           .count = static_cast<std::int64_t>(gather_.bytes_of_rank[at])});
    }
  }
  return parts;
}

absl::Status HierarchicalGather::spread_parts() {
  const auto chunk = static_cast<std::int64_t>(seat_.local.slot_bytes());
  const auto self = static_cast<std::size_t>(seat_.lanes.place());
  std::vector<std::vector<Piece>> parts;
  std::vector<PieceStream> streams;
  std::vector<std::int64_t> left;  // Elements left to show, by place.
  for (int place = 0; place < seat_.lanes.places(); ++place) {
    parts.push_back(parts_from(place));
    streams.emplace_back(parts.back(), 1);
    left.push_back(total_count(parts.back()));
  }
  std::int64_t to_show = left[self];
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    if (left.size() == 1) return;
    seat_.local.writer.begin_step();
    streams[self].pack(seat_.local.writer, slot, std::min(to_show, chunk));
    seat_.local.writer.finish();
    to_show -= std::min(to_show, chunk);
  };
  const auto drain = [&](std::uint64_t, std::uint64_t step) {
    for (std::size_t place = 0; place < left.size(); ++place) {
      const std::int64_t length = std::min(left[place], chunk);
      left[place] -= length;
      if (place == self) continue;
      streams[place].unpack(seat_.local.slot(static_cast<int>(place), step),
                            length);
    }
  };
  const std::int64_t most = *std::max_element(left.begin(), left.end());
  const auto steps = static_cast<std::uint64_t>((most + chunk - 1) / chunk);
  return seat_.local.step_through(std::max<std::uint64_t>(steps, 1), fill,
                                  drain);
}

}  // namespace hvd::collective
