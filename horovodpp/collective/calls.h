// SPDX-License-Identifier: Apache-2.0
// The collectives of planes. Each is a struct of its arguments, which names them
// on the way through wrappers, checks and planes:
//
//   plane.execute(Allgather{mine, bytes_of_rank, output}, call)
//
// Ranks are positions among the plane's members. All memory is the caller's.
// with_memory() replaces the memory of a call, for planes and tests that move
// its tensors elsewhere and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "horovodpp/collective/reduce/piece.h"
#include "horovodpp/collective/reduce/reduction.h"

namespace hvd::collective {

// Reduces all pieces, elementwise over the ranks, in one call.
struct Allreduce {
  std::span<const Piece> pieces;
  const Reduction& reduction;
};

// As an allreduce, but this rank gets only its part of each piece. An `input`
// is a whole tensor of `count` elements, `output` this rank's part. The parts
// lie in the tensor in rank order. counts[p * ranks + r] is the number of
// elements of piece p that go to rank r; zero is legal. Gives the bits of an
// allreduce of the same pieces by the same plane.
//   InvalidArgument  the counts are not one per piece and rank, or do not add up
//                    to the pieces'
struct Reducescatter {
  std::span<const Piece> pieces;
  std::span<const std::int64_t> counts;
  const Reduction& reduction;

  // The counts of piece `p`, by rank.
  std::span<const std::int64_t> parts(std::size_t p) const {
    const std::size_t ranks = counts.size() / pieces.size();
    return counts.subspan(p * ranks, ranks);
  }
};

// Concatenates every rank's `mine` into `output` in rank order. `bytes_of_rank`
// has an entry for each rank, equal on all ranks; zeros are legal.
struct Allgather {
  std::span<const std::byte> mine;
  std::span<const std::size_t> bytes_of_rank;
  std::byte* output;

  // The place of each rank's part in the output. Copies `mine` to the place of
  // `rank`.
  std::vector<std::byte*> place_mine(int rank) const {
    std::vector<std::byte*> places;
    std::byte* next = output;
    for (const std::size_t bytes : bytes_of_rank) {
      places.push_back(next);
      next += bytes;
    }
    std::byte* const own = places[static_cast<std::size_t>(rank)];
    if (!mine.empty() && own != mine.data()) {
      std::memcpy(own, mine.data(), mine.size());
    }
    return places;
  }
};

// Copies `input` of rank `root` to `output` on every rank (on the root only if
// the two differ). `input` is read on the root alone.
struct Broadcast {
  const std::byte* input;
  std::byte* output;
  std::size_t bytes;
  int root;
};

// Sends the next send_bytes[r] bytes of `input` to rank r, for all ranks in
// order. Writes the receive_bytes[r] bytes from rank r to `output`, in the same
// order. Zeros are legal; `input` and `output` do not overlap.
//   InvalidArgument  there is not one size for each rank, or the sizes do not
//                    add up to `input`, or a rank sends a size that is not
//                    expected here (some planes report it on all ranks)
struct Alltoall {
  std::span<const std::byte> input;
  std::span<const std::size_t> send_bytes;
  std::byte* output;
  std::span<const std::size_t> receive_bytes;
};

// Returns OK on no rank before every rank has made the call.
struct Barrier {};

// An allgather between ranks that know only their own sizes. It exchanges the
// sizes in `bytes_of_rank`, which has room for each rank. If all ranks bring
// equally many bytes and have an `output` for them, it also gathers. It returns
// whether it did, the same on all ranks; if not, it writes no output.
struct AllgatherAlike {
  std::span<const std::byte> mine;
  std::span<std::size_t> bytes_of_rank;
  std::byte* output;
};

// An alltoall between ranks that know only their own sizes. It moves the data
// if every two ranks send each other equally many bytes and all have an
// `output`. sizes[from * ranks + to] are bytes; the caller sets this rank's
// row, the call the others.
struct AlltoallAlike {
  std::span<const std::byte> input;
  std::span<std::size_t> sizes;
  std::byte* output;
};

inline std::size_t sum_of(std::span<const std::size_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
}

// The memory of one tensor: its source, nullptr if it is only written, and its
// destination, nullptr if it is only read.
struct Memory {
  const std::byte* from;
  std::byte* to;
};

// Calls move(from, to, bytes) for each tensor of `call` on rank `rank`, which
// returns the tensor's new Memory. Then returns execute() of the call with the
// new memory. The order of the tensors depends on the kind of call alone.
template <typename Move, typename Execute>
auto with_memory(const Allreduce& call, int /*rank*/, Move move,
                 Execute execute) {
  std::vector<Piece> pieces(call.pieces.begin(), call.pieces.end());
  for (Piece& piece : pieces) {
    const Memory there = move(static_cast<const std::byte*>(piece.input),
                              static_cast<std::byte*>(piece.output),
                              bytes_of(piece, call.reduction.dtype));
    piece.input = there.from;
    piece.output = there.to;
  }
  return execute(Allreduce{pieces, call.reduction});
}

template <typename Move, typename Execute>
auto with_memory(const Reducescatter& call, int rank, Move move,
                 Execute execute) {
  std::vector<Piece> pieces(call.pieces.begin(), call.pieces.end());
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    Piece& piece = pieces[p];
    const auto mine =
        static_cast<std::size_t>(call.parts(p)[static_cast<std::size_t>(rank)]);
    piece.input = move(static_cast<const std::byte*>(piece.input), nullptr,
                       bytes_of(piece, call.reduction.dtype))
                      .from;
    piece.output = move(nullptr, static_cast<std::byte*>(piece.output),
                        mine * size_of(call.reduction.dtype))
                       .to;
  }
  return execute(Reducescatter{pieces, call.counts, call.reduction});
}

// The new memory of a call that reads one tensor and writes another, whose bytes
// come from the ranks.
template <typename Move>
Memory moved_apart(Move& move, std::span<const std::byte> input,
                   std::byte* output, std::span<const std::size_t> bytes) {
  const std::byte* const from = move(input.data(), nullptr, input.size()).from;
  return {from, move(nullptr, output, sum_of(bytes)).to};
}

template <typename Move, typename Execute>
auto with_memory(const Allgather& call, int /*rank*/, Move move,
                 Execute execute) {
  const Memory there =
      moved_apart(move, call.mine, call.output, call.bytes_of_rank);
  return execute(
      Allgather{{there.from, call.mine.size()}, call.bytes_of_rank, there.to});
}

template <typename Move, typename Execute>
auto with_memory(const Broadcast& call, int rank, Move move, Execute execute) {
  const Memory there =
      move(rank == call.root ? call.input : nullptr, call.output, call.bytes);
  return execute(Broadcast{there.from, there.to, call.bytes, call.root});
}

template <typename Move, typename Execute>
auto with_memory(const Alltoall& call, int /*rank*/, Move move,
                 Execute execute) {
  const Memory there =
      moved_apart(move, call.input, call.output, call.receive_bytes);
  return execute(Alltoall{{there.from, call.input.size()},
                          call.send_bytes,
                          there.to,
                          call.receive_bytes});
}

}  // namespace hvd::collective
