// SPDX-License-Identifier: Apache-2.0
// Changes of participation and agreement: process sets, joins, cycles, the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "horovodpp/coordinator/protocol/cycle.h"
#include "test/coordinator/root/root_scheduler_fixture.h"

namespace hvd::coordinator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Request add_set(std::vector<int> ranks) {
  Request request = sample_add_process_set();
  request.ranks = std::move(ranks);
  return request;
}

Request remove_set(ProcessSetId set) {
  Request request = sample_remove_process_set();
  request.subject = set;
  return request;
}

Record record(RecordKind kind, std::uint32_t id, std::uint64_t value = 0) {
  return {.kind = kind, .id = id, .value = value};
}

using RootSchedulerChanges = RootSchedulerTest;

TEST_F(RootSchedulerChanges, ANewSetGetsANumberAndServesOnce) {
  const Define added = define(add_set({3, 1}));
  EXPECT_EQ(added.result, 2u);
  EXPECT_EQ(added.slot, kNoSlot);
  EXPECT_EQ(define(add_set({1})).result, 3u);
}

TEST_F(RootSchedulerChanges, AnInvalidSetIsRejected) {
  EXPECT_THAT(
      refused({.request = shared(add_set({1, 4})), .count = kRanks}).why,
      HasSubstr("names rank 4"));
  EXPECT_THAT(
      refused({.request = shared(add_set({2, 0})), .count = kRanks}).why,
      HasSubstr("it is number 1"));
  EXPECT_THAT(refused({.request = shared(add_set({})), .count = kRanks}).why,
              HasSubstr("at least one rank"));
  EXPECT_EQ(define(add_set({1, 3})).result, 2u);
}

TEST_F(RootSchedulerChanges, OnlyASetThatExistsIsRemovedAndNotTheWholeJob) {
  for (const ProcessSetId set : {kGlobalSet, 9u, kNoSlot}) {
    EXPECT_THAT(
        refused({.request = shared(remove_set(set)), .count = kRanks}).why,
        HasSubstr("there is no process set"));
  }
}

TEST_F(RootSchedulerChanges, ARemovedSetTakesItsIdsAlongBehindIt) {
  const Define of_set = define(allreduce("a", 1));
  records();
  const Define removal = define(remove_set(1));
  EXPECT_THAT(records(), ElementsAre(run_of(removal.id),
                                     record(RecordKind::kRetire, of_set.id)));
  hear(Ready{{of_set.id}});
  hear({Propose{.request = shared(allreduce("a", 1)), .count = 2}});
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_THAT(refused({.request = shared(remove_set(1)), .count = kRanks}).why,
              HasSubstr("there is no process set 1"));
}

TEST_F(RootSchedulerChanges, ANumberServesAgainWhenAllHavePassedItsRemoval) {
  const Define removal = define(remove_set(1));
  EXPECT_EQ(define(add_set({1})).result, 2u);
  hear(Passed{{removal.id}});
  EXPECT_EQ(define(add_set({2})).result, 1u);
  EXPECT_EQ(define(add_set({3})).result, 3u);
}

TEST_F(RootSchedulerChanges, AJoinRetiresTheIdsOfItsSetOnly) {
  const Define global = define(allreduce("a"));
  const Define of_set = define(allreduce("a", 1));
  records();
  hear(Join{1});
  hear(Join{1});  // Another member.
  EXPECT_THAT(records(), ElementsAre(record(RecordKind::kRetire, of_set.id),
                                     record(RecordKind::kJoin, 1)));
  hear(Ready{{global.id}});
  EXPECT_THAT(records(), ElementsAre(run_of(global.id)));
}

TEST_F(RootSchedulerChanges, NamesServeOnceWhileARankHasJoined) {
  hear(Join{kGlobalSet});
  records();
  hear({Propose{.request = shared(allreduce("a")), .count = 3}});
  const auto defined = announced<Define>();
  EXPECT_EQ(defined.slot, kNoSlot);
  EXPECT_EQ(defined.participants, 3);
  EXPECT_NE(define(allreduce("a", 1)).slot, kNoSlot);
  records();
  hear(Joined{kGlobalSet, 2});
  EXPECT_THAT(records(),
              ElementsAre(record(RecordKind::kJoined, kGlobalSet, 2)));
  EXPECT_NE(define(allreduce("b")).slot, kNoSlot);
}

TEST_F(RootSchedulerChanges, CallsThatNeedEveryRankAreRejectedAfterAJoin) {
  hear(Join{kGlobalSet});
  records();
  Request alltoall = allreduce("a");
  alltoall.kind = RequestKind::kAlltoall;
  for (const Request& request : {alltoall, add_set({1}), remove_set(1)}) {
    EXPECT_THAT(refused({.request = shared(request), .count = 3}).why,
                HasSubstr("needs every rank: 1 of 4 ranks have joined"));
  }
  // The refused requests had no effect.
  EXPECT_EQ(define(add_set({1})).result, 2u);
  EXPECT_NE(define(remove_set(1)).id, 0u);
}

TEST_F(RootSchedulerChanges, InStrictModeOnlyAllreducesRunAfterAJoin) {
  start({.capacity = 4, .strict_join = true});
  hear(Join{kGlobalSet});
  records();
  Request request = allreduce("a");
  for (const RequestKind kind :
       {RequestKind::kAllgather, RequestKind::kBroadcast,
        RequestKind::kReducescatter, RequestKind::kAlltoall}) {
    request.kind = kind;
    EXPECT_THAT(
        refused({.request = shared(request), .count = 3, .root_is_here = true})
            .why,
        HasSubstr("is not supported with join"));
  }
  hear({Propose{.request = shared(allreduce("a")), .count = 3}});
  EXPECT_EQ(announced<Define>().participants, 3);
  records();
  hear(Joined{kGlobalSet, 2});
  records();
  EXPECT_NE(define(request).slot, kNoSlot);
}

TEST_F(RootSchedulerChanges, ABroadcastNeedsItsRootOnly) {
  hear(Join{kGlobalSet});
  records();
  Request broadcast = allreduce("a");
  broadcast.kind = RequestKind::kBroadcast;
  EXPECT_THAT(refused({.request = shared(broadcast), .count = 3}).why,
              HasSubstr("from rank 0, which has joined"));
  hear({Propose{
      .request = shared(broadcast), .count = 3, .root_is_here = true}});
  EXPECT_EQ(announced<Define>().participants, 3);
}

TEST_F(RootSchedulerChanges, ContributionsOfDifferentRanksAreNotFused) {
  hear(Join{kGlobalSet});
  records();
  for (const std::uint32_t count : {3u, 2u}) {
    hear({Propose{.request = shared(allreduce("a" + std::to_string(count))),
                  .count = count}});
  }
  const std::vector<Record> runs = records();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0].ends_batch);
}

TEST_F(RootSchedulerChanges, JoinedWithoutAJoinIsIgnored) {
  hear(Joined{kGlobalSet, 1});
  EXPECT_THAT(records(), IsEmpty());
}

TEST_F(RootSchedulerChanges, EqualStepsBecomeACycle) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  EXPECT_THAT(records(), SizeIs(2));
  hear(Ready{{a.id, b.id}});
  EXPECT_THAT(records(), SizeIs(2));
  hear(Ready{{b.id, a.id}});  // In any order: the last one counts.
  EXPECT_THAT(scheduler_->cut(now_, true), SizeIs(2));
  Cycle cycle;
  cycle.add(b.id, false);
  cycle.add(a.id, true);
  EXPECT_THAT(
      records(),
      ElementsAre(
          Record{.kind = RecordKind::kCycle, .id = b.id, .ends_batch = false},
          Record{.kind = RecordKind::kCycle,
                 .id = a.id,
                 .value = 1,
                 .ends_batch = false},
          record(RecordKind::kStartCycle, 1, cycle.hash())));
}

TEST_F(RootSchedulerChanges, ZeroStepsFormNoCycle) {
  start({.capacity = 4, .steps_before_schedule = 0});
  const Define a = define(allreduce("a"));
  for (int step = 0; step < 20; ++step) {
    hear(Ready{{a.id}});
    EXPECT_THAT(kinds(), ::testing::Each(RecordKind::kRun));
  }
}

TEST_F(RootSchedulerChanges, BroadcastsAndSetsFormNoCycle) {
  Request broadcast = allreduce("a");
  broadcast.kind = RequestKind::kBroadcast;
  for (const Request& odd : {broadcast, allreduce("a", 1)}) {
    start({.capacity = 4});
    const Define a = define(odd);
    const Define b = define(allreduce("b"));
    for (int step = 0; step < 20; ++step) {
      hear(Ready{{a.id, b.id}});
      EXPECT_THAT(kinds(), ::testing::Each(RecordKind::kRun));
    }
  }
}

TEST_F(RootSchedulerChanges, SchedulesNoRunDuringACycle) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  hear(Ready{{a.id, b.id}});
  EXPECT_THAT(records(), IsEmpty());
  propose(allreduce("c"));
  const auto announced = scheduler_->take_announcements();
  ASSERT_EQ(announced.size(), 2u);
  EXPECT_EQ(std::get<Halt>(announced[0]).run, run);
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_TRUE(scheduler_->has_queued());
}

TEST_F(RootSchedulerChanges, ACycleEndsBeforeLaterRecords) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  hear(Stop{run});
  EXPECT_EQ(announced<Halt>().run, run);
  hear(Stop{run});
  const Define c = define(allreduce("c"));
  hear(Halted{run, 1});
  EXPECT_THAT(records(),
              ElementsAre(record(RecordKind::kEndCycle, 0, 1), run_of(c.id)));
}

TEST_F(RootSchedulerChanges, ACycleOfUseGoesOnWithTheNextStep) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  const Define c = [&] {
    propose(allreduce("c"));
    return std::get<Define>(scheduler_->take_announcements().back());
  }();
  hear(Halted{run, 17});
  EXPECT_THAT(records(),
              ElementsAre(record(RecordKind::kEndCycle, 0, 17), run_of(c.id)));
  Cycle cycle;
  cycle.add(a.id, false);
  cycle.add(b.id, true);
  // The step has already begun on all ranks.
  hear(Ready{{a.id}});
  EXPECT_THAT(records(), ElementsAre(record(RecordKind::kStartCycle, run + 1,
                                            cycle.hash())));
}

TEST_F(RootSchedulerChanges, AStepOfAnyNumberOfOperationsBecomesACycle) {
  const std::size_t count = 2 * kMaxAppend + 5;
  start({.capacity = static_cast<std::uint32_t>(count)});
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    ids.push_back(define(allreduce(std::to_string(i))).id);
  }
  records();
  std::vector<std::uint32_t> told;
  std::vector<std::size_t> parts;
  Cycle cycle;
  for (int step = 0; step < 3 && told.empty(); ++step) {
    hear(Ready{ids});
    while (true) {
      const std::vector<Record> part = scheduler_->cut(now_, true);
      if (part.empty()) break;
      if (part.front().kind == RecordKind::kRun) continue;
      parts.push_back(part.size());
      EXPECT_TRUE(part.back().ends_batch);
      for (const Record& record : part) {
        if (record.kind != RecordKind::kCycle) continue;
        told.push_back(record.id);
        cycle.add(record.id, record.value != 0);
      }
      if (part.back().kind != RecordKind::kStartCycle) continue;
      EXPECT_EQ(part.back().value, cycle.hash());
    }
  }
  EXPECT_EQ(told, ids);
  EXPECT_THAT(parts, ElementsAre(kMaxAppend, kMaxAppend, 6u));
  EXPECT_THAT(scheduler_->cut(now_, true), IsEmpty());
}

TEST_F(RootSchedulerChanges, EveryReasonHaltsTheCycle) {
  for (const Message& reason : std::vector<Message>{
           Outdated{0}, Join{1}, Leave{2},
           Propose{.request = shared(allreduce("c")), .count = kRanks}}) {
    start({.capacity = 4});
    const Define a = define(allreduce("a"));
    const Define b = define(allreduce("b"));
    const std::uint32_t run = reach_cycle(a.id, b.id);
    hear(reason);
    const auto announced = scheduler_->take_announcements();
    ASSERT_FALSE(announced.empty());
    EXPECT_EQ(std::get<Halt>(announced[0]).run, run);
  }
}

TEST_F(RootSchedulerChanges, ANewCycleHasANewNumber) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t first = reach_cycle(a.id, b.id);
  hear(Stop{first});
  hear(Halted{first, 1000});
  EXPECT_THAT(kinds(), Contains(RecordKind::kEndCycle));
  EXPECT_NE(reach_cycle(a.id, b.id), first);
}

TEST_F(RootSchedulerChanges, AnUnexpectedHaltedIsAnError) {
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->receive(Halted{0, 0})));
  start({.capacity = 4});
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->receive(Halted{run, 0})));
}

TEST_F(RootSchedulerChanges, AStopOfAnotherCycleIsIgnored) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  scheduler_->take_announcements();
  hear(Stop{run + 1});
  EXPECT_THAT(scheduler_->take_announcements(), IsEmpty());
}

TEST_F(RootSchedulerChanges, SchedulesNoRunAfterALeave) {
  const Define a = define(allreduce("a"));
  hear(Leave{2});
  hear(Leave{1});
  hear(Ready{{a.id}});
  hear({Propose{.request = shared(allreduce("b")), .count = kRanks}});
  hear(Join{kGlobalSet});
  EXPECT_THAT(scheduler_->take_announcements(), IsEmpty());
  EXPECT_THAT(records(),
              ElementsAre(run_of(a.id), record(RecordKind::kLeave, 2)));
  EXPECT_FALSE(scheduler_->finished());
  hear(AllLeft{});
  EXPECT_TRUE(scheduler_->finished());
}

TEST_F(RootSchedulerChanges, IsFinishedOnlyWhenTheScheduleHasSaidSo) {
  hear(Leave{2});
  hear(AllLeft{});
  EXPECT_FALSE(scheduler_->finished());
  records();
  EXPECT_TRUE(scheduler_->finished());
}

TEST_F(RootSchedulerChanges, ALeaveWaitsForTheEndOfTheCycle) {
  const Define a = define(allreduce("a"));
  const Define b = define(allreduce("b"));
  const std::uint32_t run = reach_cycle(a.id, b.id);
  hear(Leave{2});
  EXPECT_THAT(records(), IsEmpty());
  hear(AllLeft{});
  EXPECT_FALSE(scheduler_->finished());
  hear(Halted{run, 5});
  EXPECT_THAT(kinds(), ElementsAre(RecordKind::kEndCycle, RecordKind::kLeave));
  EXPECT_TRUE(scheduler_->finished());
}

}  // namespace
}  // namespace hvd::coordinator
