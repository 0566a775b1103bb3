// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/lost_ranks.h"

#include <gtest/gtest.h>

#include <random>

namespace hvd::coordinator {
namespace {

using Ranks = std::vector<int>;

TEST(LostRanks, LossesAccumulate) {
  LostRanks lost_ranks;
  EXPECT_TRUE(lost_ranks.add(4, Certainty::kSuspected));
  EXPECT_FALSE(lost_ranks.add(4, Certainty::kSuspected));
  EXPECT_TRUE(lost_ranks.add(2, Certainty::kCertain));
  EXPECT_FALSE(lost_ranks.add(2, Certainty::kSuspected));
  EXPECT_TRUE(
      lost_ranks.merge({.restarts = 1, .dead = {4}, .suspected = {1, 2}}));
  EXPECT_EQ(lost_ranks,
            (LostRanks{.restarts = 1, .dead = {2, 4}, .suspected = {1}}));
  EXPECT_FALSE(
      lost_ranks.merge({.restarts = 0, .dead = {2}, .suspected = {4}}));
  EXPECT_EQ(lost_ranks.count(), 3u);
  EXPECT_TRUE(lost_ranks.counts_out(1));
  EXPECT_FALSE(lost_ranks.knows_dead(1));
  EXPECT_FALSE(lost_ranks.counts_out(0));
}

TEST(LostRanks, EncodesAndDecodesALetter) {
  const LostRanksMessage sent = {
      .lost_ranks = {.restarts = 7, .dead = {0, 3}, .suspected = {1, 15}},
      .asks = true};
  const auto read = decode_lost_ranks(encode(sent, 16), 16);
  ASSERT_EQ(read.status(), absl::OkStatus());
  EXPECT_EQ(read->lost_ranks, sent.lost_ranks);
  EXPECT_TRUE(read->asks);
  EXPECT_FALSE(read->leaves);
}

TEST(LostRanks, NonsenseIsRefused) {
  const auto refused = [](const LostRanks& lost_ranks) {
    return absl::IsInvalidArgument(
        decode_lost_ranks(encode({.lost_ranks = lost_ranks}, 16), 16).status());
  };
  EXPECT_FALSE(refused({.dead = {0, 1}, .suspected = {2}}));
  EXPECT_TRUE(refused({.dead = {1, 0}}));
  EXPECT_TRUE(refused({.dead = {1, 1}}));
  EXPECT_TRUE(refused({.dead = {16}}));
  EXPECT_TRUE(refused({.suspected = {-1}}));
  EXPECT_TRUE(refused({.dead = {3}, .suspected = {3}}));
  EXPECT_TRUE(refused({.restarts = 0xffffffffu}));
}

TEST(LostRanks, DamagedBytesNeverCrash) {
  std::mt19937 random(5);
  const std::string good = encode(
      {.lost_ranks = {.restarts = 2, .dead = {1, 4, 9}, .suspected = {3}}}, 16);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_lost_ranks(good.substr(0, length), 16).ok());
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto letter = decode_lost_ranks(bytes, 16);
    if (!letter.ok()) continue;
    EXPECT_EQ(encode(*letter, 16), bytes);
  }
}

}  // namespace
}  // namespace hvd::coordinator
