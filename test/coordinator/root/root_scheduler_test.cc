// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/root/root_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "horovodpp/coordinator/protocol/node_board.h"
#include "test/coordinator/root/root_scheduler_fixture.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(RootSchedulerTest, AProposalOfAllRanksIsDefinedAndRuns) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  EXPECT_NE(a.id, b.id);
  EXPECT_NE(a.slot, b.slot);
  EXPECT_LT(a.slot, 4u);
  EXPECT_EQ(a.participants, 4);
  EXPECT_EQ(*a.request, allreduce("a"));
  EXPECT_THAT(records(), ElementsAre(run_of(a.id, false), run_of(b.id)));
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(RootSchedulerTest, AReadyIdRunsAgain) {
  const Define a = define(allreduce("a"));
  records();
  hear(Ready{{a.id}});
  EXPECT_THAT(records(), ElementsAre(run_of(a.id)));
}

TEST_F(RootSchedulerTest, AnUnknownIdIsNotRun) {
  hear(Ready{{0, 5, 0xffffffffu}});
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(RootSchedulerTest, ADisagreementIsRejectedInTheScheduleAndNamesBoth) {
  Propose message = {
      .rank = 1, .request = shared(allreduce("a")), .count = kRanks};
  message.other_rank = 3;
  Request other = allreduce("a");
  other.op = ReduceOp::kMax;
  message.other = shared(other);
  const Reject reject = refused(message);
  EXPECT_EQ(reject.key, (Key{kGlobalSet, "a"}));
  EXPECT_EQ(static_cast<absl::StatusCode>(reject.code),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(reject.why, HasSubstr("rank 1 sent op average, rank 3 sent op "
                                    "max"));
}

TEST_F(RootSchedulerTest, RejectionsAreNumbered) {
  Propose message = {.request = shared(allreduce("a")),
                     .other_rank = 1,
                     .other = shared(allreduce("a")),
                     .count = kRanks};
  const std::uint32_t first = refused(message).number;
  EXPECT_NE(refused(message).number, first);
}

TEST_F(RootSchedulerTest, AChangedOperationRetiresItsId) {
  const Define old = define(allreduce("a"));
  records();
  hear(Outdated{old.id});
  hear(Outdated{old.id});  // Every rank says so.
  EXPECT_THAT(records(),
              ElementsAre(Record{.kind = RecordKind::kRetire, .id = old.id}));
  Request changed = allreduce("a");
  changed.tensors[0].shape = Shape({9});
  const Define now = define(changed);
  EXPECT_NE(now.id, old.id);
  EXPECT_THAT(records(), ElementsAre(run_of(now.id)));
}

TEST_F(RootSchedulerTest, AProposalOfAKnownNameRetiresItsIdFirst) {
  const Define old = define(allreduce("a"));
  records();
  const Define now = define(allreduce("a"));
  EXPECT_THAT(records(),
              ElementsAre(Record{.kind = RecordKind::kRetire, .id = old.id},
                          run_of(now.id)));
}

TEST_F(RootSchedulerTest, ANameThatServesOnceTakesNoSlot) {
  for (int i = 0; i < 10; ++i) {
    Request once = allreduce("allreduce.noname." + std::to_string(i));
    once.once = true;
    const Define defined = define(once);
    EXPECT_EQ(defined.slot, kNoSlot);
    EXPECT_THAT(records(), ElementsAre(run_of(defined.id)));
  }
}

TEST_F(RootSchedulerTest, AFullTableRetiresItsOldestIdAndServesTheNameOnce) {
  start({.capacity = 2});
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  records();
  hear(Ready{{a.id}});
  records();
  const Define c = define(allreduce("c"));
  EXPECT_EQ(c.slot, kNoSlot);
  EXPECT_THAT(records(),
              ElementsAre(Record{.kind = RecordKind::kRetire, .id = b.id},
                          run_of(c.id)));
  // The slot is free once every rank has passed the retirement.
  hear(Passed{{b.id}});
  EXPECT_EQ(define(allreduce("c")).slot, b.slot);
  EXPECT_EQ(define(allreduce("d")).slot, kNoSlot);
}

TEST_F(RootSchedulerTest, ACapacityOfZeroKeepsNoId) {
  start({.capacity = 0});
  for (int i = 0; i < 3; ++i) {
    const Define a = define(allreduce("a"));
    EXPECT_EQ(a.slot, kNoSlot);
    EXPECT_THAT(records(), ElementsAre(run_of(a.id)));
  }
}

TEST_F(RootSchedulerTest, PassingAnActiveIdIsAnError) {
  const Define a = define(allreduce("a"));
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->receive(Passed{{a.id}})));
}

TEST_F(RootSchedulerTest, APlaceIsGivenBackOnce) {
  const Define a = define(allreduce("a"));
  hear(Outdated{a.id});
  hear(Passed{{a.id}});
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->receive(Passed{{a.id}})));
}

TEST_F(RootSchedulerTest, MoreProposersThanTheSetHasIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->receive(
      Propose{.request = shared(allreduce("a", 1)), .count = 3})));
}

TEST_F(RootSchedulerTest, MessagesOfARemovedSetAreIgnored) {
  hear(Propose{.request = shared(allreduce("a", 7)), .count = 1});
  hear(Join{7});
  hear(Joined{7, 1});
  EXPECT_THAT(scheduler_->take_announcements(), IsEmpty());
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(RootSchedulerTest, ABroadcastFromOutsideItsSetIsRejected) {
  Request broadcast = allreduce("a", 1);
  broadcast.kind = RequestKind::kBroadcast;
  for (const int root : {1, -1, 4}) {
    broadcast.root = root;
    EXPECT_THAT(refused({.request = shared(broadcast), .count = 2}).why,
                HasSubstr("which is not in the process set"));
  }
  broadcast.root = 2;
  EXPECT_EQ(define(broadcast).participants, 2);
}

TEST_F(RootSchedulerTest, RunsWaitUntilThoseBeforeThemAreExecuted) {
  const Define a = define(allreduce("a"));
  EXPECT_THAT(scheduler_->cut(now_, false), IsEmpty());
  EXPECT_TRUE(scheduler_->has_queued());
  EXPECT_THAT(scheduler_->cut(now_, true), ElementsAre(run_of(a.id)));
  EXPECT_FALSE(scheduler_->has_queued());
}

TEST_F(RootSchedulerTest, OnlyRunsAreHeldBack) {
  const Define a = define(allreduce("a"));
  records();
  hear(Outdated{a.id});
  EXPECT_THAT(scheduler_->cut(now_, false), SizeIs(1));
}

TEST_F(RootSchedulerTest, UnfusableTensorsGetTheirOwnBatches) {
  Request max = allreduce("b");
  max.op = ReduceOp::kMax;
  const Define a = define(allreduce("a"));
  const Define b = define(max);
  const Define c = define(allreduce("c"));
  EXPECT_THAT(records(),
              ElementsAre(run_of(a.id, false), run_of(c.id), run_of(b.id)));
}

TEST_F(RootSchedulerTest, ARoundIsNoLongerThanOneAppend) {
  start({.capacity = 0});
  for (std::size_t i = 0; i < kMaxAppend + 5; ++i) propose(allreduce("a"));
  std::size_t runs = 0;
  while (true) {
    const std::vector<Record> cut = scheduler_->cut(now_, true);
    if (cut.empty()) break;
    EXPECT_LE(cut.size(), kMaxAppend);
    EXPECT_TRUE(cut.back().ends_batch);
    runs += cut.size();
  }
  EXPECT_EQ(runs, kMaxAppend + 5);
}

TEST_F(RootSchedulerTest, ASmallBatchIsHeldBack) {
  start({.capacity = 4, .hold_back = std::chrono::milliseconds(5)});
  const Define a = define(allreduce("a"));
  EXPECT_EQ(scheduler_->held_until(), std::nullopt);
  EXPECT_THAT(scheduler_->cut(now_, true), IsEmpty());
  EXPECT_EQ(scheduler_->held_until(), now_ + std::chrono::milliseconds(5));
  now_ += std::chrono::milliseconds(4);
  const Define b = define(allreduce("b"));
  EXPECT_THAT(scheduler_->cut(now_, true), IsEmpty());
  now_ += std::chrono::milliseconds(1);
  EXPECT_THAT(scheduler_->cut(now_, true),
              ElementsAre(run_of(a.id, false), run_of(b.id)));
  EXPECT_EQ(scheduler_->held_until(), std::nullopt);
}

TEST_F(RootSchedulerTest, AFullBatchIsNotHeldBack) {
  start({.capacity = 4,
         .fusion = {.threshold = 2 * allreduce("a").bytes()},
         .hold_back = std::chrono::milliseconds(5)});
  propose(allreduce("a"));
  EXPECT_THAT(scheduler_->cut(now_, true), IsEmpty());
  propose(allreduce("b"));
  EXPECT_THAT(scheduler_->cut(now_, true), SizeIs(2));
}

TEST_F(RootSchedulerTest, RecordsBehindABatchAreNotHeldBack) {
  start({.capacity = 4, .hold_back = std::chrono::milliseconds(5)});
  const Define a = define(allreduce("a"));
  hear(Join{1});
  EXPECT_THAT(
      records(),
      ElementsAre(run_of(a.id), Record{.kind = RecordKind::kJoin, .id = 1}));
}

}  // namespace
}  // namespace hvd::coordinator
