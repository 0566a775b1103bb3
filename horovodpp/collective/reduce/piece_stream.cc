// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/piece_stream.h"

#include <algorithm>
#include <cstring>

namespace hvd::collective {
namespace {

constexpr std::size_t kAhead = 2048;
constexpr std::size_t kLine = 64;
// The processor itself prefetches the rest of a longer piece.
constexpr std::size_t kMaxAskedFor = 1024;

// Copies `kWidth` to 2 * `kWidth` bytes. Reads all before it writes any.
template <std::size_t kWidth>
void copy_overlapping(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::byte head[kWidth];
  std::byte tail[kWidth];
  std::memcpy(head, from, kWidth);
  std::memcpy(tail, from + bytes - kWidth, kWidth);
  std::memcpy(to, head, kWidth);
  std::memcpy(to + bytes - kWidth, tail, kWidth);
}

// A memcpy without a call for small tensors.
inline void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kStep = 64;
  constexpr std::size_t kMost = 512;
  if (bytes > kMost) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= kStep) {
    const std::size_t last = bytes - kStep;
    for (std::size_t at = 0; at < last; at += kStep) {
      std::memcpy(to + at, from + at, kStep);
    }
    std::memcpy(to + last, from + last, kStep);
  } else if (bytes >= 32) {
    copy_overlapping<32>(to, from, bytes);
  } else if (bytes >= 16) {
    copy_overlapping<16>(to, from, bytes);
  } else if (bytes >= 8) {
    copy_overlapping<8>(to, from, bytes);
  } else if (bytes >= 4) {
    copy_overlapping<4>(to, from, bytes);
  } else {
    for (std::size_t at = 0; at < bytes; ++at) to[at] = from[at];
  }
}

struct Pack {
  std::byte* to;
  static const void* place(const Piece& piece) { return piece.input; }
  void operator()(const Piece& run, std::size_t bytes) {
    copy(to, static_cast<const std::byte*>(run.input), bytes);
    to += bytes;
  }
};

struct PackBy {
  SlotWriter& writer;
  std::byte* to;
  static const void* place(const Piece& piece) { return piece.input; }
  void operator()(const Piece& run, std::size_t bytes) {
    writer.copy(to, static_cast<const std::byte*>(run.input), bytes);
    to += bytes;
  }
};

struct Unpack {
  const std::byte* from;
  static const void* place(const Piece& piece) { return piece.output; }
  void operator()(const Piece& run, std::size_t bytes) {
    copy(static_cast<std::byte*>(run.output), from, bytes);
    from += bytes;
  }
};

// Prefetches the memory of a piece that `move` will touch; returns its bytes.
template <typename Move>
std::size_t ask_for(const Piece& piece, std::size_t element_bytes,
                    const Move&) {
  const std::size_t bytes =
      static_cast<std::size_t>(piece.count) * element_bytes;
  const auto* place = static_cast<const std::byte*>(Move::place(piece));
  if (place == nullptr) return bytes;  // Unneeded results.
  const std::size_t asked = std::min(bytes, kMaxAskedFor);
  for (std::size_t at = 0; at < asked; at += kLine) {
    __builtin_prefetch(place + at);
  }
  return bytes;
}

}  // namespace

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

// Pack and unpack move run by run, and prefetch the next pieces: the
// processor's own prefetcher does not see the jump to the next piece.
template <typename Move>
void PieceStream::move(std::int64_t count, Move move) {
  std::size_t next = piece_ + 1;  // The first piece that was not prefetched.
  std::size_t ahead = 0;          // Bytes prefetched and not yet moved.
  while (count > 0) {
    while (ahead < kAhead && next < pieces_.size()) {
      ahead += ask_for(pieces_[next++], element_bytes_, move);
    }
    const Piece run = take(count);
    if (run.count == 0) return;
    const std::size_t bytes =
        static_cast<std::size_t>(run.count) * element_bytes_;
    move(run, bytes);
    ahead -= std::min(ahead, bytes);
    count -= run.count;
  }
}

void PieceStream::pack(std::byte* to, std::int64_t count) {
  move(count, Pack{to});
}

void PieceStream::pack(SlotWriter& writer, std::byte* to, std::int64_t count) {
  move(count, PackBy{writer, to});
}

void PieceStream::unpack(const std::byte* from, std::int64_t count) {
  move(count, Unpack{from});
}

}  // namespace hvd::collective
