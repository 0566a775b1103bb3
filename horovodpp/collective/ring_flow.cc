#include "horovodpp/collective/ring_flow.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace hvd::collective {

AllreduceFlow::AllreduceFlow(const RingShape& ring,
                             std::span<const Piece> pieces,
                             const ReduceKernel& kernel)
    : ring_(ring),
      kernel_(kernel),
      stream_(pieces, kernel.element_bytes()),
      count_(total_count(pieces)),
      per_chunk_(static_cast<std::int64_t>(ring.slot_bytes /
                                           kernel.accumulator_bytes())),
      per_round_(per_chunk_ * ring.depth * ring.ranks) {}

std::int64_t AllreduceFlow::rounds() const {
  return (count_ + per_round_ - 1) / per_round_;
}

AllreduceFlow::Range AllreduceFlow::elements(const RingChunk& chunk) const {
  const std::int64_t begin = chunk.round * per_round_;
  const std::int64_t count = std::min(per_round_, count_ - begin);
  const std::int64_t first = count * chunk.segment / ring_.ranks;
  const std::int64_t last = count * (chunk.segment + 1) / ring_.ranks;
  const std::int64_t from = std::min(last, first + per_chunk_ * chunk.chunk);
  return {begin + from, std::min(last - from, per_chunk_)};
}

std::size_t AllreduceFlow::bytes(const RingChunk& chunk) const {
  return static_cast<std::size_t>(elements(chunk).count) *
         (reduces(chunk.step) ? kernel_.accumulator_bytes()
                              : kernel_.element_bytes());
}

void AllreduceFlow::load(const RingChunk& chunk, std::byte* slot) {
  Range range = elements(chunk);
  stream_.seek(range.begin);
  while (range.count > 0) {
    const Piece run = stream_.take(range.count);
    kernel_.load(run.input, slot, run.count);
    slot += static_cast<std::size_t>(run.count) * kernel_.accumulator_bytes();
    range.count -= run.count;
  }
}

void AllreduceFlow::receive(const RingChunk& chunk, std::byte* slot) {
  const Range range = elements(chunk);
  if (reduces(chunk.step)) {
    combine(range, slot);
    if (!reduces(chunk.step + 1)) finish(range, slot);
  } else {
    stream_.seek(range.begin);
    stream_.unpack(slot, range.count);
  }
}

void AllreduceFlow::combine(const Range& range, std::byte* slot) {
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
  stream_.seek(range.begin);
  for (std::int64_t left = range.count; left > 0;) {
    const Piece run = stream_.take(left);
    const std::size_t count = static_cast<std::size_t>(run.count);
    kernel_.store(accumulators, run.output, run.count);
    std::memcpy(slot, run.output, count * kernel_.element_bytes());
    accumulators += count * kernel_.accumulator_bytes();
    slot += count * kernel_.element_bytes();
    left -= run.count;
  }
}

AllgatherFlow::AllgatherFlow(const RingShape& ring,
                             std::span<const std::byte> mine,
                             std::span<const std::size_t> bytes_of_rank,
                             std::byte* output)
    : ring_(ring), mine_(mine), bytes_of_rank_(bytes_of_rank), output_(output) {
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
  const auto segment = bytes_of_rank_.begin() + chunk.segment;
  const std::size_t place =
      std::accumulate(bytes_of_rank_.begin(), segment, std::size_t{0});
  std::memcpy(output_ + place + begin(chunk), slot, bytes(chunk));
}

}  // namespace hvd::collective
