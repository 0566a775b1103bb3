// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/job/rank_news.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "horovodpp/core/job/topology.h"

namespace hvd {
namespace {

using namespace std::chrono_literals;
using Kind = RankNews::Kind;
using Culprits = std::vector<RankNews::Named>;

Culprits blamed_by(const std::string& reason) {
  RankNews news;
  news.set_reason(reason);
  return news.culprits;
}

const Peer kPeer = {.host = "node-1", .pid = 4711, .node = "n"};
const Peer kOther = {.host = "node 2", .pid = 12, .node = "n"};

TEST(RankNews, SurvivesTheTrip) {
  for (const Kind kind : {Kind::kJoining, Kind::kConnected, Kind::kBroken,
                          Kind::kReforming, Kind::kReformed, Kind::kHindered}) {
    const RankNews news = {.kind = kind,
                           .host = "a host",
                           .pid = 99,
                           .patience = 30s,
                           .lost = {0, 3, 4, 5, 9},
                           .culprits = {{1, "b@%\n", 2}, {3, "", 4}},
                           .reason = "100 % of\n\tit @ \x7f once"};
    const std::string text = to_text(news);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto read = parse_rank_news(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, news);
  }
  EXPECT_EQ(parse_rank_news(to_text({})), RankNews());
}

TEST(RankNews, NeverExceedsItsLimit) {
  RankNews news = {.kind = Kind::kBroken,
                   .host = std::string(5000, ' '),
                   .pid = -9223372036854775807,
                   .patience = 1h,
                   .reason = std::string(9000, '\n')};
  for (int i = 0; i < 1000; ++i) {
    news.lost.push_back(1000 * i);
    news.culprits.push_back({i, std::string(1000, ' '), i});
  }
  const std::string text = to_text(news);
  EXPECT_LE(text.size(), kMaxRankNewsBytes);
  EXPECT_TRUE(parse_rank_news(text).has_value());
}

TEST(RankNews, RefusesDamagedTexts) {
  for (const char* text :
       {"", "joining", "joining h 1 0  ", "leaving h 1 0   ",
        "joining h x 0   ", "joining h 1 -1   ", "joining h 1 0 3-x  ",
        "joining h 1 0 -3  ", "joining h 1 0 0-99999999  ",
        "broken h 1 0  1@2 x", "broken h 1 0  1@2@%zz x", "broken %g 1 0   x",
        "broken h 1 0   x more"}) {
    EXPECT_FALSE(parse_rank_news(text).has_value()) << text;
  }
}

TEST(RankNews, BlamesTheSubjectOfTheReason) {
  EXPECT_EQ(
      blamed_by(kPeer.to_string(3) + " ended; so did " + kOther.to_string(4)),
      (Culprits{{3, "node-1", 4711}}));
}

TEST(RankNews, DoesNotBlameWitnesses) {
  EXPECT_EQ(blamed_by(kPeer.to_string(3) + ": out of memory"), Culprits());
  EXPECT_EQ(blamed_by(kPeer.to_string(0) + ": the job has stalled: ranks [0] " +
                      "have submitted it, but not " + kOther.to_string(4)),
            (Culprits{{4, "node 2", 12}}));
}

TEST(RankNews, BlamesAllNamedRanksWithoutASubject) {
  EXPECT_EQ(
      blamed_by("the job has stalled, rank by rank: " + kPeer.to_string(1) +
                ", which is slow; " + kOther.to_string(4)),
      (Culprits{{1, "node-1", 4711}, {4, "node 2", 12}}));
  EXPECT_EQ(blamed_by("no memory"), Culprits());
  EXPECT_EQ(blamed_by("rank x (host 'a', pid 4)"), Culprits());
}

}  // namespace
}  // namespace hvd
