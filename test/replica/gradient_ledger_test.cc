// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "horovodpp/core/error.h"
#include "test/support/expect_error.h"

namespace hvd::replica {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Gradients a, b, c and d have the numbers 0 to 3.
constexpr std::size_t kA = 0;
constexpr std::size_t kB = 1;
constexpr std::size_t kC = 2;
constexpr std::size_t kD = 3;
const std::vector<std::size_t> kAll = {kA, kB, kC, kD};

GradientLedger ledger_of_four(std::size_t bucket_bytes = 0) {
  GradientLedger ledger(bucket_bytes);
  for (const char* const name : {"a", "b", "c", "d"}) ledger.enter(name);
  return ledger;
}

// Takes the maximum of the ranks' facts.
std::vector<std::uint8_t> most(const std::vector<std::uint8_t>& one,
                               const std::vector<std::uint8_t>& other) {
  std::vector<std::uint8_t> most;
  for (std::size_t i = 0; i < one.size(); ++i) {
    most.push_back(std::max(one[i], other[i]));
  }
  return most;
}

TEST(GradientLedger, AGradientIsCompleteAfterItsLastContribution) {
  GradientLedger ledger = ledger_of_four();
  ledger.expect(kA, 2);
  EXPECT_EQ(ledger.owed(kA), 2);
  EXPECT_EQ(ledger.count(kA), ContributionState::kMore);
  EXPECT_EQ(ledger.count(kA), ContributionState::kComplete);
  EXPECT_EQ(ledger.count(kB), ContributionState::kComplete);
  EXPECT_EQ(ledger.complete(kA, 4), Due::kItself);
  EXPECT_EQ(ledger.owed(kA), 0);
  EXPECT_FALSE(ledger.is_taken(kA));
  ledger.mark_sent(kA);
  EXPECT_TRUE(ledger.is_taken(kA));
  EXPECT_EQ(ledger.count(kA), ContributionState::kLate);
  ledger.expect_of_all(3);
  EXPECT_EQ(ledger.owed(ledger.enter("later")), 3);
  EXPECT_EQ(ledger.owed(kB), 2);
  ledger.forget_contributions();
  EXPECT_EQ(ledger.owed(kB), 3);
}

TEST(GradientLedger, ReportsOneContributionTooMany) {
  GradientLedger ledger = ledger_of_four();
  EXPECT_TRUE(ledger.contribute(kB));
  EXPECT_ERROR(Error, "gradient of 'b' has had 1 contributions",
               ledger.contribute(kB));
  EXPECT_THROW(ledger.expect(kB, 0), Error);
  EXPECT_THROW(ledger.expect_of_all(0), Error);
}

TEST(GradientLedger, AGroupIsDueWithItsLastMember) {
  GradientLedger ledger = ledger_of_four(/*bucket_bytes=*/100);
  const std::size_t group = ledger.add_group({kA, kB});
  EXPECT_THROW(ledger.add_group({kC, kB}), Error);
  EXPECT_EQ(ledger.complete(kB, 4), Due::kNothing);
  EXPECT_FALSE(ledger.is_taken(kB));
  EXPECT_EQ(ledger.count(kB), ContributionState::kMore);
  EXPECT_THAT(ledger.waiting_groups(), ElementsAre(group));
  EXPECT_EQ(ledger.complete(kA, 4, /*is_nested=*/true), Due::kGroup);
  EXPECT_EQ(ledger.group_of(kA), group);
  EXPECT_THAT(ledger.take_group(group), ElementsAre(kA, kB));
  EXPECT_TRUE(ledger.is_nested(kB));
  EXPECT_THAT(ledger.waiting_groups(), IsEmpty());
}

TEST(GradientLedger, LaterMembersOfATakenGroupAreSentAlone) {
  GradientLedger ledger = ledger_of_four();
  const std::size_t group = ledger.add_group({kA, kB});
  ledger.complete(kA, 4);
  EXPECT_THAT(ledger.take_group(group), ElementsAre(kA));
  EXPECT_EQ(ledger.complete(kB, 4), Due::kItself);
  ledger.reset();
  EXPECT_EQ(ledger.complete(kB, 4), Due::kNothing);
}

TEST(GradientLedger, AGroupDoesNotWaitForMembersThatAreOut) {
  GradientLedger ledger = ledger_of_four();
  ledger.set_in_group(kC, false);
  ledger.add_group({kA, kB, kC});
  ledger.set_in_group(kB, false);
  EXPECT_EQ(ledger.complete(kA, 4), Due::kGroup);
  EXPECT_EQ(ledger.complete(kB, 4), Due::kItself);
  ledger.reset();
  ledger.set_in_group(kB, true);
  EXPECT_EQ(ledger.complete(kA, 4), Due::kNothing);
}

TEST(GradientLedger, HoldsGradientsUntilTheyFillABucket) {
  GradientLedger ledger = ledger_of_four(/*bucket_bytes=*/8);
  EXPECT_EQ(ledger.complete(kC, 4), Due::kHeld);
  EXPECT_TRUE(ledger.is_taken(kC));
  EXPECT_EQ(ledger.count(kC), ContributionState::kHeld);
  EXPECT_EQ(ledger.complete(kB, std::nullopt), Due::kItself);
  ledger.mark_sent(kB);
  EXPECT_EQ(ledger.complete(kA, 4), Due::kBucket);
  EXPECT_THAT(ledger.release(), ElementsAre(kC, kA));
  EXPECT_FALSE(ledger.holds_any());
  EXPECT_EQ(ledger.complete(kD, 4), Due::kHeld);
}

TEST(GradientLedger, LearnsTheNumberOfParts) {
  GradientLedger ledger = ledger_of_four();
  ledger.count(kA);
  ledger.complete(kA, 4, /*is_nested=*/true);
  ledger.mark_sent(kA);
  EXPECT_TRUE(ledger.is_nested(kA));
  EXPECT_TRUE(ledger.expect_late_part(kA));
  EXPECT_FALSE(ledger.is_taken(kA)) << "further parts may come";
  EXPECT_EQ(ledger.count(kA), ContributionState::kLate);
  ledger.learn_parts();
  ledger.reset();
  EXPECT_EQ(ledger.parts(kA), 2);
  EXPECT_EQ(ledger.parts(kB), 1);
  EXPECT_EQ(ledger.count(kA), ContributionState::kMore);
  EXPECT_EQ(ledger.count(kA), ContributionState::kComplete);
  ledger.forget_contributions();
  EXPECT_EQ(ledger.count(kA), ContributionState::kMore);
  ledger.learn_parts();  // One contribution came in one part again.
  EXPECT_EQ(ledger.parts(kA), 1);
}

TEST(GradientLedger, AHeldGradientHasNoLateParts) {
  GradientLedger ledger = ledger_of_four(/*bucket_bytes=*/100);
  ledger.complete(kA, 4);
  EXPECT_FALSE(ledger.expect_late_part(kA));
  EXPECT_TRUE(ledger.is_taken(kA));
}

TEST(GradientLedger, RanksAgreeOnLatePartsAndOnGradientsThatExistNowhere) {
  GradientLedger here = ledger_of_four();
  GradientLedger there = ledger_of_four();
  here.complete(kA, 4);
  here.mark_sent(kA);
  here.expect_late_part(kA);
  const auto facts =
      most(here.facts(kAll, {1, 0, 0, 0}), there.facts(kAll, {1, 1, 0, 0}));
  EXPECT_THAT(here.agree(kAll, facts).late, ElementsAre(kA));
  EXPECT_THAT(there.agree(kAll, facts).late, ElementsAre(kA));
  EXPECT_THAT(here.rest(kAll), ElementsAre(kB));
  EXPECT_THAT(there.rest(kAll), ElementsAre(kA, kB));
  there.reset();
  EXPECT_EQ(there.rest(kAll), kAll);
  EXPECT_THAT(there.agree(kAll, there.facts(kAll, {})).late, IsEmpty());
  EXPECT_EQ(there.rest(kAll), kAll) << "no gradient was requested";
}

TEST(GradientLedger, HoldsAllIfEveryRankHoldsItsCompleteGradients) {
  const auto all_held = [](GradientLedger& ledger) {
    return ledger.agree(kAll, ledger.facts(kAll, {})).all_held;
  };
  GradientLedger held = ledger_of_four(/*bucket_bytes=*/100);
  EXPECT_TRUE(all_held(held));
  held.complete(kA, 4);
  EXPECT_TRUE(all_held(held));
  EXPECT_FALSE(held.agree({kB}, held.facts({kB}, {})).all_held);
  GradientLedger none_waits = ledger_of_four();
  EXPECT_FALSE(all_held(none_waits));
  EXPECT_FALSE(
      held.agree(kAll, most(held.facts(kAll, {}), none_waits.facts(kAll, {})))
          .all_held);
  held.complete(kB, std::nullopt);
  EXPECT_FALSE(all_held(held));
}

TEST(GradientLedger, TheRestNeitherWaitsNorWasSent) {
  GradientLedger ledger = ledger_of_four(/*bucket_bytes=*/100);
  const std::size_t group = ledger.add_group({kA, kB});
  ledger.complete(kA, 4);
  ledger.complete(kC, 4);
  EXPECT_THAT(ledger.rest(kAll), ElementsAre(kB, kD));
  ledger.release();
  ledger.take_group(group);
  EXPECT_THAT(ledger.rest(kAll), ElementsAre(kA, kB, kC, kD))
      << "taken for sending, which failed";
  for (const std::size_t i : kAll) ledger.mark_sent(i);
  EXPECT_THAT(ledger.rest(kAll), IsEmpty());
  ledger.reset();
  EXPECT_EQ(ledger.rest(kAll), kAll);
}

TEST(GradientLedger, BucketsAreForNodesWhoseCoresAllCompute) {
  constexpr int kMoreThanCores = 1 << 20;
  EXPECT_EQ(bucket_bytes_for(2, 2, kMoreThanCores), std::size_t{16} << 20);
  EXPECT_EQ(bucket_bytes_for(2, 4, kMoreThanCores), 0u);
}

TEST(GradientLedger, TakesSentGradientsAndForgetsOtherContributions) {
  GradientLedger ledger = ledger_of_four();
  ledger.add_group({kA, kB});
  ledger.expect_of_all(2);
  for (const std::size_t i : {kA, kC, kD}) EXPECT_FALSE(ledger.contribute(i));
  ledger.complete(kC, 4);
  ledger.mark_sent(kC);
  ledger.complete(kA, 4);  // Waits for b.
  EXPECT_THAT(ledger.take(/*sent_only=*/true), ElementsAre(kC));
  EXPECT_TRUE(ledger.is_pending());
  EXPECT_EQ(ledger.owed(kD), 2);
  EXPECT_EQ(ledger.owed(kC), 0);
  ledger.renew(kC);
  EXPECT_EQ(ledger.owed(kC), 2);
  EXPECT_TRUE(ledger.is_added(kA));
  EXPECT_THAT(ledger.take(/*sent_only=*/false), ElementsAre(kA));
  EXPECT_FALSE(ledger.is_pending());
}

}  // namespace
}  // namespace hvd::replica
