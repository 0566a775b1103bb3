#include "horovodpp/collective/shm_plane.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/call_checks.h"
#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

// The options as they can be: whole lines, at least one.
ShmOptions sound(ShmOptions options) {
  constexpr std::size_t kLine = ShmBoard::kAlignment;
  options.chunk_bytes = std::max(kLine, options.chunk_bytes / kLine * kLine);
  options.small_bytes = std::min(options.small_bytes, options.chunk_bytes);
  return options;
}

std::uint64_t steps_for(std::size_t bytes, std::size_t chunk_bytes) {
  return (bytes + chunk_bytes - 1) / chunk_bytes;
}

// The elements of a chunk that one rank reduces: whole lines, so that no two
// ranks write to the same one.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

Slice slice_of(int rank, int ranks, std::int64_t count,
               std::size_t element_bytes) {
  const auto line =
      static_cast<std::int64_t>(ShmBoard::kAlignment / element_bytes);
  const std::int64_t lines = (count + line - 1) / line;
  const std::int64_t begin = std::min(count, lines * rank / ranks * line);
  const std::int64_t end = std::min(count, lines * (rank + 1) / ranks * line);
  return {begin, end - begin};
}

}  // namespace

std::size_t ShmPlane::bytes_needed(int ranks, const Options& options) {
  return ShmBoard::bytes_needed(ranks, sound(options).chunk_bytes);
}

ShmPlane::ShmPlane(transport::NodeSegment& segment, std::span<std::byte> region,
                   const transport::WaitPolicy& waiting, const Options& options)
    : options_(sound(options)),
      board_(segment, region, options_.chunk_bytes, waiting),
      inputs_(static_cast<std::size_t>(segment.local_size())) {
  const std::size_t needed = bytes_needed(ranks(), options_);
  const auto address = reinterpret_cast<std::uintptr_t>(region.data());
  if (region.size() < needed || address % ShmBoard::kAlignment != 0) {
    failure_ = absl::InvalidArgumentError(absl::StrCat(
        "a shared-memory plane of ", ranks(), " ranks needs ", needed,
        " bytes aligned to ", ShmBoard::kAlignment, ", and was given ",
        region.size(), " bytes at an offset of ",
        address % ShmBoard::kAlignment));
  }
}

bool ShmPlane::supports(const Device& device, std::size_t) const {
  return device.is_cpu();
}

template <typename Body>
absl::Status ShmPlane::run(Body body) {
  if (failure_.ok()) failure_ = body();
  return failure_;
}

template <typename Fill, typename Drain>
absl::Status ShmPlane::step_through(std::uint64_t steps,
                                    const ShmBoard::Label& label,
                                    const Call& call, Fill fill, Drain drain) {
  const std::uint64_t first = next_step_;
  next_step_ += steps;
  const auto arrive = [&](std::uint64_t i) {
    fill(i, board_.input(rank(), first + i));
    board_.arrive(first + i, label);
  };
  arrive(0);
  for (std::uint64_t i = 0; i < steps; ++i) {
    HVD_RETURN_IF_ERROR(board_.wait_for_arrivals(first + i, call.watch));
    if (i == 0) HVD_RETURN_IF_ERROR(board_.check_labels(first, label));
    if (i + 1 < steps) arrive(i + 1);
    HVD_RETURN_IF_ERROR(drain(i, first + i));
  }
  return absl::OkStatus();
}

absl::Status ShmPlane::allreduce(std::span<const Piece> pieces,
                                 const Reduction& reduction, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check(reduction));
  const ReduceKernel kernel(reduction, ranks());
  if (ranks() == 1) {
    for (const Piece& piece : pieces) {
      kernel.reduce({&piece.input, 1}, piece.output, piece.count);
    }
    return absl::OkStatus();
  }
  const std::int64_t count = total_count(pieces);
  if (count == 0) return absl::OkStatus();
  const std::size_t bytes =
      static_cast<std::size_t>(count) * kernel.element_bytes();
  return run([&] {
    return bytes <= options_.small_bytes
               ? allreduce_at_once(pieces, count, kernel, call)
               : allreduce_in_chunks(pieces, count, kernel, call);
  });
}

void ShmPlane::reduce(std::uint64_t step, std::size_t first_byte, void* output,
                      std::int64_t count, const ReduceKernel& kernel) {
  for (int peer = 0; peer < ranks(); ++peer) {
    inputs_[static_cast<std::size_t>(peer)] =
        board_.input(peer, step) + first_byte;
  }
  kernel.reduce(inputs_, output, count);
}

absl::Status ShmPlane::allreduce_at_once(std::span<const Piece> pieces,
                                         std::int64_t count,
                                         const ReduceKernel& kernel,
                                         const Call& call) {
  const ShmBoard::Label label = {
      .tag = call.tag,
      .kind = 'r',
      .bytes = static_cast<std::uint64_t>(count) * kernel.element_bytes()};
  return step_through(
      1, label, call,
      [&](std::uint64_t, std::byte* slot) {
        PieceStream(pieces, kernel.element_bytes()).pack(slot, count);
      },
      [&](std::uint64_t, std::uint64_t step) {
        std::size_t at = 0;
        for (const Piece& piece : pieces) {
          reduce(step, at, piece.output, piece.count, kernel);
          at += static_cast<std::size_t>(piece.count) * kernel.element_bytes();
        }
        return absl::OkStatus();
      });
}

absl::Status ShmPlane::allreduce_in_chunks(std::span<const Piece> pieces,
                                           std::int64_t count,
                                           const ReduceKernel& kernel,
                                           const Call& call) {
  const std::size_t element_bytes = kernel.element_bytes();
  const auto per_chunk =
      static_cast<std::int64_t>(options_.chunk_bytes / element_bytes);
  const std::size_t bytes = static_cast<std::size_t>(count) * element_bytes;
  const std::uint64_t steps = steps_for(bytes, options_.chunk_bytes);
  const auto count_of = [&](std::uint64_t i) {
    return std::min(per_chunk,
                    count - static_cast<std::int64_t>(i) * per_chunk);
  };
  PieceStream inputs(pieces, element_bytes);
  PieceStream outputs(pieces, element_bytes);
  const auto copy_out = [&](std::uint64_t i, std::uint64_t step) {
    HVD_RETURN_IF_ERROR(board_.wait_for_results(step, call.watch));
    outputs.unpack(board_.result(step), count_of(i));
    return absl::OkStatus();
  };
  return step_through(
      steps, {.tag = call.tag, .kind = 'r', .bytes = bytes}, call,
      [&](std::uint64_t i, std::byte* slot) { inputs.pack(slot, count_of(i)); },
      [&](std::uint64_t i, std::uint64_t step) {
        const Slice mine =
            slice_of(rank(), ranks(), count_of(i), element_bytes);
        const std::size_t at =
            static_cast<std::size_t>(mine.begin) * element_bytes;
        reduce(step, at, board_.result(step) + at, mine.count, kernel);
        board_.finish(step);
        // One step behind: by then the others are through with theirs.
        if (i > 0) HVD_RETURN_IF_ERROR(copy_out(i - 1, step - 1));
        return i + 1 < steps ? absl::OkStatus() : copy_out(i, step);
      });
}

absl::Status ShmPlane::allgather(std::span<const std::byte> mine,
                                 std::span<const std::size_t> bytes_of_rank,
                                 std::byte* output, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(
      check_allgather(mine.size(), bytes_of_rank, rank(), ranks()));
  const std::size_t chunk = options_.chunk_bytes;
  const std::size_t most =
      *std::max_element(bytes_of_rank.begin(), bytes_of_rank.end());
  const auto length_at = [&](std::size_t bytes, std::uint64_t i) {
    return std::min(chunk, bytes - std::min(bytes, i * chunk));
  };
  const ShmBoard::Label label = {
      .tag = call.tag,
      .kind = 'g',
      .bytes = std::accumulate(bytes_of_rank.begin(), bytes_of_rank.end(),
                               std::uint64_t{0})};
  if (most == 0) return absl::OkStatus();
  return run([&] {
    return step_through(
        steps_for(most, chunk), label, call,
        [&](std::uint64_t i, std::byte* slot) {
          const std::size_t length = length_at(mine.size(), i);
          if (length > 0) std::memcpy(slot, mine.data() + i * chunk, length);
        },
        [&](std::uint64_t i, std::uint64_t step) {
          std::byte* to = output;
          for (int peer = 0; peer < ranks(); ++peer) {
            const std::size_t bytes =
                bytes_of_rank[static_cast<std::size_t>(peer)];
            const std::size_t length = length_at(bytes, i);
            if (length > 0) {
              std::memcpy(to + i * chunk, board_.input(peer, step), length);
            }
            to += bytes;
          }
          return absl::OkStatus();
        });
  });
}

absl::Status ShmPlane::broadcast(const std::byte* input, std::byte* output,
                                 std::size_t bytes, int root, Call call) {
  HVD_RETURN_IF_ERROR(failure_);
  HVD_RETURN_IF_ERROR(check_broadcast(root, ranks()));
  if (bytes == 0) return absl::OkStatus();
  const bool sends = rank() == root;
  if (sends && input != output) std::memcpy(output, input, bytes);
  const std::size_t chunk = options_.chunk_bytes;
  const ShmBoard::Label label = {.tag = call.tag, .kind = 'b', .bytes = bytes};
  return run([&] {
    return step_through(
        steps_for(bytes, chunk), label, call,
        [&](std::uint64_t i, std::byte* slot) {
          if (!sends) return;
          std::memcpy(slot, input + i * chunk,
                      std::min(chunk, bytes - i * chunk));
        },
        [&](std::uint64_t i, std::uint64_t step) {
          if (sends) return absl::OkStatus();
          std::memcpy(output + i * chunk, board_.input(root, step),
                      std::min(chunk, bytes - i * chunk));
          return absl::OkStatus();
        });
  });
}

absl::Status ShmPlane::barrier(Call call) {
  return run([&] {
    return step_through(
        1, {.tag = call.tag, .kind = 'y'}, call,
        [](std::uint64_t, std::byte*) {},
        [](std::uint64_t, std::uint64_t) { return absl::OkStatus(); });
  });
}

}  // namespace hvd::collective
