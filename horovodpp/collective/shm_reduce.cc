// The ShmPlane's allreduce.
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
    HVD_RETURN_IF_ERROR(board_.wait_for_results(step, call.interrupt));
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

}  // namespace hvd::collective
