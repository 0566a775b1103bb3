// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/adasum_plane.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "horovodpp/collective/reduce/adasum.h"
#include "horovodpp/collective/reduce/kernel.h"
#include "horovodpp/collective/reduce/part_table.h"
#include "horovodpp/collective/reduce/piece_stream.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// Two vectors; the first receives the result.
struct AdasumPair {
  int a = 0;
  int b = 0;
};

// Returns the merge tree for so many ranks, from its leaves. Pairs of a level
// are independent. Ranks beyond the greatest power of two are merged first.
std::vector<std::vector<AdasumPair>> adasum_levels(int ranks) {
  const int core =
      static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  std::vector<std::vector<AdasumPair>> levels;
  if (core < ranks) levels.emplace_back();
  for (int extra = core; extra < ranks; ++extra) {
    levels.back().push_back({extra - core, extra});
  }
  for (int distance = 1; distance < core; distance *= 2) {
    levels.emplace_back();
    for (int rank = 0; rank < core; rank += 2 * distance) {
      levels.back().push_back({rank, rank + distance});
    }
  }
  return levels;
}

// A ShmAdasumRound is one rank's part in an Adasum of some tensors between
// ranks of a node. Each tensor has its own dot products:
//
//   ShmAdasumRound round(tensors, seat, reduction);
//   HVD_RETURN_IF_ERROR(round.run());            // within a call on the board
//
// All tensors form one row of elements, of which each rank owns a slice:
// - A rank receives its slice of all ranks' vectors and merges them along the
//   tree of adasum_levels().
// - Before each level the ranks show the dot products of their slices. All
//   ranks add these in rank order.
// - At the end each rank shows its slice of the result.
//
// Every rank merges a short row as a whole, so the ranks show only their
// vectors.
//
// Outputs are written after all ranks have contributed. Not thread-safe.
class ShmAdasumRound {
 public:
  // Borrows its arguments. Requires at least one element and a floating-point
  // dtype.
  ShmAdasumRound(std::span<const Piece> tensors, const BoardSeat& seat,
                 const Reduction& reduction)
      : tensors_(tensors),
        seat_(seat),
        dtype_(reduction.dtype == DType::kF64 ? DType::kF64 : DType::kF32),
        kernel_(reduction, seat.ranks()),
        row_(tensors, seat.ranks(), kernel_.element_bytes()),
        count_(total_count(tensors)),
        is_short_(static_cast<std::size_t>(count_) * kernel_.element_bytes() <=
                  seat.board.options().small_bytes) {}

  // Call once, after a call on the board has begun. Allocates one accumulator
  // for each element; for a short row, one for each element of each rank.
  //   (errors)  the board's; ResourceExhausted
  absl::Status run() {
    const std::int64_t longest = slice_of(0).count;
    HVD_ASSIGN_OR_RETURN(
        vectors_, Buffer::allocate(
                      dtype_, Shape({std::int64_t{seat_.ranks()}, longest})));
    HVD_RETURN_IF_ERROR(is_short_ ? share_vectors() : distribute_vectors());
    for (const auto& level : adasum_levels(seat_.ranks())) {
      HVD_RETURN_IF_ERROR(merge(level));
    }
    // The tree has merged all vectors into the first, so the second is free.
    kernel_.store(vector(0, 0), vector(1, 0), mine().count);
    if (!is_short_) return show_results();
    PieceStream(row_.pieces(), kernel_.element_bytes())
        .unpack(vector(1, 0), count_);
    return absl::OkStatus();
  }

 private:
  // The first slice is the longest.
  Range slice_of(int rank) const {
    if (is_short_) return {0, count_};
    const std::int64_t begin = row_.begin(rank);
    return {begin, row_.begin(rank + 1) - begin};
  }
  Range mine() const { return slice_of(seat_.rank); }
  // Part i of a rank's slice, with parts of `length` elements.
  Range part_of(int rank, std::uint64_t i, std::int64_t length) const {
    const Range slice = slice_of(rank);
    const std::int64_t skipped =
        std::min(slice.count, static_cast<std::int64_t>(i) * length);
    return {slice.begin + skipped, std::min(slice.count - skipped, length)};
  }

  std::uint64_t parts(std::int64_t length) const {
    return static_cast<std::uint64_t>((slice_of(0).count + length - 1) /
                                      length);
  }
  // Streams at the beginning of each rank's slice.
  std::vector<PieceStream> streams() const {
    std::vector<PieceStream> streams(
        seat_.members.size(),
        PieceStream(row_.pieces(), kernel_.element_bytes()));
    for (int rank = 0; rank < seat_.ranks(); ++rank) {
      streams[static_cast<std::size_t>(rank)].seek(slice_of(rank).begin);
    }
    return streams;
  }

  absl::Status share_vectors() {
    const auto fill = [&](std::uint64_t, std::byte* slot) {
      PieceStream(row_.pieces(), kernel_.element_bytes()).pack(slot, count_);
    };
    const auto drain = [&](std::uint64_t, std::uint64_t step) {
      for (int rank = 0; rank < seat_.ranks(); ++rank) {
        kernel_.load(seat_.slot(rank, step), vector(rank, 0), count_);
      }
    };
    return seat_.step_through(1, fill, drain);
  }

  // A slot holds a part of each rank's slice, so that all ranks load all the
  // time. A rank's own elements need no copy.
  absl::Status distribute_vectors() {
    const std::int64_t length = slot_elements() / seat_.ranks();
    const auto place_in_slot = [&](int rank) {
      return static_cast<std::size_t>(rank * length) * kernel_.element_bytes();
    };
    std::vector<PieceStream> inputs = streams();
    const auto fill = [&](std::uint64_t i, std::byte* slot) {
      seat_.writer.begin_step();
      for (int rank = 0; rank < seat_.ranks(); ++rank) {
        if (rank == seat_.rank) continue;
        inputs[static_cast<std::size_t>(rank)].pack(
            seat_.writer, slot + place_in_slot(rank),
            part_of(rank, i, length).count);
      }
      seat_.writer.finish();
    };
    const auto drain = [&](std::uint64_t i, std::uint64_t step) {
      const Range part = part_of(seat_.rank, i, length);
      const std::int64_t at = part.begin - mine().begin;
      for (int rank = 0; rank < seat_.ranks(); ++rank) {
        if (rank == seat_.rank) continue;
        kernel_.load(seat_.slot(rank, step) + place_in_slot(seat_.rank),
                     vector(rank, at), part.count);
      }
      load_own(inputs[static_cast<std::size_t>(seat_.rank)], at, part.count);
    };
    return seat_.step_through(parts(length), fill, drain);
  }

  absl::Status merge(const std::vector<AdasumPair>& pairs) {
    std::vector<PairProducts> products(pairs.size() * tensors_.size());
    const auto product = [&](std::size_t pair, std::size_t tensor) -> auto& {
      return products[pair * tensors_.size() + tensor];
    };
    for_each_part([&](std::size_t tensor, std::int64_t at, std::int64_t count) {
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        PairProducts& all = product(p, tensor);
        all = sum_of(all, products_of(dtype_, vector(pairs[p].a, at),
                                      vector(pairs[p].b, at), count));
      }
    });
    if (!is_short_) HVD_RETURN_IF_ERROR(sum_up(products));
    for_each_part([&](std::size_t tensor, std::int64_t at, std::int64_t count) {
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        std::byte* const a = vector(pairs[p].a, at);
        merge_pair(dtype_, a, vector(pairs[p].b, at), a, count,
                   product(p, tensor));
      }
    });
    return absl::OkStatus();
  }

  absl::Status sum_up(std::vector<PairProducts>& products) {
    const std::size_t length = seat_.slot_bytes() / sizeof(PairProducts);
    const auto part = [&](std::uint64_t i) {
      return std::span(products).subspan(
          i * length, std::min(length, products.size() - i * length));
    };
    const auto fill = [&](std::uint64_t i, std::byte* slot) {
      std::memcpy(slot, part(i).data(), part(i).size_bytes());
    };
    const auto drain = [&](std::uint64_t i, std::uint64_t step) {
      for (std::size_t p = 0; p < part(i).size(); ++p) {
        PairProducts sum;
        for (int rank = 0; rank < seat_.ranks(); ++rank) {
          PairProducts theirs;
          std::memcpy(&theirs, seat_.slot(rank, step) + p * sizeof(theirs),
                      sizeof(theirs));
          sum = sum_of(sum, theirs);
        }
        part(i)[p] = sum;
      }
    };
    return seat_.step_through((products.size() + length - 1) / length, fill,
                              drain);
  }

  absl::Status show_results() {
    const std::int64_t length = slot_elements();
    const auto result = [&](const Range& part) {
      return vector(1, 0) +
             static_cast<std::size_t>(part.begin - mine().begin) *
                 kernel_.element_bytes();
    };
    std::vector<PieceStream> outputs = streams();
    const auto fill = [&](std::uint64_t i, std::byte* slot) {
      const Range part = part_of(seat_.rank, i, length);
      seat_.writer.begin_step();
      seat_.writer.copy(
          slot, result(part),
          static_cast<std::size_t>(part.count) * kernel_.element_bytes());
      seat_.writer.finish();
    };
    const auto drain = [&](std::uint64_t i, std::uint64_t step) {
      for (int rank = 0; rank < seat_.ranks(); ++rank) {
        const Range part = part_of(rank, i, length);
        outputs[static_cast<std::size_t>(rank)].unpack(
            rank == seat_.rank ? result(part) : seat_.slot(rank, step),
            part.count);
      }
    };
    return seat_.step_through(parts(length), fill, drain);
  }

  // Calls f(tensor, first element in this slice, count) for the part of each
  // tensor in this slice. If the slice is the whole row, f gets all of a
  // tensor's parts in turn.
  template <typename F>
  void for_each_part(F f) const {
    const std::int64_t begin = mine().begin;
    const int first = is_short_ ? 0 : seat_.rank;
    const int end = is_short_ ? seat_.ranks() : seat_.rank + 1;
    row_.for_each_run(first, end, [&](std::size_t tensor, const Range& run) {
      f(tensor, run.begin - begin, run.count);
    });
  }
  // Loads the next `count` elements of `own` into this rank's vector, from
  // element `at` on.
  void load_own(PieceStream& own, std::int64_t at, std::int64_t count) {
    while (count > 0) {
      const Piece run = own.take(count);
      kernel_.load(run.input, vector(seat_.rank, at), run.count);
      at += run.count;
      count -= run.count;
    }
  }
  // The address of an element in this slice of a rank's vector.
  std::byte* vector(int rank, std::int64_t element) const {
    return static_cast<std::byte*>(vectors_.view().data()) +
           static_cast<std::size_t>(rank * slice_of(0).count + element) *
               size_of(dtype_);
  }

  std::int64_t slot_elements() const {
    return static_cast<std::int64_t>(seat_.slot_bytes() /
                                     kernel_.element_bytes());
  }

  const std::span<const Piece> tensors_;
  const BoardSeat& seat_;
  const DType dtype_;  // Type of the accumulators.
  const ReduceKernel kernel_;
  const AdasumRow row_;
  const std::int64_t count_;
  const bool is_short_;
  Buffer vectors_;
};

}  // namespace

absl::Status ShmAdasumPlane::merge(std::span<const Piece> pieces,
                                   const Reduction& reduction,
                                   const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * size_of(reduction.dtype);
  const BoardSeat seat = seat_in(call);
  return seat.call({.tag = call.tag, .kind = 'r', .bytes = bytes},
                   [&] { return merge_in_rounds(pieces, reduction, seat); });
}

absl::Status ShmAdasumPlane::merge_in_rounds(std::span<const Piece> pieces,
                                             const Reduction& reduction,
                                             const BoardSeat& seat) {
  while (!pieces.empty()) {
    const std::size_t length =
        adasum_round_length(pieces, reduction.dtype, round_bytes_);
    const std::span<const Piece> now = pieces.first(length);
    pieces = pieces.subspan(length);
    if (total_count(now) == 0) continue;
    ShmAdasumRound round(now, seat, reduction);
    HVD_RETURN_IF_ERROR(round.run());
  }
  return absl::OkStatus();
}

}  // namespace hvd::collective
