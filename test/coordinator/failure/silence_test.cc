// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/failure/silence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/core/job/suspects.h"
#include "test/coordinator/cluster.h"

namespace hvd::coordinator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr Clock::TimePoint kSilenceStart =
    Clock::TimePoint() + std::chrono::hours(1);

Stalled waited(std::uint32_t s) { return {{0, "grads"}, s * 1000, false}; }

Silence of(const Tree& tree, int rank) {
  return {tree, rank, seconds(60), seconds(600)};
}

TEST(Silence, TheLeaderOfTheNodeIsNamedAfterTheTimeout) {
  const Tree tree({{0, 1}});
  Silence silence = of(tree, 1);
  EXPECT_EQ(silence.due(), std::nullopt);
  silence.reported(waited(60), kSilenceStart);
  const auto due = silence.due();
  ASSERT_TRUE(due.has_value());
  EXPECT_FALSE(silence.take(*due - milliseconds(1)).has_value());
  const auto finding = silence.take(*due);
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->rank, 0);
  EXPECT_EQ(finding->key.name, "grads");
  EXPECT_FALSE(finding->is_fatal);
  EXPECT_FALSE(silence.take(*due).has_value());
}

TEST(Silence, ALeaderNamesTheLeaderAbove) {
  const Tree tree({{0, 1}, {2, 3}});
  Silence silence = of(tree, 2);
  silence.reported(waited(600), kSilenceStart);
  const auto finding = silence.take(silence.due().value());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->rank, 0);
  EXPECT_TRUE(finding->is_fatal);
}

TEST(Silence, TheRootIsNeverDue) {
  const Tree tree({{0, 1}, {2, 3}});
  Silence silence = of(tree, 0);
  silence.reported(waited(600), kSilenceStart);
  EXPECT_EQ(silence.due(), std::nullopt);
}

TEST(Silence, RanksCloserToTheRootGiveUpFirst) {
  const Tree tree({{0, 1}, {2, 3}});
  Silence leader = of(tree, 2), member = of(tree, 3);
  leader.reported(waited(600), kSilenceStart);
  member.reported(waited(600), kSilenceStart);
  EXPECT_LT(leader.due(), member.due());
}

TEST(Silence, AnyQueryCountsAsAnAnswer) {
  const Tree tree({{0, 1}});
  Silence silence = of(tree, 1);
  silence.reported(waited(600), kSilenceStart);
  silence.questioned(kSilenceStart + seconds(4));
  EXPECT_EQ(silence.due(), std::nullopt);
  // The root does not ask about every name.
  silence.reported(waited(61), kSilenceStart + seconds(30));
  EXPECT_EQ(silence.due(), std::nullopt);
  silence.reported(waited(61), kSilenceStart + seconds(60));
  EXPECT_TRUE(silence.due().has_value());
}

TEST(Silence, TheEndOfTheJobIsMoreThanAWarning) {
  const Tree tree({{0, 1}});
  Silence silence = of(tree, 1);
  silence.reported(waited(599), kSilenceStart);
  silence.reported(waited(600), kSilenceStart + seconds(1));
  EXPECT_GE(silence.due(), kSilenceStart + seconds(5));
  silence.reported(waited(601), kSilenceStart + seconds(2));
  const auto finding = silence.take(silence.due().value());
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->waited_ms, 600000u);
  EXPECT_TRUE(finding->is_fatal);
}

TEST(Silence, UnansweredReportsShortenTheWait) {
  const Tree tree({{0, 1}, {2, 3}});
  Silence leader = of(tree, 2), member = of(tree, 3);
  for (Silence* silence : {&leader, &member}) {
    silence->reported(waited(540), kSilenceStart);
    EXPECT_TRUE(silence->take(*silence->due()).has_value());
    silence->reported(waited(600), kSilenceStart + seconds(60));
  }
  EXPECT_LE(member.due(), kSilenceStart + seconds(61));
  EXPECT_LT(leader.due(), member.due());
}

TEST(Silence, ShortLimitsHaveAShortTimeout) {
  const Tree tree({{0, 1}});
  Silence silence(tree, 1, seconds(1), seconds(3));
  silence.reported(waited(1), kSilenceStart);
  silence.reported(waited(3), kSilenceStart + seconds(2));
  EXPECT_LE(silence.due(), kSilenceStart + milliseconds(2500));
  EXPECT_TRUE(silence.take(*silence.due())->is_fatal);
}

TEST(Silence, ASuspendedRankRestartsItsWait) {
  const Tree tree({{0, 1}});
  Silence silence = of(tree, 1);
  silence.reported(waited(600), kSilenceStart);
  EXPECT_FALSE(silence.take(kSilenceStart + seconds(30)).has_value());
  EXPECT_GT(silence.due(), kSilenceStart + seconds(30));
}

TEST(SilenceText, NamesTheSilentRankAndTheWaitingTensor) {
  const Silence::Finding finding = {
      .rank = 0, .key = {0, "grads"}, .waited_ms = 600400};
  EXPECT_EQ(silence_text(finding, "rank 0 (host a, pid 7)", ""),
            "'grads' has waited for 600 s, and rank 0 (host a, pid 7), which "
            "would find out why, does not answer");
  EXPECT_THAT(silence_text(finding, "rank 0", "it is stopped"),
              HasSubstr("does not answer: it is stopped"));
}

// While rank 0 is stopped, no rank searches for stalls.
TEST(Silence, RanksGiveUpAJobWhoseRootIsSilent) {
  Cluster cluster({.size = 3,
                   .stall_warning = seconds(60),
                   .stall_shutdown = seconds(600)});
  cluster.submit(1, allreduce_of("grads"));
  cluster.submit(2, allreduce_of("grads"));
  Coordinator& rank_1 = *cluster[1].coordinator;
  absl::Status status;
  bool warned = false;
  for (int looks = 0; status.ok() && looks < 100; ++looks) {
    ASSERT_TRUE(rank_1.due().has_value());
    cluster.clock.advance(*rank_1.due() - cluster.clock.now());
    status = rank_1.step();
    for (const std::string& warning : rank_1.take_warnings()) {
      EXPECT_THAT(warning, HasSubstr("and rank 0, which would find out why"));
      warned = true;
    }
  }
  EXPECT_TRUE(warned);
  EXPECT_TRUE(absl::IsAborted(status));
  EXPECT_THAT(status.message(),
              HasSubstr("the job has stalled, and is given up: 'grads' has "
                        "waited for 600 s, and rank 0"));
  EXPECT_THAT(suspects_of(status), ::testing::ElementsAre(0));
}

TEST(Silence, AResponsiveRootIsNotAccused) {
  Cluster cluster({.size = 3, .stall_warning = seconds(60)});
  cluster.submit(1, allreduce_of("grads"));
  for (int s = 0; s < 600; ++s) {
    cluster.clock.advance(seconds(1));
    cluster.settle();
    EXPECT_THAT(cluster[1].coordinator->take_warnings(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace hvd::coordinator
