// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/ballot.h"

#include <gtest/gtest.h>

#include <random>

namespace hvd::coordinator {
namespace {

using Ranks = std::vector<int>;

TEST(Ballot, KnowledgeAddsUpAndIsNeverTakenBack) {
  Ballot ballot;
  EXPECT_TRUE(ballot.add(4, Certainty::kSuspected));
  EXPECT_FALSE(ballot.add(4, Certainty::kSuspected));
  EXPECT_TRUE(ballot.add(2, Certainty::kCertain));
  EXPECT_FALSE(ballot.add(2, Certainty::kSuspected));
  EXPECT_TRUE(ballot.merge({.restarts = 1, .dead = {4}, .suspected = {1, 2}}));
  EXPECT_EQ(ballot, (Ballot{.restarts = 1, .dead = {2, 4}, .suspected = {1}}));
  EXPECT_FALSE(ballot.merge({.restarts = 0, .dead = {2}, .suspected = {4}}));
  EXPECT_EQ(ballot.lost(), 3u);
  EXPECT_TRUE(ballot.counts_out(1));
  EXPECT_FALSE(ballot.knows_dead(1));
  EXPECT_FALSE(ballot.counts_out(0));
}

TEST(Ballot, ALetterIsReadAsItWasWritten) {
  const BallotLetter sent = {
      .ballot = {.restarts = 7, .dead = {0, 3}, .suspected = {1, 15}},
      .asks = true};
  const auto read = decode_ballot(encode(sent, 16), 16);
  ASSERT_EQ(read.status(), absl::OkStatus());
  EXPECT_EQ(read->ballot, sent.ballot);
  EXPECT_TRUE(read->asks);
  EXPECT_FALSE(read->leaves);
}

TEST(Ballot, NonsenseIsRefused) {
  const auto refused = [](const Ballot& ballot) {
    return absl::IsInvalidArgument(
        decode_ballot(encode({.ballot = ballot}, 16), 16).status());
  };
  EXPECT_FALSE(refused({.dead = {0, 1}, .suspected = {2}}));
  EXPECT_TRUE(refused({.dead = {1, 0}}));
  EXPECT_TRUE(refused({.dead = {1, 1}}));
  EXPECT_TRUE(refused({.dead = {16}}));
  EXPECT_TRUE(refused({.suspected = {-1}}));
  EXPECT_TRUE(refused({.dead = {3}, .suspected = {3}}));
  EXPECT_TRUE(refused({.restarts = 0xffffffffu}));
}

TEST(Ballot, DamagedBytesNeverCrash) {
  std::mt19937 random(5);
  const std::string good = encode(
      {.ballot = {.restarts = 2, .dead = {1, 4, 9}, .suspected = {3}}}, 16);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_ballot(good.substr(0, length), 16).ok());
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto letter = decode_ballot(bytes, 16);
    if (!letter.ok()) continue;
    EXPECT_EQ(encode(*letter, 16), bytes);
  }
}

}  // namespace
}  // namespace hvd::coordinator
