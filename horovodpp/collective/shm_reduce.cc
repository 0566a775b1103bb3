// The ShmPlane's calls that reduce.
#include <algorithm>

#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/collective/shm_steps.h"

namespace hvd::collective {
// Whole lines, so that no two ranks write to the same one.
ShmPlane::Slice ShmPlane::slice_of(int position, std::int64_t count,
                                   std::size_t element_bytes) const {
  const auto line =
      static_cast<std::int64_t>(ShmBoard::kAlignment / element_bytes);
  const std::int64_t lines = (count + line - 1) / line;
  const std::int64_t begin = std::min(count, lines * position / ranks() * line);
  const std::int64_t end =
      std::min(count, lines * (position + 1) / ranks() * line);
  return {begin, end - begin};
}

void ShmPlane::reduce(std::uint64_t step, std::size_t first_byte, void* output,
                      std::int64_t count, const ReduceKernel& kernel,
                      const void* own) {
  for (int peer = 0; peer < ranks(); ++peer) {
    inputs_[static_cast<std::size_t>(peer)] = slot(peer, step) + first_byte;
  }
  if (own != nullptr) inputs_[static_cast<std::size_t>(rank())] = own;
  kernel.reduce(inputs_, output, count);
}

absl::Status ShmPlane::move(std::span<const Piece> pieces,
                            const ReduceKernel& kernel, const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * kernel.element_bytes();
  const ShmBoard::Label label = {.tag = call.tag, .kind = 'r', .bytes = bytes};
  return on_board(label, [&] {
    const std::size_t small = board_.crossovers().small_bytes;
    if (arenas_ == nullptr) {
      return bytes <= small ? allreduce_at_once(pieces, kernel, call)
                            : allreduce_in_chunks(pieces, kernel, call);
    }
    return bytes <= std::min(small, board_.options().unlisted_bytes)
               ? allreduce_at_once(pieces, kernel, call)
               : allreduce_where_it_lies(pieces, kernel, call);
  });
}

// Reduces a slice of a step's chunk, of which `mine` is at the beginning, into
// the outputs and, for the others, into this rank's slot: in portions that do
// not leave the nearest cache in between.
void ShmPlane::reduce_runs_of(PieceStream& mine, const Slice& slice,
                              std::uint64_t step, const ReduceKernel& kernel) {
  constexpr std::size_t kPortion = 16384;
  const std::size_t element_bytes = kernel.element_bytes();
  std::size_t at = static_cast<std::size_t>(slice.begin) * element_bytes;
  for (std::int64_t left = slice.count; left > 0;) {
    const auto most = static_cast<std::int64_t>(kPortion / element_bytes);
    const Piece run = mine.take(std::min(left, most));
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes;
    reduce(step, at, run.output, run.count, kernel, run.input);
    writer_.copy(board_.slot(board_.rank(), step) + at,
                 static_cast<const std::byte*>(run.output), bytes);
    at += bytes;
    left -= run.count;
  }
}

absl::Status ShmPlane::allreduce_at_once(std::span<const Piece> pieces,
                                         const ReduceKernel& kernel,
                                         const Call& call) {
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    PieceStream(pieces, kernel.element_bytes()).pack(slot, total_count(pieces));
  };
  const auto drain = [&](std::uint64_t, std::uint64_t) {
    reduce_shown(pieces, 0, kernel);
    return absl::OkStatus();
  };
  return step_through(1, call, fill, drain);
}

void ShmPlane::reduce_shown(std::span<const Piece> pieces, std::size_t place,
                            const ReduceKernel& kernel) {
  for (const Piece& piece : pieces) {
    reduce(0, place, piece.output, piece.count, kernel);
    place += static_cast<std::size_t>(piece.count) * kernel.element_bytes();
  }
}

absl::Status ShmPlane::allreduce_in_chunks(std::span<const Piece> pieces,
                                           const ReduceKernel& kernel,
                                           const Call& call) {
  const std::size_t element_bytes = kernel.element_bytes();
  const auto per_chunk = static_cast<std::int64_t>(chunk() / element_bytes);
  const std::int64_t count = total_count(pieces);
  const std::uint64_t steps =
      steps_for(static_cast<std::size_t>(count) * element_bytes, chunk());
  const auto count_of = [&](std::uint64_t i) {
    return std::min(per_chunk,
                    count - static_cast<std::int64_t>(i) * per_chunk);
  };
  const auto place_of = [&](const Slice& slice) {
    return static_cast<std::size_t>(slice.begin) * element_bytes;
  };
  PieceStream inputs(pieces, element_bytes);
  PieceStream mine(pieces, element_bytes);  // This rank's slices.
  PieceStream outputs(pieces, element_bytes);
  const auto copy_out = [&](std::uint64_t i, std::uint64_t step) {
    HVD_RETURN_IF_ERROR(board_.wait_for_results(step, call.watch));
    for (int peer = 0; peer < ranks(); ++peer) {
      const Slice slice = slice_of(peer, count_of(i), element_bytes);
      if (peer == rank()) {
        outputs.skip(slice.count);
      } else {
        outputs.unpack(slot(peer, step) + place_of(slice), slice.count);
      }
    }
    return absl::OkStatus();
  };
  // Nobody else reads this rank's slice of its slot: the result gets its place.
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    const Slice slice = slice_of(rank(), count_of(i), element_bytes);
    const std::int64_t end = slice.begin + slice.count;
    writer_.begin_step();
    inputs.pack(writer_, slot, slice.begin);
    inputs.skip(slice.count);
    inputs.pack(writer_, slot + static_cast<std::size_t>(end) * element_bytes,
                count_of(i) - end);
    writer_.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    const Slice slice = slice_of(rank(), count_of(i), element_bytes);
    mine.seek(static_cast<std::int64_t>(i) * per_chunk + slice.begin);
    reduce_runs_of(mine, slice, step, kernel);
    writer_.finish();
    board_.finish(step);
    // One step behind: by then the others are through with theirs.
    if (i > 0) HVD_RETURN_IF_ERROR(copy_out(i - 1, step - 1));
    return i + 1 < steps ? absl::OkStatus() : copy_out(i, step);
  };
  return step_through(steps, call, fill, drain);
}

absl::Status ShmPlane::move(std::span<const Piece> pieces,
                            std::span<const std::int64_t> counts,
                            const ReduceKernel& kernel, const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * kernel.element_bytes();
  const ShmBoard::Label label = {.tag = call.tag, .kind = 's', .bytes = bytes};
  return on_board(label, [&] {
    return bytes <= chunk()
               ? scatter_at_once(pieces, counts, kernel, call)
               : scatter_in_chunks(
                     share_out(pieces, counts, kernel.element_bytes()), kernel,
                     call);
  });
}

absl::Status ShmPlane::scatter_at_once(std::span<const Piece> pieces,
                                       std::span<const std::int64_t> counts,
                                       const ReduceKernel& kernel,
                                       const Call& call) {
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    PieceStream(pieces, kernel.element_bytes()).pack(slot, total_count(pieces));
  };
  const auto drain = [&](std::uint64_t, std::uint64_t step) {
    std::int64_t at = 0;  // In the whole: all parts of all pieces in order.
    const auto parts = static_cast<std::size_t>(ranks());
    for (std::size_t part = 0; part < counts.size(); ++part) {
      if (part % parts == static_cast<std::size_t>(rank())) {
        reduce(step, static_cast<std::size_t>(at) * kernel.element_bytes(),
               pieces[part / parts].output, counts[part], kernel);
      }
      at += counts[part];
    }
    return absl::OkStatus();
  };
  return step_through(1, call, fill, drain);
}

std::vector<ShmPlane::Share> ShmPlane::share_out(
    std::span<const Piece> pieces, std::span<const std::int64_t> counts,
    std::size_t element_bytes) const {
  const auto parts = static_cast<std::size_t>(ranks());
  std::vector<Share> shares(parts);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto* input = static_cast<const std::byte*>(pieces[p].input);
    for (std::size_t r = 0; r < parts; ++r) {
      const std::int64_t count = counts[p * parts + r];
      if (count == 0) continue;
      const bool mine = r == static_cast<std::size_t>(rank());
      shares[r].pieces.push_back(
          {input, mine ? pieces[p].output : nullptr, count});
      shares[r].count += count;
      input += static_cast<std::size_t>(count) * element_bytes;
    }
  }
  return shares;
}

// Every chunk holds a portion of each rank's share, so that all reduce all the
// time; a rank's own portion needs no copy.
absl::Status ShmPlane::scatter_in_chunks(const std::vector<Share>& shares,
                                         const ReduceKernel& kernel,
                                         const Call& call) {
  constexpr std::int64_t kWholeLines = 128;
  const std::size_t element_bytes = kernel.element_bytes();
  auto portion = static_cast<std::int64_t>(chunk() / element_bytes) / ranks();
  if (portion > kWholeLines) portion -= portion % kWholeLines;
  std::int64_t most = 0;
  std::vector<PieceStream> streams;
  for (const Share& share : shares) {
    most = std::max(most, share.count);
    streams.emplace_back(share.pieces, element_bytes);
  }
  const auto count_of = [&](std::size_t r, std::uint64_t i) {
    const std::int64_t left =
        shares[r].count - static_cast<std::int64_t>(i) * portion;
    return std::clamp(left, std::int64_t{0}, portion);
  };
  const auto place_of = [&](std::size_t r) {
    return r * static_cast<std::size_t>(portion) * element_bytes;
  };
  const auto self = static_cast<std::size_t>(rank());
  const auto fill = [&](std::uint64_t i, std::byte* slot) {
    writer_.begin_step();
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (r == self) continue;
      streams[r].pack(writer_, slot + place_of(r), count_of(r, i));
    }
    writer_.finish();
  };
  const auto drain = [&](std::uint64_t i, std::uint64_t step) {
    std::size_t at = place_of(self);
    for (std::int64_t left = count_of(self, i); left > 0;) {
      const Piece run = streams[self].take(left);
      reduce(step, at, run.output, run.count, kernel, run.input);
      at += static_cast<std::size_t>(run.count) * element_bytes;
      left -= run.count;
    }
    return absl::OkStatus();
  };
  const auto steps = static_cast<std::uint64_t>((most - 1) / portion + 1);
  return step_through(steps, call, fill, drain);
}

}  // namespace hvd::collective
