#include "horovodpp/collective/piece_stream.h"

#include <algorithm>
#include <cstring>

namespace hvd::collective {

std::int64_t total_count(std::span<const Piece> pieces) {
  std::int64_t count = 0;
  for (const Piece& piece : pieces) count += piece.count;
  return count;
}

void PieceStream::seek(std::int64_t element) {
  while (element < begin_) begin_ -= pieces_[--piece_].count;
  while (piece_ < pieces_.size() && element - begin_ >= pieces_[piece_].count) {
    begin_ += pieces_[piece_++].count;
  }
  offset_ = element - begin_;
}

Piece PieceStream::take(std::int64_t most) {
  while (piece_ < pieces_.size() && offset_ == pieces_[piece_].count) {
    begin_ += pieces_[piece_++].count;
    offset_ = 0;
  }
  if (piece_ == pieces_.size() || most <= 0) return {};
  const Piece& piece = pieces_[piece_];
  const std::size_t skipped =
      static_cast<std::size_t>(offset_) * element_bytes_;
  auto* output = static_cast<std::byte*>(piece.output);
  const Piece run = {
      .input = static_cast<const std::byte*>(piece.input) + skipped,
      .output = output == nullptr ? nullptr : output + skipped,
      .count = std::min(most, piece.count - offset_)};
  offset_ += run.count;
  return run;
}

void PieceStream::pack(std::byte* to, std::int64_t count) {
  while (count > 0) {
    const Piece run = take(count);
    if (run.count == 0) return;
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes_;
    std::memcpy(to, run.input, bytes);
    to += bytes;
    count -= run.count;
  }
}

void PieceStream::unpack(const std::byte* from, std::int64_t count) {
  while (count > 0) {
    const Piece run = take(count);
    if (run.count == 0) return;
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes_;
    std::memcpy(run.output, from, bytes);
    from += bytes;
    count -= run.count;
  }
}

}  // namespace hvd::collective
