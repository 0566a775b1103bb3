// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ipc/lanes_reducing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// The alignment of lanes and of everything that a kernel reads or writes of a
// chunk: a line of the GPU's cache.
constexpr std::size_t kLine = 128;

// The most operations of a chunk's step besides its copies: waits for the
// node's other ranks, or kernels that write to them; a kernel, a copy, two
// events.
constexpr std::size_t kOperationsOfStep = device::kernels::kMostMembers + 4;

std::size_t down_to_lines(std::size_t bytes) { return bytes / kLine * kLine; }
std::size_t up_to_lines(std::size_t bytes) {
  return down_to_lines(bytes + kLine - 1);
}

// The chunk's part of a half. Its accumulators have room behind it even if one
// rank has them all.
std::size_t chunk_bytes_in(std::size_t half_bytes, std::size_t element_bytes,
                           std::size_t accumulator_bytes) {
  return down_to_lines(half_bytes / (element_bytes + accumulator_bytes) *
                       element_bytes);
}

// Room for the accumulators and the results of any share: the share's part of a
// half, and the alignment of its two edges. An edge moves by up to a line of
// elements, with their accumulators.
std::size_t slot_bytes(const HierarchicalLanes& lanes, std::size_t half_bytes) {
  constexpr std::size_t kMaxPerByte = 3;  // 2 bytes have 4 of accumulators.
  const auto mine = lanes.driven(lanes.node(), lanes.place());
  const auto all = static_cast<std::size_t>(lanes.lanes());
  const auto driven = static_cast<std::size_t>(mine.end - mine.begin);
  return up_to_lines((half_bytes + all - 1) / all * driven +
                     2 * kMaxPerByte * kLine);
}

}  // namespace

absl::Status IpcLanesReducing::pin(IpcWindow& window,
                                   const HierarchicalLanes& lanes) {
  return window.host()
      .at_least(kWindowHalves * slot_bytes(lanes, window.half_bytes()))
      .status();
}

IpcLanesReducing::IpcLanesReducing(const Means& means, const Task& task)
    : seat_(means.seat),
      window_(means.window),
      all_(means.all),
      wait_(means.wait),
      call_(means.call),
      task_(task),
      element_bytes_(task.kernel.element_bytes()),
      accumulator_bytes_(task.kernel.accumulator_bytes()),
      chunk_bytes_(chunk_bytes_in(window_.half_bytes(), element_bytes_,
                                  accumulator_bytes_)),
      chunks_(task.pieces, element_bytes_, {.memory_bytes = chunk_bytes_}),
      packing_({window_, wait_, call_}, task.pieces, task.wanted,
               task.reduction) {}

absl::Status IpcLanesReducing::run() {
  HVD_RETURN_IF_ERROR(find_slots());
  HVD_RETURN_IF_ERROR(packing_.prepare());
  HVD_RETURN_IF_ERROR(window_.follow(call_, wait_));
  Chunk chunk = next();
  HVD_RETURN_IF_ERROR(packing_.pack(chunk.number, chunk.runs));
  HVD_RETURN_IF_ERROR(seat_.local.meet());
  HVD_RETURN_IF_ERROR(reduce_on_node(chunk));
  while (!chunk.runs.empty()) {
    Chunk later = next();
    if (!later.runs.empty()) {
      HVD_RETURN_IF_ERROR(packing_.pack(later.number, later.runs));
      HVD_RETURN_IF_ERROR(seat_.local.meet());
      HVD_RETURN_IF_ERROR(reduce_on_node(later));
    }
    HVD_RETURN_IF_ERROR(merge_between_nodes(chunk));
    HVD_RETURN_IF_ERROR(spread_on_node(chunk));
    HVD_RETURN_IF_ERROR(seat_.local.meet());
    HVD_RETURN_IF_ERROR(window_.make_room(kOperationsOfStep, wait_));
    HVD_RETURN_IF_ERROR(all_.await_reduced(window_, chunk.number, wait_));
    HVD_RETURN_IF_ERROR(packing_.unpack(chunk.number, chunk.runs));
    chunk = std::move(later);
  }
  const std::uint64_t last = seat_.local.board.steps();
  seat_.local.board.arrive();
  HVD_RETURN_IF_ERROR(wait_.until_end_of(window_.stream()));
  return seat_.local.board.wait_for_arrivals(last, seat_.local.interrupt);
}

IpcLanesReducing::Chunk IpcLanesReducing::next() {
  return {.number = numbered_++, .runs = chunks_.next()};
}

absl::Status IpcLanesReducing::find_slots() {
  const std::size_t of_slot = slot_bytes(seat_.lanes, window_.half_bytes());
  const std::size_t elements = of_slot / (element_bytes_ + accumulator_bytes_);
  HVD_ASSIGN_OR_RETURN(std::byte * memory,
                       window_.host().at_least(slots_.size() * of_slot));
  for (Slot& slot : slots_) {
    slot.accumulators = std::exchange(memory, memory + of_slot);
    slot.results = slot.accumulators + elements * accumulator_bytes_;
  }
  return absl::OkStatus();
}

// The gaps between runs are reduced, too, but never read.
Range IpcLanesReducing::lanes_in(const Chunk& chunk,
                                 HierarchicalLanes::Run lanes) const {
  const std::size_t all = chunks_.end_of(chunk.runs);
  const auto edge = [&](int lane) {
    const auto count = static_cast<std::size_t>(seat_.lanes.lanes());
    const auto before = static_cast<std::size_t>(lane);
    const std::size_t bytes =
        before == count ? all : down_to_lines(all * before / count);
    return static_cast<std::int64_t>(bytes / element_bytes_);
  };
  return {edge(lanes.begin), edge(lanes.end) - edge(lanes.begin)};
}

Range IpcLanesReducing::share_of(const Chunk& chunk) const {
  return lanes_in(chunk,
                  seat_.lanes.driven(seat_.lanes.node(), seat_.lanes.place()));
}

std::byte* IpcLanesReducing::accumulators_on_gpu(const Chunk& chunk) const {
  return window_.half(chunk.number) + chunk_bytes_;
}

absl::Status IpcLanesReducing::reduce_on_node(const Chunk& chunk) {
  if (chunk.runs.empty()) return absl::OkStatus();
  HVD_RETURN_IF_ERROR(window_.make_room(kOperationsOfStep, wait_));
  HVD_RETURN_IF_ERROR(all_.await_packed(window_, chunk.number, wait_));
  const Range share = share_of(chunk);
  const auto members = static_cast<std::uint32_t>(seat_.local.ranks());
  device::kernels::ReduceArguments arguments = {
      .members = members,
      .op = task_.reduction.op,
      .count = share.count,
      .prescale = task_.reduction.prescale,
      .accumulators = accumulators_on_gpu(chunk)};
  for (std::size_t m = 0; m < members; ++m) {
    arguments.memory[m] =
        all_.half(m, chunk.number) +
        static_cast<std::size_t>(share.begin) * element_bytes_;
  }
  device::CudaStream& stream = window_.stream();
  HVD_RETURN_IF_ERROR(
      window_.kernels().reduce(stream, task_.reduction.dtype, arguments));
  Slot& to = slot(chunk);
  HVD_RETURN_IF_ERROR(
      stream.copy(to.accumulators, accumulators_on_gpu(chunk),
                  static_cast<std::size_t>(share.count) * accumulator_bytes_));
  HVD_ASSIGN_OR_RETURN(
      device::CudaEvent fetched,
      device::CudaEvent::after(stream.context(), stream.handle()));
  to.fetched.emplace(std::move(fetched));
  return absl::OkStatus();
}

std::deque<LaneTraffic::Lane> IpcLanesReducing::traffic_of(const Chunk& chunk) {
  const auto mine = seat_.lanes.driven(seat_.lanes.node(), seat_.lanes.place());
  const std::int64_t begin = share_of(chunk).begin;
  std::deque<LaneTraffic::Lane> traffic;
  for (int lane = mine.begin; lane < mine.end; ++lane) {
    const Range range = lanes_in(chunk, {lane, lane + 1});
    const auto skipped = static_cast<std::size_t>(range.begin - begin);
    const Slot& on_host = slot(chunk);
    traffic.push_back(
        {.number = lane,
         .seat = seat_.in_lane(lane),
         .data = {.accumulators =
                      on_host.accumulators + skipped * accumulator_bytes_,
                  .results = on_host.results + skipped * element_bytes_,
                  .range = range}});
  }
  return traffic;
}

bool IpcLanesReducing::is_needed(int node, const Chunk& chunk,
                                 const Range& range) const {
  return std::any_of(chunk.runs.begin(), chunk.runs.end(), [&](const Run& run) {
    const auto place = static_cast<std::int64_t>(run.place / element_bytes_);
    const std::int64_t begin = std::max(range.begin, place);
    const std::int64_t end =
        std::min(range.begin + range.count, place + run.count);
    return begin < end &&
           task_.needed(node, {.piece = run.piece,
                               .begin = run.begin + begin - place,
                               .count = end - begin});
  });
}

absl::Status IpcLanesReducing::merge_between_nodes(const Chunk& chunk) {
  HVD_RETURN_IF_ERROR(wait_.until(*slot(chunk).fetched));
  Needed needed;
  if (task_.needed) {
    needed = [&](int node, const Range& range) {
      return is_needed(node, chunk, range);
    };
  }
  LaneTraffic traffic(task_.kernel, needed, seat_.link);
  traffic.begin(traffic_of(chunk));
  return seat_.link.drive([&] { return traffic.advance(); });
}

absl::Status IpcLanesReducing::spread_on_node(const Chunk& chunk) {
  const Range share = share_of(chunk);
  const auto bytes = static_cast<std::size_t>(share.count) * element_bytes_;
  const std::size_t place =
      static_cast<std::size_t>(share.begin) * element_bytes_;
  std::byte* const own = window_.half(chunk.number) + place;
  HVD_RETURN_IF_ERROR(window_.make_room(kOperationsOfStep, wait_));
  HVD_RETURN_IF_ERROR(window_.stream().copy(own, slot(chunk).results, bytes));
  std::vector<device::CudaKernels::Piece> copies;
  for (int m = 0; m < seat_.local.ranks(); ++m) {
    if (m == seat_.local.rank) continue;
    copies.push_back(
        {.from = own,
         .to = all_.half(static_cast<std::size_t>(m), chunk.number) + place,
         .count = static_cast<std::int64_t>(bytes)});
  }
  HVD_RETURN_IF_ERROR(window_.kernels().copy(window_.stream(), copies));
  return window_.announce_reduced(chunk.number);
}

}  // namespace hvd::collective
