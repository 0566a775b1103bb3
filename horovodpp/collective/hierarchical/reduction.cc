// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/hierarchical/reduction.h"

#include <algorithm>

#include "horovodpp/collective/board/seat.h"
#include "horovodpp/collective/ring/doubling.h"
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

std::size_t HierarchicalReduction::slot_bytes(const HierarchicalLanes& lanes,
                                              std::size_t block_bytes) {
  const auto all = static_cast<std::size_t>(lanes.lanes());
  const auto [begin, end] = lanes.driven(lanes.node(), lanes.place());
  const std::size_t block = std::max(block_bytes, all * kLongestAccumulator);
  // The largest share may be longer by one element.
  return block * static_cast<std::size_t>(end - begin) / all +
         2 * kLongestAccumulator;
}

HierarchicalReduction::HierarchicalReduction(const HierarchicalSeat& seat,
                                             std::span<const Piece> pieces,
                                             const ReduceKernel& kernel,
                                             const Staging& staging,
                                             const Options& options,
                                             const Needed& needed)
    : seat_(seat),
      kernel_(kernel),
      staging_(staging),
      count_(total_count(pieces)),
      per_block_(block_elements(seat.lanes, options.block_bytes,
                                kernel.accumulator_bytes())),
      doubling_bytes_(std::min(options.doubling_bytes, seat.link.slot_bytes())),
      needed_(needed),
      inputs_(static_cast<std::size_t>(seat.lanes.places()),
              PieceStream(pieces, kernel.element_bytes())) {}

absl::Status HierarchicalReduction::run(ShmBoard::Label label,
                                        const Deliver& deliver) {
  HVD_RETURN_IF_ERROR(
      seat_.local.call(label, [&] { return reduce_on_node(block_at(0)); }));
  HVD_RETURN_IF_ERROR(reduce_first_between_nodes());
  label.second = true;
  label.votes = false;
  LaneTraffic traffic(kernel_, needed_, seat_.link);
  return seat_.local.call(label, [&] { return go_on(traffic, deliver); });
}

// Runs the remaining blocks, after the first has returned from the wires.
absl::Status HierarchicalReduction::go_on(LaneTraffic& traffic,
                                          const Deliver& deliver) {
  for (std::int64_t next = 1; next < blocks(); ++next) {
    const Block block = block_at(next);
    TrafficInterrupt before(seat_.local.interrupt, traffic);
    meanwhile_ = &before;
    HVD_RETURN_IF_ERROR(reduce_on_node(block));
    HVD_RETURN_IF_ERROR(seat_.link.drive([&] { return traffic.advance(); }));
    traffic.begin(traffic_of(block));
    TrafficInterrupt now(seat_.local.interrupt, traffic);
    meanwhile_ = &now;
    HVD_RETURN_IF_ERROR(spread_on_node(block_at(next - 1), deliver));
    meanwhile_ = nullptr;
  }
  HVD_RETURN_IF_ERROR(seat_.link.drive([&] { return traffic.advance(); }));
  return spread_on_node(block_at(blocks() - 1), deliver);
}

HierarchicalReduction::Block HierarchicalReduction::block_at(
    std::int64_t number) const {
  const std::int64_t begin = number * per_block_;
  return {number, {begin, std::min(per_block_, count_ - begin)}};
}

Range HierarchicalReduction::lanes_in(const Block& block,
                                      HierarchicalLanes::Run lanes) const {
  const int all = seat_.lanes.lanes();
  const std::int64_t begin = block.range.count * lanes.begin / all;
  const std::int64_t end = block.range.count * lanes.end / all;
  return {block.range.begin + begin, end - begin};
}

Range HierarchicalReduction::share_of(int place, const Block& block) const {
  return lanes_in(block, seat_.lanes.driven(seat_.lanes.node(), place));
}

Range HierarchicalReduction::part_of(int place, const Block& block,
                                     std::uint64_t i,
                                     std::int64_t length) const {
  const Range share = share_of(place, block);
  const std::int64_t skipped =
      std::min(share.count, static_cast<std::int64_t>(i) * length);
  return {share.begin + skipped, std::min(share.count - skipped, length)};
}

std::uint64_t HierarchicalReduction::parts_in(const Block& block,
                                              std::int64_t length) const {
  std::int64_t most = 0;
  for (int place = 0; place < seat_.lanes.places(); ++place) {
    most = std::max(most, share_of(place, block).count);
  }
  return static_cast<std::uint64_t>((most + length - 1) / length);
}

std::size_t HierarchicalReduction::slot_elements() const {
  return seat_.local.slot_bytes() / kernel_.element_bytes();
}

LaneData HierarchicalReduction::data_of(const Block& block,
                                        const Range& range) const {
  const auto skipped = static_cast<std::size_t>(
      range.begin - share_of(seat_.lanes.place(), block).begin);
  const int slot = block.number % 2 == 0 ? 0 : 2;
  return {
      .accumulators =
          staging_.slot(slot) + skipped * kernel_.accumulator_bytes(),
      .results = staging_.slot(slot + 1) + skipped * kernel_.element_bytes(),
      .range = range};
}

// A slot holds a part of each place's share, so that all members reduce all the
// time. This rank's own part needs no copy.
absl::Status HierarchicalReduction::reduce_on_node(const Block& block) {
  constexpr std::int64_t kWholeLines = 128;
  const int places = seat_.lanes.places();
  const int self = seat_.lanes.place();
  auto length = static_cast<std::int64_t>(slot_elements()) / places;
  if (length > kWholeLines) length -= length % kWholeLines;
  const auto place_in_slot = [&](int place) {
    return static_cast<std::size_t>(place * length) * kernel_.element_bytes();
  };
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    seat_.local.writer.begin_step();
    for (int place = 0; place < places; ++place) {
      const Range part = part_of(place, block, i, length);
      if (place == self || part.count == 0) continue;
      PieceStream& input = inputs_[static_cast<std::size_t>(place)];
      input.seek(part.begin);
      input.pack(seat_.local.writer, slot + place_in_slot(place), part.count);
    }
    seat_.local.writer.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    const Range part = part_of(self, block, i, length);
    reduce_part(data_of(block, part), place_in_slot(self), step);
    keep_traffic_going();
  };
  return on_node().step_through(parts_in(block, length), fill, drain);
}

void HierarchicalReduction::reduce_part(const LaneData& part, std::size_t at,
                                        std::uint64_t step) {
  const std::int64_t count = part.range.count;
  if (count == 0) return;
  const auto take_in = [&](int place, std::byte* to, const void* input,
                           std::int64_t length) {
    if (place == 0) {
      kernel_.load(input, to, length);
    } else {
      kernel_.combine(to, input, length);
    }
  };
  const int self = seat_.lanes.place();
  PieceStream& own = inputs_[static_cast<std::size_t>(self)];
  own.seek(part.range.begin);
  for (int place = 0; place < seat_.lanes.places(); ++place) {
    if (place != self) {
      take_in(place, part.accumulators, seat_.local.slot(place, step) + at,
              count);
      continue;
    }
    std::byte* to = part.accumulators;
    for (std::int64_t left = count; left > 0;) {
      const Piece run = own.take(left);
      take_in(place, to, run.input, run.count);
      to += static_cast<std::size_t>(run.count) * kernel_.accumulator_bytes();
      left -= run.count;
    }
  }
}

std::deque<LaneTraffic::Lane> HierarchicalReduction::traffic_of(
    const Block& block) {
  const HierarchicalLanes& lanes = seat_.lanes;
  const auto mine = lanes.driven(lanes.node(), lanes.place());
  std::deque<LaneTraffic::Lane> traffic;
  for (int lane = mine.begin; lane < mine.end; ++lane) {
    const LaneData data = data_of(block, lanes_in(block, {lane, lane + 1}));
    if (lanes.nodes() == 1) {
      kernel_.store(data.accumulators, data.results, data.range.count);
    } else {
      traffic.push_back({lane, seat_.in_lane(lane), data});
    }
  }
  return traffic;
}

// Complete all sends before this rank returns to the board: while it waits
// there, the sends do not advance.
absl::Status HierarchicalReduction::reduce_first_between_nodes() {
  constexpr int kManyNodes = 3;
  const auto is_short = [&](const LaneTraffic::Lane& lane) {
    return blocks() == 1 && seat_.lanes.nodes() >= kManyNodes &&
           static_cast<std::size_t>(lane.data.range.count) *
                   kernel_.accumulator_bytes() <=
               doubling_bytes_;
  };
  LaneTraffic traffic(kernel_, needed_, seat_.link);
  for (const LaneTraffic::Lane& lane : traffic_of(block_at(0))) {
    if (is_short(lane)) {
      HVD_RETURN_IF_ERROR(reduce_by_doubling(lane));
      continue;
    }
    traffic.begin({lane});
    HVD_RETURN_IF_ERROR(seat_.link.drive([&] { return traffic.advance(); }));
  }
  return seat_.link.flush();
}

absl::Status HierarchicalReduction::reduce_by_doubling(
    const LaneTraffic::Lane& lane) {
  const LaneData& data = lane.data;
  if (data.range.count == 0) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(merge_by_doubling(
      {.members = seat_.drivers_of(lane.number), .rank = seat_.lanes.node()},
      data.accumulators, data.range.count, kernel_, seat_.link));
  kernel_.store(data.accumulators, data.results, data.range.count);
  return absl::OkStatus();
}

absl::Status HierarchicalReduction::spread_on_node(const Block& block,
                                                   const Deliver& deliver) {
  const int places = seat_.lanes.places();
  const int self = seat_.lanes.place();
  const auto length = static_cast<std::int64_t>(slot_elements());
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    const Range part = part_of(self, block, i, length);
    if (places == 1 || part.count == 0) return;
    seat_.local.writer.begin_step();
    seat_.local.writer.copy(
        slot, data_of(block, part).results,
        static_cast<std::size_t>(part.count) * kernel_.element_bytes());
    seat_.local.writer.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    for (int place = 0; place < places; ++place) {
      const Range part = part_of(place, block, i, length);
      if (part.count == 0) continue;
      deliver(place, part,
              place == self ? data_of(block, part).results
                            : seat_.local.slot(place, step));
    }
    keep_traffic_going();
  };
  return on_node().step_through(parts_in(block, length), fill, drain);
}

}  // namespace hvd::collective
