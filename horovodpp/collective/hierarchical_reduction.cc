#include "horovodpp/collective/hierarchical_reduction.h"

#include <algorithm>
#include <cstring>

#include "horovodpp/collective/hierarchical_steps.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kLongestAccumulator = 16;

std::int64_t block_elements(const HierarchicalLanes& lanes,
                            std::size_t block_bytes,
                            std::size_t accumulator_bytes) {
  return std::max(static_cast<std::int64_t>(block_bytes / accumulator_bytes),
                  std::int64_t{lanes.lanes()});
}

}  // namespace

RingSeat HierarchicalSeat::in_lane(int lane) const {
  const int nodes = lanes.nodes();
  const auto driver_on = [&](int node) {
    const auto place = static_cast<std::size_t>(lanes.driver(node, lane));
    return members[static_cast<std::size_t>(lanes.members(node)[place])];
  };
  return {.shape = {.rank = lanes.node(),
                    .ranks = nodes,
                    .depth = link.depth(),
                    .slot_bytes = link.slot_bytes()},
          .previous = driver_on((lanes.node() + nodes - 1) % nodes),
          .next = driver_on((lanes.node() + 1) % nodes)};
}

std::size_t HierarchicalReduction::slot_bytes(const HierarchicalLanes& lanes,
                                              std::size_t block_bytes) {
  const auto all = static_cast<std::size_t>(lanes.lanes());
  const auto [begin, end] = lanes.driven(lanes.node(), lanes.place());
  const std::size_t block = std::max(block_bytes, all * kLongestAccumulator);
  // The largest share may be longer by one.
  return block * static_cast<std::size_t>(end - begin) / all +
         2 * kLongestAccumulator;
}

HierarchicalReduction::HierarchicalReduction(const HierarchicalSeat& seat,
                                             std::span<const Piece> pieces,
                                             const ReduceKernel& kernel,
                                             const Staging& staging,
                                             std::size_t block_bytes,
                                             const Needed& needed)
    : seat_(seat),
      kernel_(kernel),
      staging_(staging),
      count_(total_count(pieces)),
      per_block_(
          block_elements(seat.lanes, block_bytes, kernel.accumulator_bytes())),
      needed_(needed),
      inputs_(static_cast<std::size_t>(seat.lanes.places()),
              PieceStream(pieces, kernel.element_bytes())) {}

absl::Status HierarchicalReduction::run(const Deliver& deliver) {
  for (block_.begin = 0; block_.begin < count_; block_.begin += per_block_) {
    block_.count = std::min(per_block_, count_ - block_.begin);
    HVD_RETURN_IF_ERROR(reduce_on_node());
    HVD_RETURN_IF_ERROR(reduce_between_nodes());
    HVD_RETURN_IF_ERROR(spread_on_node(deliver));
  }
  return absl::OkStatus();
}

Range HierarchicalReduction::lanes_in_block(
    HierarchicalLanes::Run lanes) const {
  const int all = seat_.lanes.lanes();
  const std::int64_t begin = block_.count * lanes.begin / all;
  const std::int64_t end = block_.count * lanes.end / all;
  return {block_.begin + begin, end - begin};
}

Range HierarchicalReduction::share_of(int place) const {
  return lanes_in_block(seat_.lanes.driven(seat_.lanes.node(), place));
}

Range HierarchicalReduction::part_of(int place, std::uint64_t i,
                                     std::int64_t length) const {
  const Range share = share_of(place);
  const std::int64_t skipped =
      std::min(share.count, static_cast<std::int64_t>(i) * length);
  return {share.begin + skipped, std::min(share.count - skipped, length)};
}

std::uint64_t HierarchicalReduction::parts_in_block(std::int64_t length) const {
  std::int64_t most = 0;
  for (int place = 0; place < seat_.lanes.places(); ++place) {
    most = std::max(most, share_of(place).count);
  }
  return static_cast<std::uint64_t>((most + length - 1) / length);
}

std::size_t HierarchicalReduction::slot_elements() const {
  return seat_.board.options().chunk_bytes / kernel_.element_bytes();
}

LaneData HierarchicalReduction::data_of(const Range& range) const {
  const auto skipped = static_cast<std::size_t>(
      range.begin - share_of(seat_.lanes.place()).begin);
  return {
      .accumulators = staging_.slot(0) + skipped * kernel_.accumulator_bytes(),
      .results = staging_.slot(1) + skipped * kernel_.element_bytes(),
      .range = range};
}

// A slot holds a part of each place's share, so that all reduce all the time;
// what this rank reduces of its own needs no copy.
absl::Status HierarchicalReduction::reduce_on_node() {
  constexpr std::int64_t kWholeLines = 128;
  const int places = seat_.lanes.places();
  const int self = seat_.lanes.place();
  auto length = static_cast<std::int64_t>(slot_elements()) / places;
  if (length > kWholeLines) length -= length % kWholeLines;
  const auto place_in_slot = [&](int place) {
    return static_cast<std::size_t>(place * length) * kernel_.element_bytes();
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    for (int place = 0; place < places; ++place) {
      const Range part = part_of(place, i, length);
      if (place == self || part.count == 0) continue;
      PieceStream& input = inputs_[static_cast<std::size_t>(place)];
      input.seek(part.begin);
      input.pack(slot + place_in_slot(place), part.count);
    }
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    reduce_part(part_of(self, i, length), place_in_slot(self), step);
  };
  return step_on_node(seat_.board, parts_in_block(length), seat_.watch, fill,
                      drain);
}

void HierarchicalReduction::reduce_part(const Range& part, std::size_t at,
                                        std::uint64_t step) {
  if (part.count == 0) return;
  std::byte* const accumulators = data_of(part).accumulators;
  const auto take_in = [&](int place, std::byte* to, const void* input,
                           std::int64_t count) {
    if (place == 0) {
      kernel_.load(input, to, count);
    } else {
      kernel_.combine(to, input, count);
    }
  };
  const int self = seat_.lanes.place();
  PieceStream& own = inputs_[static_cast<std::size_t>(self)];
  own.seek(part.begin);
  for (int place = 0; place < seat_.lanes.places(); ++place) {
    if (place != self) {
      take_in(place, accumulators, seat_.slot(place, step) + at, part.count);
      continue;
    }
    std::byte* to = accumulators;
    for (std::int64_t left = part.count; left > 0;) {
      const Piece run = own.take(left);
      take_in(place, to, run.input, run.count);
      to += static_cast<std::size_t>(run.count) * kernel_.accumulator_bytes();
      left -= run.count;
    }
  }
}

// All that is sent is through before anybody goes back to the board: the wires
// of a rank that waits there may stand still.
absl::Status HierarchicalReduction::reduce_between_nodes() {
  const HierarchicalLanes& lanes = seat_.lanes;
  const auto mine = lanes.driven(lanes.node(), lanes.place());
  for (int lane = mine.begin; lane < mine.end; ++lane) {
    const LaneData data = data_of(lanes_in_block({lane, lane + 1}));
    if (lanes.nodes() == 1) {
      kernel_.store(data.accumulators, data.results, data.range.count);
      continue;
    }
    const RingSeat seat = seat_.in_lane(lane);
    LaneFlow flow(seat.shape, data, kernel_, needed_);
    HVD_RETURN_IF_ERROR(circulate(seat, flow, seat_.link));
  }
  return seat_.link.flush();
}

absl::Status HierarchicalReduction::spread_on_node(const Deliver& deliver) {
  const int places = seat_.lanes.places();
  const int self = seat_.lanes.place();
  const auto length = static_cast<std::int64_t>(slot_elements());
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    const Range part = part_of(self, i, length);
    if (places == 1 || part.count == 0) return;
    std::memcpy(slot, data_of(part).results,
                static_cast<std::size_t>(part.count) * kernel_.element_bytes());
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    for (int place = 0; place < places; ++place) {
      const Range part = part_of(place, i, length);
      if (part.count == 0) continue;
      deliver(place, part,
              place == self ? data_of(part).results : seat_.slot(place, step));
    }
  };
  return step_on_node(seat_.board, parts_in_block(length), seat_.watch, fill,
                      drain);
}

}  // namespace hvd::collective
