// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/protocol/process_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProcessSets of_job(int ranks) {
  auto all = std::make_shared<std::vector<int>>();
  for (int rank = 0; rank < ranks; ++rank) all->push_back(rank);
  return ProcessSets(std::move(all));
}

TEST(ProcessSets, TheWholeJobIsSetZero) {
  const ProcessSets sets = of_job(3);
  EXPECT_THAT(*sets.ranks(kGlobalSet), ElementsAre(0, 1, 2));
  EXPECT_EQ(sets.size(kGlobalSet), 3);
  EXPECT_TRUE(sets.contains(kGlobalSet, 2));
  EXPECT_FALSE(sets.contains(kGlobalSet, 3));
  EXPECT_FALSE(sets.contains(kGlobalSet, -1));
  EXPECT_THAT(sets.ids(), ElementsAre(0u));
}

TEST(ProcessSets, TheOrderInWhichRanksAreNamedDoesNotMatter) {
  ProcessSets sets = of_job(5);
  sets.add(1, {4, 0, 2});
  EXPECT_THAT(*sets.ranks(1), ElementsAre(0, 2, 4));
  EXPECT_EQ(sets.position(1, 0), 0);
  EXPECT_EQ(sets.position(1, 4), 2);
  EXPECT_EQ(sets.position(1, 1), std::nullopt);
  EXPECT_FALSE(sets.contains(1, 3));
}

TEST(ProcessSets, AnUnknownSetIsEmpty) {
  const ProcessSets sets = of_job(2);
  EXPECT_EQ(sets.ranks(7), nullptr);
  EXPECT_EQ(sets.size(7), 0);
  EXPECT_FALSE(sets.contains(7, 0));
  EXPECT_EQ(sets.position(7, 0), std::nullopt);
}

TEST(ProcessSets, RefusesAnEmptySet) {
  const absl::Status status = of_job(2).check({});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("at least one rank"));
}

TEST(ProcessSets, RefusesARankTwice) {
  const absl::Status status = of_job(4).check({2, 1, 2});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ranks [1, 2, 2] names rank 2 twice"));
}

TEST(ProcessSets, RefusesAnInvalidRank) {
  EXPECT_THAT(std::string(of_job(4).check({1, 4}).message()),
              HasSubstr("names rank 4, and the job's ranks are 0 to 3"));
  EXPECT_THAT(std::string(of_job(4).check({9, 0, -3}).message()),
              HasSubstr("names rank -3, and"));
}

TEST(ProcessSets, RefusesEqualRanksAndNamesTheirSet) {
  ProcessSets sets = of_job(4);
  sets.add(5, {1, 3});
  const absl::Status status = sets.check({3, 1});
  EXPECT_TRUE(absl::IsAlreadyExists(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is number 5"));
  EXPECT_TRUE(absl::IsAlreadyExists(sets.check({0, 1, 2, 3})));
}

TEST(ProcessSets, TakesTheRanksOfASetThatItsMembersCreated) {
  ProcessSets sets = of_job(4);
  sets.add(1, {1, 3}, /*is_of_members=*/true);
  EXPECT_EQ(sets.check({1, 3}), absl::OkStatus());
  EXPECT_TRUE(sets.remove(1));
  sets.add(1, {1, 3});
  EXPECT_TRUE(absl::IsAlreadyExists(sets.check({1, 3})));
}

TEST(ProcessSets, TakesOneRankAndOverlappingSets) {
  ProcessSets sets = of_job(4);
  EXPECT_EQ(sets.check({3}), absl::OkStatus());
  sets.add(1, {3});
  EXPECT_EQ(sets.check({2, 3}), absl::OkStatus());
  EXPECT_EQ(sets.check({0}), absl::OkStatus());
}

TEST(ProcessSets, AJobOfOneHasItsSetAlready) {
  EXPECT_TRUE(absl::IsAlreadyExists(of_job(1).check({0})));
}

TEST(ProcessSets, ARemovedSetMayBeAddedAgain) {
  ProcessSets sets = of_job(4);
  sets.add(1, {0, 1});
  sets.add(3, {2});
  EXPECT_THAT(sets.ids(), ElementsAre(0u, 1u, 3u));
  EXPECT_TRUE(sets.remove(1));
  EXPECT_FALSE(sets.remove(1));
  EXPECT_EQ(sets.ranks(1), nullptr);
  EXPECT_EQ(sets.check({0, 1}), absl::OkStatus());
  EXPECT_EQ(sets.count(), 2u);
}

TEST(ProcessSets, TheWholeJobIsNotRemoved) {
  ProcessSets sets = of_job(2);
  EXPECT_FALSE(sets.remove(kGlobalSet));
  EXPECT_EQ(sets.size(kGlobalSet), 2);
}

// Batches in flight keep the ranks of their set alive.
TEST(ProcessSets, RanksOutliveTheirSet) {
  ProcessSets sets = of_job(4);
  sets.add(1, {0, 1});
  const ProcessSets::Ranks ranks = sets.ranks(1);
  sets.remove(1);
  sets.add(1, {2, 3});
  EXPECT_THAT(*ranks, ElementsAre(0, 1));
}

TEST(ProcessSets, RanksMayBeOfSeveralSets) {
  ProcessSets sets = of_job(4);
  sets.add(1, {1, 3});
  EXPECT_TRUE(absl::IsAlreadyExists(sets.check({3, 1})));
  EXPECT_EQ(sets.check_ranks({3, 1}), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(sets.check_ranks({3, 4})));
}

}  // namespace
}  // namespace hvd::coordinator
