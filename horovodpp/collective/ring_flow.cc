#include "horovodpp/collective/ring_flow.h"

#include <algorithm>
#include <cstring>

namespace hvd::collective {

Range elements_of(const RingChunk& chunk, const RingShape& ring,
                  std::int64_t count, std::int64_t per_chunk) {
  // The first so many segments are longer by one.
  const std::int64_t even = count / ring.ranks;
  const std::int64_t longer = count % ring.ranks;
  const std::int64_t first =
      chunk.segment * even + std::min<std::int64_t>(chunk.segment, longer);
  const std::int64_t last = first + even + (chunk.segment < longer ? 1 : 0);
  const std::int64_t chunks_before = chunk.round * ring.depth + chunk.chunk;
  const std::int64_t from = std::min(last, first + per_chunk * chunks_before);
  return {from, std::min(last - from, per_chunk)};
}

std::int64_t rounds_of(const RingShape& ring, std::int64_t count,
                       std::int64_t per_chunk) {
  const std::int64_t longest = (count + ring.ranks - 1) / ring.ranks;
  const std::int64_t per_round = per_chunk * ring.depth;
  return (longest + per_round - 1) / per_round;
}

ReduceFlow::ReduceFlow(const RingShape& ring, std::span<const Piece> pieces,
                       const ReduceKernel& kernel)
    : ring_(ring),
      kernel_(kernel),
      stream_(pieces, kernel.element_bytes()),
      count_(total_count(pieces)),
      per_chunk_(static_cast<std::int64_t>(ring.slot_bytes /
                                           kernel.accumulator_bytes())) {}

std::size_t ReduceFlow::bytes(const RingChunk& chunk) const {
  const Range range = elements(chunk);
  const auto count = static_cast<std::size_t>(range.count);
  if (reduces(chunk.step)) return count * kernel_.accumulator_bytes();
  if (count == 0 || !is_needed(chunk, range)) return 0;
  return count * kernel_.element_bytes();
}

void ReduceFlow::load(const RingChunk& chunk, std::byte* slot) {
  const Range range = elements(chunk);
  stream_.seek(range.begin);
  for (std::int64_t left = range.count; left > 0;) {
    const Piece run = stream_.take(left);
    kernel_.load(run.input, slot, run.count);
    slot += static_cast<std::size_t>(run.count) * kernel_.accumulator_bytes();
    left -= run.count;
  }
}

void ReduceFlow::receive(const RingChunk& chunk, std::byte* slot) {
  const Range range = elements(chunk);
  if (reduces(chunk.step)) {
    combine(range, slot);
    if (!reduces(chunk.step + 1)) finish(range, slot);
  } else {
    take_in(range, slot);
  }
}

void ReduceFlow::combine(const Range& range, std::byte* slot) {
  stream_.seek(range.begin);
  for (std::int64_t left = range.count; left > 0;) {
    const Piece run = stream_.take(left);
    kernel_.combine(slot, run.input, run.count);
    slot += static_cast<std::size_t>(run.count) * kernel_.accumulator_bytes();
    left -= run.count;
  }
}

void AllreduceFlow::finish(const Range& range, std::byte* slot) {
  // What goes on takes the place of the accumulators. It is never longer than
  // they are, so it overtakes none that are still to be read.
  std::byte* accumulators = slot;
  stream().seek(range.begin);
  for (std::int64_t left = range.count; left > 0;) {
    const Piece run = stream().take(left);
    const std::size_t count = static_cast<std::size_t>(run.count);
    kernel().store(accumulators, run.output, run.count);
    std::memcpy(slot, run.output, count * kernel().element_bytes());
    accumulators += count * kernel().accumulator_bytes();
    slot += count * kernel().element_bytes();
    left -= run.count;
  }
}

void AllreduceFlow::take_in(const Range& range, const std::byte* slot) {
  stream().seek(range.begin);
  stream().unpack(slot, range.count);
}

ReducescatterFlow::ReducescatterFlow(const RingShape& ring,
                                     std::span<const Piece> pieces,
                                     const PartTable& parts,
                                     const ReduceKernel& kernel)
    : ReduceFlow(ring, pieces, kernel),
      pieces_(pieces),
      parts_(parts),
      results_(ring.slot_bytes) {}

// A segment's results start behind the last rank before it, so rank `r` is
// `r - segment` hops on their way, and they have made `step - (ranks - 1)` when
// they are received.
bool ReducescatterFlow::is_needed(const RingChunk& chunk,
                                  const Range& range) const {
  const int ranks = ring().ranks;
  const int made = chunk.step - (ranks - 1);
  bool needed = false;
  parts_.for_each_part(range, [&](const PartTable::Part& part) {
    const int hops = (part.rank + ranks - chunk.segment) % ranks;
    needed = hops >= made && hops < ranks - 1;
    return !needed;
  });
  return needed;
}

void ReducescatterFlow::finish(const Range& range, std::byte* slot) {
  kernel().store(slot, results_.data(), range.count);
  std::memcpy(slot, results_.data(),
              static_cast<std::size_t>(range.count) * kernel().element_bytes());
  take_in(range, slot);
}

void ReducescatterFlow::take_in(const Range& range, const std::byte* slot) {
  const auto bytes_of = [&](std::int64_t count) {
    return static_cast<std::size_t>(count) * kernel().element_bytes();
  };
  parts_.for_each_part(range, [&](const PartTable::Part& part) {
    if (part.rank != ring().rank) return true;
    std::memcpy(static_cast<std::byte*>(pieces_[part.piece].output) +
                    bytes_of(part.skipped),
                slot + bytes_of(part.range.begin - range.begin),
                bytes_of(part.range.count));
    return true;
  });
}

AllgatherFlow::AllgatherFlow(const RingShape& ring,
                             std::span<const std::byte> mine,
                             std::span<const std::size_t> bytes_of_rank,
                             std::span<std::byte* const> places)
    : ring_(ring), mine_(mine), bytes_of_rank_(bytes_of_rank), places_(places) {
  const std::size_t per_round =
      static_cast<std::size_t>(ring.depth) * ring.slot_bytes;
  const std::size_t most =
      *std::max_element(bytes_of_rank.begin(), bytes_of_rank.end());
  rounds_ = static_cast<std::int64_t>((most + per_round - 1) / per_round);
}

std::size_t AllgatherFlow::begin(const RingChunk& chunk) const {
  const std::size_t chunks_before = static_cast<std::size_t>(chunk.round) *
                                        static_cast<std::size_t>(ring_.depth) +
                                    static_cast<std::size_t>(chunk.chunk);
  return chunks_before * ring_.slot_bytes;
}

std::size_t AllgatherFlow::bytes(const RingChunk& chunk) const {
  const std::size_t all =
      bytes_of_rank_[static_cast<std::size_t>(chunk.segment)];
  const std::size_t from = std::min(all, begin(chunk));
  return std::min(all - from, ring_.slot_bytes);
}

void AllgatherFlow::load(const RingChunk& chunk, std::byte* slot) {
  std::memcpy(slot, mine_.data() + begin(chunk), bytes(chunk));
}

void AllgatherFlow::receive(const RingChunk& chunk, std::byte* slot) {
  std::byte* const place = places_[static_cast<std::size_t>(chunk.segment)];
  std::memcpy(place + begin(chunk), slot, bytes(chunk));
}

}  // namespace hvd::collective
