// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/stall_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/str_cat.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t kQuery = 7;
const Clock::TimePoint kStart{};

std::string describe(int rank) { return absl::StrCat("rank ", rank); }

Inspected ready(int rank, std::uint64_t submissions = 1) {
  return answer_of(
      kQuery, {.rank = rank, .has_submitted = true, .submissions = submissions},
      true);
}
Inspected missing(const RankState& state) {
  return answer_of(kQuery, state, true);
}

std::vector<int> ranks_of(const std::vector<RankState>& states) {
  std::vector<int> ranks;
  for (const RankState& state : states) ranks.push_back(state.rank);
  return ranks;
}

// Node 0 has ranks 0 and 1, node 1 rank 2, node 2 ranks 3 and 4.
std::shared_ptr<const Tree> small_tree() {
  return std::make_shared<const Tree>(
      std::vector<std::vector<int>>{{0, 1}, {2}, {3, 4}});
}

class StallGathererTest : public ::testing::Test {
 protected:
  void answer(int from, const Inspected& answer) {
    EXPECT_EQ(gatherer_.receive(from, answer), absl::OkStatus());
  }
  StallGatherer gatherer_{small_tree(), 0, [](int rank) {
                            return absl::StrCat("explain_silence on ", rank);
                          }};
};

TEST_F(StallGathererTest, IsCompleteWhenAllHaveAnswered) {
  gatherer_.begin(kQuery, kStart);
  answer(0, ready(0, 5));
  answer(2, ready(2, 9));
  answer(1, missing({.rank = 1, .last_name = "loss"}));
  EXPECT_THAT(gatherer_.take(kStart), IsEmpty());
  Inspected below = ready(4);
  below.missing_count = 1;
  below.missing = {{.rank = 3}};
  answer(3, below);
  const auto done = gatherer_.take(kStart);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].query, kQuery);
  EXPECT_EQ(done[0].ready_count, 3u);
  EXPECT_THAT(done[0].ready, UnorderedElementsAre(0, 2, 4));
  EXPECT_EQ(done[0].most_submissions, 9u);
  EXPECT_EQ(done[0].missing_count, 2u);
  EXPECT_THAT(ranks_of(done[0].missing), UnorderedElementsAre(1, 3));
  EXPECT_THAT(gatherer_.take(kStart), IsEmpty());
  EXPECT_EQ(gatherer_.due(), std::nullopt);
}

TEST_F(StallGathererTest, NonMembersAreNeitherReadyNorMissing) {
  gatherer_.begin(kQuery, kStart);
  for (const int rank : {0, 1, 2, 3}) {
    answer(rank, answer_of(kQuery, {.rank = rank}, false));
  }
  const auto done = gatherer_.take(kStart);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].ready_count + done[0].missing_count, 0u);
}

TEST_F(StallGathererTest, ASilentRankIsMissing) {
  gatherer_.begin(kQuery, kStart);
  answer(0, ready(0));
  answer(3, ready(3));
  ASSERT_TRUE(gatherer_.due().has_value());
  const Clock::TimePoint due = *gatherer_.due();
  EXPECT_GT(due, kStart);
  EXPECT_THAT(gatherer_.take(due - std::chrono::nanoseconds(1)), IsEmpty());
  const auto done = gatherer_.take(due);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].missing_count, 2u);
  ASSERT_THAT(ranks_of(done[0].missing), ElementsAre(1, 2));
  EXPECT_FALSE(done[0].missing[0].answers);
  EXPECT_EQ(done[0].missing[0].silence_cause, "explain_silence on 1");
  EXPECT_EQ(done[0].missing[1].silence_cause, "");  // On another node.
}

TEST_F(StallGathererTest, ALateAnswerIsDropped) {
  gatherer_.begin(kQuery, kStart);
  ASSERT_THAT(gatherer_.take(*gatherer_.due()), SizeIs(1));
  answer(1, ready(1));
  EXPECT_THAT(gatherer_.take(kStart + std::chrono::hours(1)), IsEmpty());
}

TEST_F(StallGathererTest, ALateAnswerDoesNotCountForTheNextQuery) {
  gatherer_.begin(kQuery, kStart);
  ASSERT_THAT(gatherer_.take(*gatherer_.due()), SizeIs(1));
  gatherer_.begin(kQuery + 1, kStart);
  answer(1, ready(1));
  Inspected next = ready(1);
  next.query = kQuery + 1;
  answer(1, next);
}

// So that a stall of the shutdown time ends the job at that time.
TEST_F(StallGathererTest, ARankThatIsStillSilentIsNotWaitedForAgain) {
  gatherer_.begin(kQuery, kStart);
  for (const int rank : {0, 2, 3}) answer(rank, ready(rank));
  const Clock::TimePoint later = *gatherer_.due() + std::chrono::seconds(1);
  ASSERT_THAT(gatherer_.take(later), SizeIs(1));
  gatherer_.begin(kQuery + 1, later);
  for (const int rank : {0, 2}) {
    Inspected next = ready(rank);
    next.query = kQuery + 1;
    answer(rank, next);
  }
  // Rank 3 has its usual time.
  EXPECT_THAT(gatherer_.take(later), IsEmpty());
  EXPECT_GT(*gatherer_.due(), later);
  Inspected next = ready(3);
  next.query = kQuery + 1;
  answer(3, next);
  const auto done = gatherer_.take(later);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_THAT(ranks_of(done[0].missing), ElementsAre(1));
}

TEST_F(StallGathererTest, ALateAnswerRestoresTheUsualTimeout) {
  gatherer_.begin(kQuery, kStart);
  const Clock::TimePoint later = *gatherer_.due();
  ASSERT_THAT(gatherer_.take(later), SizeIs(1));
  for (const int rank : {0, 1, 2, 3}) answer(rank, ready(rank));
  gatherer_.begin(kQuery + 1, later);
  EXPECT_EQ(*gatherer_.due() - later, later - kStart);
}

TEST_F(StallGathererTest, QueriesAreAnsweredSeparately) {
  gatherer_.begin(kQuery, kStart);
  gatherer_.begin(kQuery + 1, kStart);
  for (const int rank : {0, 1, 2, 3}) {
    Inspected next = ready(rank);
    next.query = kQuery + 1;
    answer(rank, next);
  }
  const auto done = gatherer_.take(kStart);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].query, kQuery + 1);
  EXPECT_EQ(gatherer_.take(*gatherer_.due()).size(), 1u);
}

TEST_F(StallGathererTest, AnUnrequestedOrSecondAnswerIsAnError) {
  gatherer_.begin(kQuery, kStart);
  for (const int stranger : {4, 5, -1}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(gatherer_.receive(stranger, ready(stranger))));
  }
  answer(1, ready(1));
  EXPECT_TRUE(absl::IsInvalidArgument(gatherer_.receive(1, ready(1))));
}

TEST_F(StallGathererTest, LeadersFurtherUpWaitLonger) {
  StallGatherer leaf(small_tree(), 2, nullptr);
  leaf.begin(kQuery, kStart);
  gatherer_.begin(kQuery, kStart);
  EXPECT_LT(*leaf.due(), *gatherer_.due());
}

TEST_F(StallGathererTest, OfManyRanksOnlySomeAreNamedButAllAreCounted) {
  std::vector<int> ranks;
  for (int rank = 0; rank < 50; ++rank) ranks.push_back(rank);
  StallGatherer stall_gatherer(
      std::make_shared<const Tree>(std::vector<std::vector<int>>{ranks}), 0,
      nullptr);
  stall_gatherer.begin(kQuery, kStart);
  for (int rank = 0; rank < 25; ++rank) {
    EXPECT_EQ(stall_gatherer.receive(rank, ready(rank)), absl::OkStatus());
  }
  const auto done = stall_gatherer.take(*stall_gatherer.due());
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].ready_count, 25u);
  EXPECT_EQ(done[0].missing_count, 25u);
  EXPECT_LT(done[0].ready.size(), 25u);
  EXPECT_LT(done[0].missing.size(), 25u);
  const std::string text = stall_text({0, "x"}, 1000, done[0], describe);
  EXPECT_THAT(text, HasSubstr("…] have submitted it"));
  EXPECT_THAT(text, HasSubstr(" more ranks"));
}

TEST(StallText, NamesMissingRanksAndTheirLastSubmissions) {
  const Inspected found = {
      .ready_count = 2,
      .missing_count = 1,
      .ready = {2, 0},
      .missing = {{.rank = 1, .last_name = "loss", .last_ms_ago = 58400}}};
  EXPECT_EQ(stall_text({0, "fc1.weight"}, 61000, found, describe),
            "'fc1.weight' has waited for 61 s: ranks [0, 2] have submitted it, "
            "but not rank 1, whose last submission was 'loss' 58 s ago");
}

TEST(StallText, DescribesTheStateOfEachRank) {
  const Inspected found = {
      .missing_count = 5,
      .missing = {
          {.rank = 4, .answers = false, .silence_cause = "it is stopped"},
          {.rank = 3, .has_left = true},
          {.rank = 2, .has_joined = true},
          {.rank = 1},
          {.rank = 0, .answers = false}}};
  const std::string text = stall_text({0, "x"}, 1000, found, describe);
  EXPECT_THAT(text, HasSubstr("rank 0, which does not answer; rank 1, which "
                              "has submitted nothing so far; rank 2, which has "
                              "joined; rank 3, which has shut down; rank 4, "
                              "which does not answer: it is stopped"));
}

// For example, because the rank that reported the stall does not answer in
// time.
TEST(StallText, SaysWhenNoRankHasSubmittedIt) {
  const Inspected found = {.missing_count = 2,
                           .missing = {{.rank = 0, .answers = false},
                                       {.rank = 1, .has_joined = true}}};
  EXPECT_EQ(
      stall_text({0, "x"}, 1000, found, describe),
      "'x' has waited for 1 s: no rank that answers has submitted it; "
      "missing are rank 0, which does not answer; rank 1, which has joined");
}

TEST(StallText, NamesUnevenDataAsALikelyCause) {
  Inspected found = {
      .ready_count = 1,
      .missing_count = 1,
      .most_submissions = 610,
      .ready = {0},
      .missing = {
          {.rank = 3, .submissions = 549, .last_name = "x", .last_ms_ago = 1}}};
  EXPECT_THAT(stall_text({0, "x"}, 1000, found, describe),
              HasSubstr("submitted this one 549 times, others 610 (uneven "
                        "data?"));
  found.missing[0].submissions = 610;
  EXPECT_THAT(stall_text({0, "x"}, 1000, found, describe),
              ::testing::Not(HasSubstr("uneven")));
}

TEST(StallText, SaysThatNoRankIsMissing) {
  EXPECT_THAT(stall_text({2, "x"}, 1000, ready(1), describe),
              HasSubstr("'x' of process set 2 has waited for 1 s: ranks [1] "
                        "have submitted it, and no rank is missing any more"));
}

class StallInspectorTest : public ::testing::Test {
 protected:
  static Stalled stalled(const std::string& name, std::uint32_t waited_s,
                         bool is_join = false) {
    return {{kGlobalSet, name}, 1000 * waited_s, is_join};
  }
  static Inspected found(std::uint32_t query, const RankState& state) {
    return {.query = query, .missing_count = 1, .missing = {state}};
  }

  StallInspector inspector_{std::chrono::seconds(60),
                            std::chrono::seconds(600)};
};

TEST_F(StallInspectorTest, AsksOnceForManyWaiters) {
  const auto question = inspector_.stalled(stalled("a", 60), kStart);
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->key, (Key{kGlobalSet, "a"}));
  EXPECT_EQ(inspector_.stalled(stalled("a", 60), kStart), std::nullopt);
  const auto finding = inspector_.answered(found(question->query, {.rank = 1}));
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->key, question->key);
  EXPECT_EQ(finding->waited_ms, 60000u);
  EXPECT_FALSE(finding->is_fatal);
  // Not reported again right away, but later.
  EXPECT_EQ(inspector_.stalled(stalled("a", 61), kStart), std::nullopt);
  EXPECT_TRUE(
      inspector_.stalled(stalled("a", 120), kStart + std::chrono::seconds(60))
          .has_value());
}

TEST_F(StallInspectorTest, AnAnswerCountsOnce) {
  const auto question = inspector_.stalled(stalled("a", 60), kStart);
  const Inspected answer = found(question->query, {.rank = 1});
  EXPECT_TRUE(inspector_.answered(answer).has_value());
  EXPECT_EQ(inspector_.answered(answer), std::nullopt);
  EXPECT_EQ(inspector_.answered(found(12345, {.rank = 1})), std::nullopt);
}

TEST_F(StallInspectorTest, FindsNoStallIfNoRankIsMissing) {
  const auto question = inspector_.stalled(stalled("a", 600), kStart);
  EXPECT_EQ(inspector_.answered({.query = question->query, .ready_count = 4}),
            std::nullopt);
}

TEST_F(StallInspectorTest, AStallOfTheShutdownTimeIsFatalAndQueriedAtOnce) {
  ASSERT_TRUE(inspector_.stalled(stalled("a", 599), kStart).has_value());
  const auto question = inspector_.stalled(stalled("a", 600), kStart);
  ASSERT_TRUE(question.has_value());
  EXPECT_TRUE(
      inspector_.answered(found(question->query, {.rank = 1}))->is_fatal);
}

TEST_F(StallInspectorTest, AFatalStallIsQueriedDespiteManyOpenQueries) {
  for (int i = 0; i < 100; ++i) {
    inspector_.stalled(stalled(absl::StrCat("a", i), 599), kStart);
  }
  EXPECT_TRUE(inspector_.stalled(stalled("a0", 600), kStart).has_value());
}

TEST_F(StallInspectorTest, NoStallIsFatalWithoutAShutdownTime) {
  StallInspector patient(std::chrono::seconds(60), std::chrono::seconds(0));
  const auto question = patient.stalled(stalled("a", 1000000), kStart);
  EXPECT_FALSE(patient.answered(found(question->query, {.rank = 1}))->is_fatal);
}

TEST_F(StallInspectorTest, FewQuestionsAreOpenAtATime) {
  int asked = 0;
  for (int i = 0; i < 100; ++i) {
    const auto question =
        inspector_.stalled(stalled(absl::StrCat("a", i), 60), kStart);
    if (question) ++asked;
  }
  EXPECT_GT(asked, 0);
  EXPECT_LT(asked, 10);
}

TEST_F(StallInspectorTest, AJoinStallsOnlyIfTheOthersAreIdle) {
  const RankState busy = {.rank = 1, .last_name = "x", .last_ms_ago = 10};
  const RankState idle = {.rank = 1, .last_name = "x", .last_ms_ago = 900000};
  for (const bool is_busy : {true, false}) {
    StallInspector stall_inspector(std::chrono::seconds(60),
                                   std::chrono::seconds(600));
    const auto question =
        stall_inspector.stalled(stalled("join", 900, true), kStart);
    ASSERT_TRUE(question.has_value());
    const auto finding =
        stall_inspector.answered(found(question->query, is_busy ? busy : idle));
    EXPECT_EQ(finding.has_value(), !is_busy);
  }
}

}  // namespace
}  // namespace hvd::coordinator
