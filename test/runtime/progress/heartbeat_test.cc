// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/progress/heartbeat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Clock::TimePoint kStart{seconds(1000)};

TEST(Heartbeats, AreDueAtOnceAndThenOncePerInterval) {
  Heartbeats beats({.neighbours = {3, 7}}, kStart);
  EXPECT_THAT(beats.due(kStart), ElementsAre(3, 7));
  EXPECT_THAT(beats.due(kStart + milliseconds(999)), IsEmpty());
  EXPECT_THAT(beats.due(kStart + milliseconds(1000)), ElementsAre(3, 7));
  EXPECT_THAT(beats.due(kStart + milliseconds(1500)), IsEmpty());
}

TEST(Heartbeats, ASilentNeighbourIsNamedOnceAndGetsNoMoreBeats) {
  Heartbeats beats({.neighbours = {3, 7}}, kStart);
  auto now = kStart;
  for (; now <= kStart + seconds(4); now += milliseconds(500)) {
    beats.heard(7, now);
    EXPECT_THAT(beats.lost(now), IsEmpty());
  }
  EXPECT_THAT(beats.lost(now), ElementsAre(3));
  EXPECT_THAT(beats.lost(now + milliseconds(500)), IsEmpty());
  EXPECT_THAT(beats.due(now + milliseconds(500)), ElementsAre(7));
}

TEST(Heartbeats, ABeatInTimeKeepsANeighbour) {
  Heartbeats beats({.neighbours = {1}}, kStart);
  auto now = kStart;
  for (int i = 0; i < 100; ++i) {
    if (i % 8 == 7) beats.heard(1, now);
    EXPECT_THAT(beats.lost(now), IsEmpty());
    now += milliseconds(500);
  }
}

TEST(Heartbeats, OthersThanNeighboursAreIgnored) {
  Heartbeats beats({.neighbours = {1}}, kStart);
  beats.heard(2, kStart);
  EXPECT_THAT(beats.due(kStart), ElementsAre(1));
}

TEST(Heartbeats, ASuspendedRankAccusesNoRank) {
  Heartbeats beats({.neighbours = {1, 2}}, kStart);
  EXPECT_THAT(beats.lost(kStart), IsEmpty());
  // Suspended for an hour; beats that had arrived before are read after the
  // first check.
  auto now = kStart + seconds(3600);
  EXPECT_THAT(beats.lost(now), IsEmpty());
  beats.heard(2, now);
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(beats.lost(now), IsEmpty());
    now += milliseconds(500);
    beats.heard(2, now);
  }
  now += milliseconds(500);
  EXPECT_THAT(beats.lost(now), ElementsAre(1));
}

TEST(Heartbeats, TwoRanksThatExchangeBeatsLoseNoRank) {
  Heartbeats a({.neighbours = {1}}, kStart);
  Heartbeats b({.neighbours = {0}}, kStart + milliseconds(300));
  auto now = kStart + milliseconds(300);
  for (int i = 0; i < 1000; ++i) {
    if (!a.due(now).empty()) b.heard(0, now);
    if (!b.due(now).empty()) a.heard(1, now);
    EXPECT_THAT(a.lost(now), IsEmpty());
    EXPECT_THAT(b.lost(now), IsEmpty());
    // Both are suspended now and then.
    const auto next = std::min(a.next(now), b.next(now));
    EXPECT_GT(next, now);
    now = i % 100 == 99 ? now + seconds(60) : next;
  }
}

// Beats in flight when the link fails are lost; the next beat after the outage
// arrives. A short outage at any moment loses no rank, and a slightly longer
// one loses both.
TEST(Heartbeats, AnOutageShorterThanTheDeadlineLosesNoRank) {
  const Heartbeats::Options options = {.interval = milliseconds(250),
                                       .deadline = seconds(4)};
  const auto losses = [&](milliseconds goes, milliseconds length) {
    Heartbeats::Options to_b = options;
    Heartbeats::Options to_a = options;
    to_b.neighbours = {1};
    to_a.neighbours = {0};
    Heartbeats a(to_b, kStart);
    Heartbeats b(to_a, kStart + milliseconds(60));
    std::size_t lost = 0;
    for (auto now = kStart + milliseconds(60); now < kStart + seconds(12);
         now = std::min(a.next(now), b.next(now))) {
      const bool is_away = now >= kStart + goes && now < kStart + goes + length;
      if (!a.due(now).empty() && !is_away) b.heard(0, now);
      if (!b.due(now).empty() && !is_away) a.heard(1, now);
      lost += a.lost(now).size() + b.lost(now).size();
    }
    return lost;
  };
  for (milliseconds goes(2000); goes < milliseconds(2500);
       goes += milliseconds(10)) {
    EXPECT_EQ(losses(goes, milliseconds(3700)), 0u) << goes.count();
    EXPECT_EQ(losses(goes, milliseconds(4300)), 2u) << goes.count();
  }
}

// The kernel sends what waits for an address within a second of the link's
// return, and ranks read datagrams with their beats.
TEST(Heartbeats, OptionsForAnOutageCoverTheTimeAfterIt) {
  for (const seconds outage : {seconds(1), seconds(4), seconds(32)}) {
    const auto options = Heartbeats::Options::for_outage(outage, {1});
    EXPECT_THAT(options.neighbours, ElementsAre(1));
    const auto down = outage - options.interval;
    EXPECT_EQ(down, Clock::Duration(outage) *
                        Heartbeats::Options::kOutageBeats /
                        (Heartbeats::Options::kOutageBeats + 1));
    const auto silence =
        options.interval + down + seconds(1) + options.interval;
    EXPECT_LE(silence, options.deadline);
  }
}

TEST(Heartbeats, ANeighbourThatIsAliveMaySendMailLaterButNotNever) {
  Heartbeats beats({.neighbours = {1}}, kStart);
  auto now = kStart;
  while (beats.lost(now).empty()) {
    beats.alive(1, now);
    now = beats.next(now);
    beats.due(now);
    ASSERT_LE(now, kStart + seconds(13));
  }
  EXPECT_GT(now, kStart + Heartbeats::kMailDeadlines * seconds(4));
}

TEST(Heartbeats, NextIsEarlyEnoughToNoticeALossAndNeverInThePast) {
  Heartbeats beats({.neighbours = {1}}, kStart);
  auto now = kStart;
  while (beats.lost(now).empty()) {
    beats.due(now);
    const auto next = beats.next(now);
    ASSERT_GT(next, now);
    now = next;
  }
  EXPECT_LE(now, kStart + milliseconds(4001));
  EXPECT_EQ(beats.next(now), Clock::TimePoint::max());
}

TEST(Heartbeats, WithoutNeighboursNoBeatIsDue) {
  Heartbeats beats({}, kStart);
  EXPECT_THAT(beats.due(kStart), IsEmpty());
  EXPECT_THAT(beats.lost(kStart + seconds(100)), IsEmpty());
  EXPECT_EQ(beats.next(kStart), Clock::TimePoint::max());
}

}  // namespace
}  // namespace hvd::runtime
