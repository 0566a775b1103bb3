// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/rank_status.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "horovodpp/core/job/topology.h"

namespace hvd {
namespace {

using namespace std::chrono_literals;
using Kind = RankStatus::Kind;
using Culprits = std::vector<RankStatus::Named>;

Culprits blamed_by(const std::string& reason) {
  RankStatus status;
  status.set_reason(reason);
  return status.culprits;
}

const Peer kPeer = {.host = "node-1", .pid = 4711, .node = "n"};
const Peer kOther = {.host = "node 2", .pid = 12, .node = "n"};

TEST(RankStatus, SurvivesTheTrip) {
  for (const Kind kind :
       {Kind::kJoining, Kind::kConnected, Kind::kBroken, Kind::kReforming,
        Kind::kReformed, Kind::kPeerLeftEarly}) {
    const RankStatus status = {.kind = kind,
                               .host = "a host",
                               .pid = 99,
                               .timeout = 30s,
                               .lost = {0, 3, 4, 5, 9},
                               .culprits = {{1, "b@%\n", 2}, {3, "", 4}},
                               .reason = "100 % of\n\tit @ \x7f once",
                               .failure = FailureKind::kSilentNode};
    const std::string text = to_text(status);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto read = parse_rank_status(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, status);
  }
  EXPECT_EQ(parse_rank_status(to_text({})), RankStatus());
}

TEST(RankStatus, NeverExceedsItsLimit) {
  RankStatus status = {.kind = Kind::kBroken,
                       .host = std::string(5000, ' '),
                       .pid = -9223372036854775807,
                       .timeout = 1h,
                       .reason = std::string(9000, '\n')};
  for (int i = 0; i < 1000; ++i) {
    status.lost.push_back(1000 * i);
    status.culprits.push_back({i, std::string(1000, ' '), i});
  }
  const std::string text = to_text(status);
  EXPECT_LE(text.size(), kMaxRankStatusBytes);
  EXPECT_TRUE(parse_rank_status(text).has_value());
}

TEST(RankStatus, RefusesDamagedTexts) {
  EXPECT_TRUE(parse_rank_status("joining h 1 0   0 ").has_value());
  for (const char* text :
       {"", "joining", "joining h 1 0   ", "joining h 1 0  ",
        "leaving h 1 0   0 ", "joining h x 0   0 ", "joining h 1 -1   0 ",
        "joining h 1 0 3-x  0 ", "joining h 1 0 -3  0 ",
        "joining h 1 0 0-99999999  0 ", "broken h 1 0  1@2 0 x",
        "broken h 1 0  1@2@%zz 0 x", "broken %g 1 0   0 x",
        "broken h 1 0   x x", "broken h 1 0   2 x", "broken h 1 0   -1 x",
        "broken h 1 0   0 x more"}) {
    EXPECT_FALSE(parse_rank_status(text).has_value()) << text;
  }
}

TEST(RankStatus, BlamesTheSubjectOfTheReason) {
  EXPECT_EQ(
      blamed_by(kPeer.to_string(3) + " ended; so did " + kOther.to_string(4)),
      (Culprits{{3, "node-1", 4711}}));
}

TEST(RankStatus, DoesNotBlameWitnesses) {
  EXPECT_EQ(blamed_by(kPeer.to_string(3) + ": out of memory"), Culprits());
  EXPECT_EQ(blamed_by(kPeer.to_string(0) + ": the job has stalled: ranks [0] " +
                      "have submitted it, but not " + kOther.to_string(4)),
            (Culprits{{4, "node 2", 12}}));
}

TEST(RankStatus, BlamesAllNamedRanksWithoutASubject) {
  EXPECT_EQ(
      blamed_by("the job has stalled, rank by rank: " + kPeer.to_string(1) +
                ", which is slow; " + kOther.to_string(4)),
      (Culprits{{1, "node-1", 4711}, {4, "node 2", 12}}));
  EXPECT_EQ(blamed_by("no memory"), Culprits());
  EXPECT_EQ(blamed_by("rank x (host 'a', pid 4)"), Culprits());
}

}  // namespace
}  // namespace hvd
