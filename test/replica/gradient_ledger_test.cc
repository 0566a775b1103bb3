// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/error.h"

namespace hvd::replica {
namespace {

using ::testing::ElementsAre;

TEST(GradientLedger, FindsARecordAgainAtItsPlace) {
  GradientLedger ledger({});
  EXPECT_EQ(ledger.find("w"), nullptr);
  GradientRecord& w = ledger.record("w");
  for (int i = 0; i < 1000; ++i) ledger.record(std::to_string(i));
  EXPECT_EQ(&ledger.record("w"), &w);
  EXPECT_EQ(ledger.find("w"), &w);
}

TEST(GradientLedger, KnowsWhenAGroupIsComplete) {
  const ReducerOptions options = {.groups = {{"a", "b"}, {}}};
  GradientLedger ledger(options);
  GradientRecord& a = ledger.record("a");
  GradientRecord& b = ledger.record("b");
  GradientGroup* const group = ledger.add(b);
  ASSERT_NE(group, nullptr);
  EXPECT_FALSE(group->is_complete());
  EXPECT_EQ(ledger.add(ledger.record("alone")), nullptr);
  EXPECT_THROW(ledger.add(b), Error);
  EXPECT_EQ(ledger.add(a), group);
  EXPECT_TRUE(group->is_complete());
  EXPECT_THAT(group->members, ElementsAre(&a, &b));
}

TEST(GradientLedger, WhatComesAfterItsGroupGoesByItself) {
  const ReducerOptions options = {.groups = {{"a", "b"}}};
  GradientLedger ledger(options);
  ledger.add(ledger.record("a"))->is_sent = true;
  EXPECT_EQ(ledger.add(ledger.record("b")), nullptr);
}

TEST(GradientLedger, ASparseMemberLeavesItsGroup) {
  const ReducerOptions options = {.groups = {{"a", "b"}}};
  GradientLedger ledger(options);
  ledger.leave_group(ledger.record("b"));
  EXPECT_TRUE(ledger.add(ledger.record("a"))->is_complete());
  EXPECT_EQ(ledger.add(ledger.record("b")), nullptr);
}

TEST(GradientLedger, TakesWhatWasAddedAndForgetsOtherContributions) {
  const ReducerOptions options = {.groups = {{"a", "b"}}};
  GradientLedger ledger(options);
  GradientRecord& a = ledger.record("a");
  GradientRecord& c = ledger.record("c");
  GradientRecord& d = ledger.record("d");
  for (GradientRecord* record : {&a, &c, &d}) record->expected = 2;
  for (GradientRecord* record : {&a, &c, &d}) {
    EXPECT_FALSE(GradientLedger::contribute(*record));
  }
  ledger.add(c);
  c.owner = std::make_shared<int>(7);
  c.sent = Sent(Future<void>());
  ledger.add(a);  // Waits for b.
  EXPECT_THAT(ledger.take(/*sent_only=*/true), ElementsAre(&c));
  EXPECT_TRUE(ledger.is_pending());
  EXPECT_EQ(d.owed(), 2);
  const auto owners = ledger.renew({&c});
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(*static_cast<const int*>(owners[0].get()), 7);
  EXPECT_EQ(c.owed(), 2);
  EXPECT_THAT(ledger.take(/*sent_only=*/false), ElementsAre(&a));
  EXPECT_FALSE(ledger.is_pending());
}

}  // namespace
}  // namespace hvd::replica
