// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/piece_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace hvd::collective {
namespace {

// Pieces over the ints 0, 1, 2 ..., cut at the given counts.
struct Fixture {
  std::vector<std::int32_t> input;
  std::vector<std::int32_t> output;
  std::vector<Piece> pieces;

  explicit Fixture(const std::vector<std::int64_t>& counts) {
    const auto total = static_cast<std::size_t>(
        std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
    input.resize(total);
    std::iota(input.begin(), input.end(), 0);
    output.assign(total, -1);
    std::size_t at = 0;
    for (const std::int64_t count : counts) {
      // The pointers of an empty tensor must not be used.
      pieces.push_back(count == 0 ? Piece{}
                                  : Piece{.input = &input[at],
                                          .output = &output[at],
                                          .count = count});
      at += static_cast<std::size_t>(count);
    }
  }

  PieceStream stream() const { return {pieces, sizeof(std::int32_t)}; }
};

const std::vector<std::vector<std::int64_t>> kCuts = {
    {}, {0}, {5}, {0, 0, 3, 0, 1, 1, 0, 4, 0}, {1, 1, 1, 1}, {100, 0, 37}};

TEST(PieceStream, CountsAllElements) {
  EXPECT_EQ(total_count(Fixture({}).pieces), 0);
  EXPECT_EQ(total_count(Fixture({0, 0, 3, 0, 1}).pieces), 4);
}

TEST(PieceStream, PacksAndUnpacksAllPiecesInStepsOfAnySize) {
  for (const auto& counts : kCuts) {
    for (const std::int64_t step : {1, 2, 3, 7, 1000}) {
      Fixture fixture(counts);
      PieceStream in = fixture.stream();
      PieceStream out = fixture.stream();
      const auto total = static_cast<std::int64_t>(fixture.input.size());
      for (std::int64_t at = 0; at < total; at += step) {
        const std::int64_t count = std::min(step, total - at);
        std::vector<std::int32_t> between(static_cast<std::size_t>(count));
        auto* bytes = reinterpret_cast<std::byte*>(between.data());
        in.pack(bytes, count);
        EXPECT_EQ(between.front(), at);
        out.unpack(bytes, count);
      }
      EXPECT_EQ(fixture.output, fixture.input);
    }
  }
}

TEST(PieceStream, CopiesExactlyPiecesOfEveryLength) {
  constexpr std::size_t kMaxBytes = 700;
  constexpr std::uint8_t kMark = 0xAB;
  std::vector<std::vector<std::uint8_t>> inputs;
  std::vector<std::vector<std::uint8_t>> outputs;
  std::vector<Piece> pieces;
  for (std::size_t length = 0; length <= kMaxBytes; ++length) {
    inputs.emplace_back(length);
    for (std::size_t i = 0; i < length; ++i) {
      inputs.back()[i] = static_cast<std::uint8_t>(length * 31 + i);
    }
    outputs.emplace_back(length + 2, kMark);
    pieces.push_back({.input = inputs.back().data(),
                      .output = outputs.back().data() + 1,
                      .count = static_cast<std::int64_t>(length)});
  }
  const std::int64_t total = total_count(pieces);
  std::vector<std::byte> together(static_cast<std::size_t>(total) + 1,
                                  std::byte{kMark});
  PieceStream(pieces, 1).pack(together.data(), total);
  EXPECT_EQ(together.back(), std::byte{kMark});
  PieceStream(pieces, 1).unpack(together.data(), total);
  for (std::size_t length = 0; length <= kMaxBytes; ++length) {
    std::vector<std::uint8_t> wanted = inputs[length];
    wanted.insert(wanted.begin(), kMark);
    wanted.push_back(kMark);
    ASSERT_EQ(outputs[length], wanted) << length;
  }
}

TEST(PieceStream, SeeksForwardsAndBackwards) {
  for (const auto& counts : kCuts) {
    Fixture fixture(counts);
    PieceStream stream = fixture.stream();
    const auto total = static_cast<std::int64_t>(fixture.input.size());
    for (std::int64_t from = 0; from <= total; ++from) {
      for (const std::int64_t to :
           {from, total - from, total, std::int64_t{0}}) {
        stream.seek(to);
        const Piece run = stream.take(1);
        ASSERT_EQ(run.count, to < total ? 1 : 0);
        if (run.count == 1) {
          ASSERT_EQ(*static_cast<const std::int32_t*>(run.input), to);
          ASSERT_EQ(run.output, &fixture.output[static_cast<std::size_t>(to)]);
        }
      }
    }
  }
}

TEST(PieceStream, TakesOnlyContiguousElements) {
  Fixture fixture({3, 0, 2});
  PieceStream stream = fixture.stream();
  EXPECT_EQ(stream.take(0).count, 0);
  EXPECT_EQ(stream.take(2).count, 2);
  EXPECT_EQ(stream.take(9).count, 1);
  EXPECT_EQ(stream.take(9).count, 2);
  EXPECT_EQ(stream.take(9).count, 0);
}

TEST(PieceStream, StopsAtTheEnd) {
  Fixture fixture({2});
  std::vector<std::int32_t> room(5, 9);
  PieceStream stream = fixture.stream();
  stream.pack(reinterpret_cast<std::byte*>(room.data()), 5);
  EXPECT_EQ(room, (std::vector<std::int32_t>{0, 1, 9, 9, 9}));
  stream.unpack(reinterpret_cast<std::byte*>(room.data()), 5);
  EXPECT_EQ(fixture.output, (std::vector<std::int32_t>{-1, -1}));
}

TEST(PieceStream, CountsBeyondThirtyTwoBits) {
  // Computes positions only; no memory is touched.
  std::int32_t memory = 0;
  const std::int64_t huge = std::int64_t{1} << 40;
  const Piece pieces[] = {{&memory, &memory, huge}, {&memory, &memory, huge}};
  EXPECT_EQ(total_count(pieces), 2 * huge);
  PieceStream stream(pieces, sizeof(memory));
  stream.seek(huge - 3);
  EXPECT_EQ(stream.take(huge).count, 3);
  EXPECT_EQ(stream.take(huge - 5).count, huge - 5);
}

TEST(PieceStream, WritesToSlotsAndSkipsLikeItPacks) {
  for (const auto& counts : kCuts) {
    for (const std::int64_t step : {1, 3, 1000}) {
      Fixture fixture(counts);
      PieceStream in = fixture.stream();
      SlotWriter writer;
      const auto total = static_cast<std::int64_t>(fixture.input.size());
      bool skips = false;
      for (std::int64_t at = 0; at < total; at += step, skips = !skips) {
        const std::int64_t count = std::min(step, total - at);
        if (skips) {
          in.skip(count);
          continue;
        }
        std::vector<std::int32_t> packed(static_cast<std::size_t>(count));
        in.pack(writer, reinterpret_cast<std::byte*>(packed.data()), count);
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(packed[static_cast<std::size_t>(i)], at + i);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hvd::collective
