// The ShmPlane's reducescatter.
#include <algorithm>
#include <vector>

#include "horovodpp/collective/piece_stream.h"
#include "horovodpp/collective/shm_steps.h"

namespace hvd::collective {
namespace {

std::size_t bytes_of(const Piece& piece, const ReduceKernel& kernel) {
  return static_cast<std::size_t>(piece.count) * kernel.element_bytes();
}

// The same pieces, as a table tells of inputs.
std::vector<Piece> inputs_of(std::span<const Piece> pieces) {
  std::vector<Piece> inputs(pieces.begin(), pieces.end());
  for (Piece& piece : inputs) piece.output = const_cast<void*>(piece.input);
  return inputs;
}

}  // namespace

absl::Status ShmPlane::move(std::span<const Piece> pieces,
                            std::span<const std::int64_t> counts,
                            const ReduceKernel& kernel, const Call& call) {
  const std::size_t bytes =
      static_cast<std::size_t>(total_count(pieces)) * kernel.element_bytes();
  const ShmBoard::Label label = {.tag = call.tag, .kind = 's', .bytes = bytes};
  return on_board(label, [&] {
    if (arenas_ != nullptr && bytes > board_.options().unlisted_bytes) {
      return scatter_where_it_lies(pieces, counts, kernel, call);
    }
    return bytes <= chunk() ? scatter_at_once(pieces, counts, kernel, call)
                            : scatter_in_chunks(pieces, counts, kernel, call);
  });
}

// As an allreduce of that kind. Nobody writes into the memory of others.
absl::Status ShmPlane::scatter_where_it_lies(
    std::span<const Piece> pieces, std::span<const std::int64_t> counts,
    const ReduceKernel& kernel, const Call& call) {
  const std::vector<Piece> listed = inputs_of(pieces);
  Listing listing;
  HVD_RETURN_IF_ERROR(
      list(listed, kernel.element_bytes(), slot_bytes(), call, listing));
  if (listing.all_show) {
    scatter_shown(pieces, counts, listing.shown_at, kernel);
    return absl::OkStatus();
  }
  const ArenaTable::Reading reading = reading_of(listing);
  const ArenaTable::Inputs inputs(reading, pieces.size());
  const auto parts = static_cast<std::size_t>(ranks());
  std::vector<Piece> foreign;
  std::vector<std::int64_t> foreign_counts;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const auto of_piece = counts.subspan(p * parts, parts);
    if (pieces[p].count == 0) continue;
    if (inputs.find(p, bytes_of(pieces[p], kernel), inputs_)) {
      reduce_part(pieces[p].output, of_piece, kernel);
    } else {
      foreign.push_back(pieces[p]);
      foreign_counts.insert(foreign_counts.end(), of_piece.begin(),
                            of_piece.end());
    }
  }
  if (!foreign.empty()) {
    HVD_RETURN_IF_ERROR(
        scatter_in_chunks(foreign, foreign_counts, kernel, call));
  }
  // Nobody changes its inputs before all have read them.
  board_.finish(0);
  return board_.wait_for_results(0, call.interrupt);
}

// Of the piece whose inputs are in inputs_.
void ShmPlane::reduce_part(void* output, std::span<const std::int64_t> counts,
                           const ReduceKernel& kernel) {
  const auto self = static_cast<std::size_t>(rank());
  std::int64_t before = 0;
  for (std::size_t r = 0; r < self; ++r) before += counts[r];
  for (const void*& input : inputs_) {
    input = static_cast<const std::byte*>(input) +
            static_cast<std::size_t>(before) * kernel.element_bytes();
  }
  kernel.reduce(inputs_, output, counts[self]);
}

absl::Status ShmPlane::scatter_at_once(std::span<const Piece> pieces,
                                       std::span<const std::int64_t> counts,
                                       const ReduceKernel& kernel,
                                       const Call& call) {
  const auto fill = [&](std::uint64_t, std::byte* slot) {
    PieceStream(pieces, kernel.element_bytes()).pack(slot, total_count(pieces));
  };
  const auto drain = [&](std::uint64_t, std::uint64_t) {
    scatter_shown(pieces, counts, 0, kernel);
    return absl::OkStatus();
  };
  return step_through(1, call, fill, drain);
}

void ShmPlane::scatter_shown(std::span<const Piece> pieces,
                             std::span<const std::int64_t> counts,
                             std::size_t place, const ReduceKernel& kernel) {
  const auto parts = static_cast<std::size_t>(ranks());
  for (std::size_t part = 0; part < counts.size(); ++part) {
    if (part % parts == static_cast<std::size_t>(rank())) {
      reduce(0, place, pieces[part / parts].output, counts[part], kernel);
    }
    place += static_cast<std::size_t>(counts[part]) * kernel.element_bytes();
  }
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
absl::Status ShmPlane::scatter_in_chunks(std::span<const Piece> pieces,
                                         std::span<const std::int64_t> counts,
                                         const ReduceKernel& kernel,
                                         const Call& call) {
  constexpr std::int64_t kWholeLines = 128;
  const std::size_t element_bytes = kernel.element_bytes();
  const std::vector<Share> shares = share_out(pieces, counts, element_bytes);
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
