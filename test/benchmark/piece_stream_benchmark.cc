// SPDX-License-Identifier: Apache-2.0
// PieceStream: 1,000 tensors of one size, packed and unpacked.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "horovodpp/collective/reduce/piece_stream.h"
#include "test/benchmark/beside_memcpy.h"

namespace hvd::collective {
namespace {

constexpr std::size_t kPieces = 1000;

// Several times as many tensors as one batch, scattered in memory and shuffled,
// so that the next batch is mostly not in the caches.
class Tensors {
 public:
  Tensors(std::size_t bytes, std::size_t batches)
      : memory_(batches * kPieces * (bytes + kGap)), batches_(batches) {
    std::vector<std::byte*> places;
    for (std::size_t at = 0; at < memory_.size(); at += bytes + kGap) {
      places.push_back(&memory_[at]);
    }
    std::shuffle(places.begin(), places.end(), std::mt19937(1));
    for (std::byte* place : places) {
      pieces_.push_back({place, place, static_cast<std::int64_t>(bytes)});
    }
  }

  std::span<const Piece> next() {
    turn_ = (turn_ + 1) % batches_;
    return std::span<const Piece>(pieces_).subspan(turn_ * kPieces, kPieces);
  }

 private:
  static constexpr std::size_t kGap = 64;
  std::vector<std::byte> memory_;
  std::vector<Piece> pieces_;
  std::size_t batches_;
  std::size_t turn_ = 0;
};

// memcpy uses as many batches, in contiguous memory.
void move_pieces(benchmark::State& state, bool packs) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto batches = static_cast<std::size_t>(state.range(1));
  Tensors tensors(bytes, batches);
  std::vector<std::byte> together(bytes * kPieces);
  const auto count = static_cast<std::int64_t>(together.size());
  const auto move = [&] {
    PieceStream stream(tensors.next(), 1);
    if (packs) {
      stream.pack(together.data(), count);
    } else {
      stream.unpack(together.data(), count);
    }
  };
  measure_beside_memcpy(
      state, 2 * together.size(), move,
      Copied(together.size(), packs ? batches : 1, packs ? 1 : batches));
}

void register_piece_streams() {
  for (const bool packs : {true, false}) {
    benchmark::RegisterBenchmark(packs ? "pack" : "unpack", move_pieces, packs)
        ->ArgNames({"bytes", "batches"})
        ->ArgsProduct({{4, 16, 64, 200, 1024, 4096}, {1, 64}})
        ->UseManualTime()
        ->MinTime(0.1);
  }
}

const bool kRegistered = (register_piece_streams(), true);

}  // namespace
}  // namespace hvd::collective
