// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/ring/adasum_plane.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "horovodpp/collective/reduce/adasum.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/collective/ring/chunk_link.h"
#include "horovodpp/collective/ring/team.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// An AdasumRound reduces some tensors by Adasum between ranks, each tensor with
// its own dot products. It is one rank's part in the round:
//
//   AdasumRound round(tensors, {members, rank}, reduction);
//   HVD_RETURN_IF_ERROR(round.run(link));
//
// The method is vector halving with distance doubling (Maleki et al., section
// 3.4):
//
// - All tensors are one row of elements. At distance 1, 2, 4 … a rank and its
//   peer, whose numbers differ in that bit, own the same segment of the row,
//   each of another vector. Each keeps one half of the segment and sends the
//   other, so that it has its half of both vectors.
// - The dot products are summed over all ranks that hold parts of the two
//   vectors, 2 * distance ranks, and each rank merges its half.
// - In the end each rank owns one segment of the result. On the way back the
//   halves are put together again.
// - Ranks beyond the largest power of two first give their vectors to the first
//   ranks, and get the result from them.
//
// So the result is that of a tree, with P the largest power of two. Rank r is
// first merged with r + P, if that exists. Then 0 is merged with 1, 2 with 3 …,
// then these pairs with each other, and so on. The tree is not symmetric in the
// ranks.
//
// Outputs are written when all ranks have contributed. Not thread-safe.
class AdasumRound {
 public:
  // Borrows its arguments. Requires two or more members, and an element; the
  // dtype is floating-point.
  AdasumRound(std::span<const Piece> tensors, const RingTeam& team,
              const Reduction& reduction)
      : tensors_(tensors),
        team_(team),
        core_(static_cast<int>(
            std::bit_floor(static_cast<unsigned>(team.ranks())))),
        dtype_(reduction.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
        kernel_(reduction, team.ranks()),
        row_(tensors, core_, kernel_.element_bytes()),
        count_(total_count(tensors)),
        own_(all()) {}

  // Call it once. Allocates two accumulators for each element.
  //   (errors)  the link's errors; ResourceExhausted
  absl::Status run(ChunkLink& link) {
    HVD_RETURN_IF_ERROR(allocate());
    load();
    if (is_extra()) {
      HVD_RETURN_IF_ERROR(give_all(link));
      unpack();
      return absl::OkStatus();
    }
    if (has_extra()) HVD_RETURN_IF_ERROR(take_in_extra(link));
    for (int distance = 1; distance < core_; distance *= 2) {
      HVD_RETURN_IF_ERROR(descend(distance, link));
    }
    finish();
    for (int distance = core_ / 2; distance > 0; distance /= 2) {
      HVD_RETURN_IF_ERROR(ascend(distance, link));
    }
    if (has_extra()) {
      HVD_RETURN_IF_ERROR(
          exchange(team_.rank + core_, results(all()), {}, link));
    }
    unpack();
    return absl::OkStatus();
  }

 private:
  // Parts of the row.
  struct Segment {
    int begin = 0;
    int end = 0;
  };
  // The halves of a segment, as a rank and its peer see them.
  struct Halves {
    Segment kept;
    Segment given;
  };

  bool is_extra() const { return team_.rank >= core_; }
  bool has_extra() const { return team_.rank + core_ < team_.ranks(); }
  bool is_lower(int distance) const { return (team_.rank & distance) == 0; }

  Halves halves_of(const Segment& segment, int distance) const {
    const int middle = (segment.begin + segment.end) / 2;
    const Segment first = {segment.begin, middle};
    const Segment second = {middle, segment.end};
    return is_lower(distance) ? Halves{first, second} : Halves{second, first};
  }
  Range elements(const Segment& segment) const {
    const std::int64_t begin = row_.begin(segment.begin);
    return {begin, row_.begin(segment.end) - begin};
  }
  Segment all() const { return {.begin = 0, .end = core_}; }

  absl::Status allocate() {
    const std::int64_t others = has_extra() ? count_ : row_.begin(core_ / 2);
    HVD_ASSIGN_OR_RETURN(mine_, Buffer::allocate(dtype_, Shape({count_})));
    HVD_ASSIGN_OR_RETURN(theirs_, Buffer::allocate(dtype_, Shape({others})));
    return absl::OkStatus();
  }

  void load() {
    std::int64_t at = 0;
    for (const Piece& run : row_.pieces()) {
      kernel_.load(run.input, mine(at), run.count);
      at += run.count;
    }
  }

  void unpack() const {
    PieceStream outputs(row_.pieces(), kernel_.element_bytes());
    outputs.unpack(results(all()).data(), count_);
  }

  absl::Status give_all(ChunkLink& link) {
    const int taker = team_.rank - core_;
    HVD_RETURN_IF_ERROR(exchange(taker, accumulators(all()), {}, link));
    return exchange(taker, {}, results(all()), link);
  }

  absl::Status take_in_extra(ChunkLink& link) {
    const std::span<std::byte> in(theirs(0), accumulators(own_).size());
    HVD_RETURN_IF_ERROR(exchange(team_.rank + core_, {}, in, link));
    merge(own_, true, measure(own_, true));
    return absl::OkStatus();
  }

  absl::Status descend(int distance, ChunkLink& link) {
    const Halves halves = halves_of(own_, distance);
    const std::span<std::byte> in(theirs(0), accumulators(halves.kept).size());
    HVD_RETURN_IF_ERROR(
        exchange(team_.rank ^ distance, accumulators(halves.given), in, link));
    owned_.push_back(own_);
    own_ = halves.kept;
    const bool mine_is_a = is_lower(distance);
    std::vector<PairProducts> products = measure(own_, mine_is_a);
    HVD_RETURN_IF_ERROR(sum_up(products, distance, link));
    merge(own_, mine_is_a, products);
    return absl::OkStatus();
  }

  absl::Status ascend(int distance, ChunkLink& link) {
    own_ = owned_.back();
    owned_.pop_back();
    const Halves halves = halves_of(own_, distance);
    return exchange(team_.rank ^ distance, results(halves.kept),
                    results(halves.given), link);
  }
  // Converts the segment that this rank owns to results.
  // Results may be shorter than accumulators, so they are built in memory that is
  // no longer needed, and then copied to their place.
  void finish() {
    const Range own = elements(own_);
    kernel_.store(mine(own.begin), theirs(0), own.count);
    const std::span<std::byte> place = results(own_);
    if (!place.empty()) std::memcpy(place.data(), theirs(0), place.size());
  }

  // The products of each tensor's part in `segment`; theirs_ holds the other
  // vector's.
  std::vector<PairProducts> measure(const Segment& segment, bool mine_is_a) {
    std::vector<PairProducts> products(tensors_.size());
    const std::int64_t begin = elements(segment).begin;
    row_.for_each_run(
        segment.begin, segment.end, [&](std::size_t tensor, const Range& run) {
          const std::byte* own = mine(run.begin);
          const std::byte* other = theirs(run.begin - begin);
          products[tensor] =
              sum_of(products[tensor],
                     products_of(dtype_, mine_is_a ? own : other,
                                 mine_is_a ? other : own, run.count));
        });
    return products;
  }

  // At each distance both ranks add the same two numbers, so the sums have the
  // same bits on all these ranks.
  absl::Status sum_up(std::vector<PairProducts>& products, int distance,
                      ChunkLink& link) {
    std::vector<PairProducts> others(products.size());
    for (int step = 1; step <= distance; step *= 2) {
      HVD_RETURN_IF_ERROR(
          exchange(team_.rank ^ step, std::as_bytes(std::span(products)),
                   std::as_writable_bytes(std::span(others)), link));
      for (std::size_t t = 0; t < products.size(); ++t) {
        products[t] = sum_of(products[t], others[t]);
      }
    }
    return absl::OkStatus();
  }

  void merge(const Segment& segment, bool mine_is_a,
             const std::vector<PairProducts>& products) {
    const std::int64_t begin = elements(segment).begin;
    row_.for_each_run(
        segment.begin, segment.end, [&](std::size_t tensor, const Range& run) {
          std::byte* own = mine(run.begin);
          const std::byte* other = theirs(run.begin - begin);
          merge_pair(dtype_, mine_is_a ? own : other, mine_is_a ? other : own,
                     own, run.count, products[tensor]);
        });
  }

  std::byte* mine(std::int64_t element) const {
    return static_cast<std::byte*>(mine_.view().data()) +
           static_cast<std::size_t>(element) * size_of(dtype_);
  }

  std::byte* theirs(std::int64_t element) const {
    return static_cast<std::byte*>(theirs_.view().data()) +
           static_cast<std::size_t>(element) * size_of(dtype_);
  }

  std::span<std::byte> accumulators(const Segment& segment) const {
    const Range range = elements(segment);
    return {mine(range.begin),
            static_cast<std::size_t>(range.count) * size_of(dtype_)};
  }

  std::span<std::byte> results(const Segment& segment) const {
    const Range range = elements(segment);
    const std::size_t bytes = kernel_.element_bytes();
    return {mine(0) + static_cast<std::size_t>(range.begin) * bytes,
            static_cast<std::size_t>(range.count) * bytes};
  }
  // Sends `out` to the rank at `position` and receives `in` from it.
  // Both ranks go through the chunks in the same order and send before they
  // receive. So neither waits for a message that the other sends only after a
  // receive.
  absl::Status exchange(int position, std::span<const std::byte> out,
                        std::span<std::byte> in, ChunkLink& link) const {
    const int peer = team_.members[static_cast<std::size_t>(position)];
    const std::size_t most = link.slot_bytes();
    const std::size_t window = static_cast<std::size_t>(link.depth()) * most;
    const std::size_t longest = std::max(out.size(), in.size());
    std::size_t posted = 0;
    for (std::size_t at = 0; at < longest; at += most) {
      while (posted < std::min(in.size(), at + window)) {
        const std::size_t bytes = std::min(most, in.size() - posted);
        HVD_RETURN_IF_ERROR(link.post_receive(peer, bytes));
        posted += bytes;
      }
      if (at < out.size()) {
        const auto chunk = out.subspan(at, std::min(most, out.size() - at));
        HVD_ASSIGN_OR_RETURN(std::byte * slot, link.take());
        std::memcpy(slot, chunk.data(), chunk.size());
        HVD_RETURN_IF_ERROR(link.send(peer, slot, chunk.size()));
      }
      if (at < in.size()) {
        HVD_ASSIGN_OR_RETURN(std::byte * slot, link.receive());
        std::memcpy(in.data() + at, slot, std::min(most, in.size() - at));
        link.release(slot);
      }
    }
    return absl::OkStatus();
  }

  const std::span<const Piece> tensors_;
  const RingTeam team_;
  const int core_;     // Largest power of two <= ranks.
  const DType dtype_;  // The accumulators'.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  Segment own_;
  std::vector<Segment> owned_;  // Before each distance.
  Buffer mine_;                 // The row: accumulators, later results.
  Buffer theirs_;
};

}  // namespace

// The first round ends when all ranks have entered the call, so no later round
// is given up after outputs have been written.
absl::Status AdasumPlane::merge(std::span<const Piece> pieces,
                                const Reduction& reduction, const Call& call) {
  return run(call, [&](ChunkLink& link) -> absl::Status {
    std::span<const Piece> left = pieces;
    while (!left.empty()) {
      const std::size_t length =
          adasum_round_length(left, reduction.dtype, round_bytes_);
      const std::span<const Piece> now = left.first(length);
      left = left.subspan(length);
      if (total_count(now) == 0) continue;
      AdasumRound round(now, team(), reduction);
      HVD_RETURN_IF_ERROR(round.run(link));
    }
    return absl::OkStatus();
  });
}

}  // namespace hvd::collective
