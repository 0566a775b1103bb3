// SPDX-License-Identifier: Apache-2.0
// While a cycle is in force: which batches this rank executes alone, and how it
// leaves the cycle.
#include "horovodpp/coordinator/tensor_queue.h"
#include "test/coordinator/rank_protocol_fixture.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Knows "a" as 0, "b" as 1 and, outside of the cycle, "c" as 2.
class RankProtocolCycle : public RankProtocolTest {
 protected:
  void SetUp() override {
    make_known(0, "a", 0);
    make_known(1, "b", 1);
    make_known(2, "c", 2);
    said();
  }
  void begin_cycle() {
    schedule_cycle(1, {0, 1});
    EXPECT_THAT(execute(), IsEmpty());
  }
  void submit_names(const std::vector<std::string>& names) {
    for (const std::string& name : names) submit(allreduce(name));
  }
  // Whether rank 0 would find this rank's mark at the id.
  bool is_marked(std::uint32_t id) { return leader_.arrive(id, id, kBoth); }
};

TEST_F(RankProtocolCycle, BatchesAreExecutedInItsOrderWithoutASchedule) {
  begin_cycle();
  for (int round = 0; round < 3; ++round) {
    submit_names({"b"});
    EXPECT_THAT(execute(), IsEmpty());
    submit_names({"a"});
    EXPECT_THAT(execute(), ElementsAre("a", "b"));
  }
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_EQ(leader_.next_completed(), std::nullopt);
}

TEST_F(RankProtocolCycle, ANameMayComeMoreThanOnceInIt) {
  schedule_cycle(1, {0, 1, 0, 2});
  EXPECT_THAT(execute(), IsEmpty());
  for (int round = 0; round < 3; ++round) {
    submit_names({"a", "c"});
    EXPECT_THAT(execute(), ElementsAre("a"));
    submit_names({"a"});
    EXPECT_THAT(execute(), IsEmpty());
    submit_names({"b"});
    EXPECT_THAT(execute(), ElementsAre("b", "a", "c"));
  }
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankProtocolCycle, ANameThatComesAgainBeginsAtItsFirstPlaceAgain) {
  schedule_cycle(1, {0, 1, 0});
  EXPECT_THAT(execute(), IsEmpty());
  submit_names({"a", "b"});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  protocol_->halt({1});
  said();
  Cycle same;
  for (const std::uint32_t id : {0u, 1u, 0u}) same.add(id, true);
  schedule(RecordKind::kEndCycle, 0, 2);
  schedule(RecordKind::kStartCycle, 2, same.hash());
  EXPECT_THAT(execute(), IsEmpty());
  submit_names({"a"});
  EXPECT_THAT(execute(), ElementsAre("a"));
  submit_names({"a"});
  EXPECT_THAT(execute(), IsEmpty());
  submit_names({"b"});
  EXPECT_THAT(execute(), ElementsAre("b", "a"));
}

TEST_F(RankProtocolCycle, ItsBatchesHaveSequenceNumbersAndSubmissions) {
  begin_cycle();
  std::uint64_t cycle = 0;
  for (int round = 0; round < 2; ++round) {
    Submission a;
    Submission b;
    protocol_->submit(allreduce("a"), now_, &a);
    protocol_->submit(allreduce("b"), now_, &b);
    const auto first = begin();
    ASSERT_TRUE(first.has_value());
    EXPECT_NE(first->cycle, 0u);
    if (round > 0) {
      EXPECT_EQ(first->cycle, cycle);
    }
    cycle = first->cycle;
    EXPECT_EQ(first->place, 0u);
    EXPECT_EQ(first->entries.at(0).mine, &a);
    protocol_->finished();
    const auto second = begin();
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->place, 1u);
    EXPECT_EQ(second->entries.at(0).mine, &b);
    EXPECT_EQ(second->sequence, first->sequence + 1);
    protocol_->finished();
    EXPECT_FALSE(protocol_->has_in_flight());
  }
}

TEST_F(RankProtocolCycle, CountsTheMissingSubmissionsOfItsNextBatch) {
  EXPECT_EQ(protocol_->submissions_to_next(), 1u);
  schedule_cycle(1, {0, 1}, true);
  EXPECT_THAT(execute(), IsEmpty());
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(protocol_->submissions_to_next(), 2u);
    submit_names({"b"});
    EXPECT_EQ(protocol_->submissions_to_next(), 1u);
    submit_names({"a"});
    EXPECT_THAT(execute(), ElementsAre("a", "b"));
  }
  // A submission outside the cycle counts, too.
  submit_names({"c"});
  EXPECT_EQ(protocol_->submissions_to_next(), 1u);
}

TEST_F(RankProtocolCycle, HasAnEpochAndASequenceOfItsOwn) {
  submit_names({"c"});
  schedule_run(2);
  const auto before = begin();
  ASSERT_TRUE(before.has_value());
  protocol_->finished();
  begin_cycle();
  submit_names({"a"});
  const auto in_cycle = begin();
  ASSERT_TRUE(in_cycle.has_value());
  EXPECT_GT(in_cycle->epoch, before->epoch);
  EXPECT_EQ(in_cycle->sequence, 0u);
  EXPECT_FALSE(in_cycle->certain);
  protocol_->finished();
  protocol_->halt({1});
  schedule(RecordKind::kEndCycle, 0, 1);
  EXPECT_THAT(execute(), IsEmpty());
  submit_names({"c"});
  schedule_run(2);
  const auto after = begin();
  ASSERT_TRUE(after.has_value());
  EXPECT_GT(after->epoch, in_cycle->epoch);
}

TEST_F(RankProtocolCycle, EarlierMarksAreExecutedInIt) {
  submit_names({"a"});
  schedule_cycle(1, {0, 1});
  EXPECT_THAT(execute(), ElementsAre("a"));
  EXPECT_FALSE(is_marked(0));
}

TEST_F(RankProtocolCycle, AnEarlierCompletionIsExecutedOnce) {
  EXPECT_FALSE(leader_.arrive(0, 0, kBoth));
  submit_names({"a"});
  EXPECT_EQ(leader_.next_completed(), 0u);
  schedule_cycle(1, {0, 1});
  EXPECT_THAT(execute(), ElementsAre("a"));
}

TEST_F(RankProtocolCycle, AForeignSubmissionStopsItAndIsMarkedAfterwards) {
  begin_cycle();
  submit_names({"c"});
  EXPECT_EQ(only_said<Stop>().run, 1u);
  submit_names({"a"});
  EXPECT_THAT(execute(), ElementsAre("a"));
  protocol_->halt({1});
  const auto halted = only_said<Halted>();
  EXPECT_EQ(halted.run, 1u);
  EXPECT_EQ(halted.entered, 1u);
  schedule(RecordKind::kEndCycle, 0, 1);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_TRUE(is_marked(2));
  EXPECT_FALSE(is_marked(0));
}

TEST_F(RankProtocolCycle, AnEarlierForeignMarkStopsIt) {
  submit_names({"c"});
  begin_cycle();
  EXPECT_EQ(only_said<Stop>().run, 1u);
  EXPECT_FALSE(is_marked(2));
}

TEST_F(RankProtocolCycle, EntersNoBatchOnceHalted) {
  begin_cycle();
  protocol_->halt({1});
  EXPECT_EQ(only_said<Halted>().entered, 0u);
  submit_names({"a", "b"});
  EXPECT_THAT(execute(), IsEmpty());
  schedule(RecordKind::kEndCycle, 0, 0);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_TRUE(is_marked(0));
  EXPECT_TRUE(is_marked(1));
}

TEST_F(RankProtocolCycle, AHaltMayComeBeforeTheCycleIsRead) {
  schedule_cycle(1, {0, 1});
  protocol_->halt({1});
  EXPECT_THAT(said(), IsEmpty());
  submit_names({"a"});
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_EQ(only_said<Halted>().entered, 0u);
}

TEST_F(RankProtocolCycle,
       TheBatchThatNotAllEnteredIsAbandonedAndMarkedAfterwards) {
  begin_cycle();
  submit_names({"a"});
  ASSERT_TRUE(begin().has_value());
  EXPECT_FALSE(protocol_->should_abandon());
  protocol_->halt({1});
  EXPECT_EQ(only_said<Halted>().entered, 1u);
  EXPECT_FALSE(protocol_->should_abandon());
  schedule(RecordKind::kEndCycle, 0, 0);
  EXPECT_TRUE(protocol_->should_abandon());
  protocol_->abandoned();
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_TRUE(protocol_->has_in_flight());
  EXPECT_TRUE(is_marked(0));
  schedule_run(0);
  EXPECT_THAT(execute(), ElementsAre("a"));
  EXPECT_FALSE(protocol_->has_in_flight());
}

TEST_F(RankProtocolCycle, TheBatchThatAllEnteredIsFinished) {
  begin_cycle();
  submit_names({"a"});
  ASSERT_TRUE(begin().has_value());
  protocol_->halt({1});
  schedule(RecordKind::kEndCycle, 0, 1);
  EXPECT_FALSE(protocol_->should_abandon());
  protocol_->finished();
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_FALSE(protocol_->has_in_flight());
  EXPECT_FALSE(is_marked(0));
}

TEST_F(RankProtocolCycle, AnInvalidEndIsAnError) {
  begin_cycle();
  schedule(RecordKind::kEndCycle, 0, 1);  // This rank has entered none.
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, AnEndOfNoCycleIsAnError) {
  schedule(RecordKind::kEndCycle, 0, 0);
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, RefusesARunWhileItIsInForce) {
  begin_cycle();
  submit_names({"c"});
  schedule_run(2);
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, AnEmptyCycleIsAnError) {
  schedule({{.kind = RecordKind::kStartCycle,
             .id = 1,
             .value = Cycle().hash()}});  // Of an empty cycle.
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, AnotherHashIsAnError) {
  schedule(
      {{.kind = RecordKind::kCycle, .id = 0, .value = 1, .ends_batch = false},
       {.kind = RecordKind::kStartCycle, .id = 1, .value = 5}});
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, ALongCycleComesInParts) {
  Cycle cycle;
  cycle.add(0, true);
  cycle.add(1, true);
  schedule({{.kind = RecordKind::kCycle, .id = 0, .value = 1}});
  EXPECT_THAT(execute(), IsEmpty());
  schedule(
      {{.kind = RecordKind::kCycle, .id = 1, .value = 1, .ends_batch = false},
       {.kind = RecordKind::kStartCycle, .id = 1, .value = cycle.hash()}});
  submit_names({"b", "a"});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankProtocolCycle, RefusesARunBetweenItsParts) {
  schedule({{.kind = RecordKind::kCycle, .id = 0, .value = 1}});
  submit_names({"c"});
  schedule_run(2);
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, TheLastCycleIsResumedByItsHash) {
  begin_cycle();
  submit_names({"a", "b"});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  submit_names({"c"});
  protocol_->halt({1});
  schedule(RecordKind::kEndCycle, 0, 2);
  EXPECT_THAT(execute(), IsEmpty());
  schedule_run(2);
  EXPECT_THAT(execute(), ElementsAre("c"));
  submit_names({"a"});
  Cycle cycle;
  cycle.add(0, true);
  cycle.add(1, true);
  schedule(RecordKind::kStartCycle, 2, cycle.hash());
  EXPECT_THAT(execute(), ElementsAre("a"));
  submit_names({"b", "a"});
  EXPECT_THAT(execute(), ElementsAre("b", "a"));
  said();
}

TEST_F(RankProtocolCycle, ACycleWithARetiredIdIsNotResumed) {
  begin_cycle();
  protocol_->halt({1});
  schedule(RecordKind::kEndCycle, 0, 0);
  schedule(RecordKind::kRetire, 0);
  EXPECT_THAT(execute(), IsEmpty());
  Cycle cycle;
  cycle.add(0, true);
  cycle.add(1, true);
  schedule(RecordKind::kStartCycle, 2, cycle.hash());
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolCycle, AWaitBehindItsHeadStopsIt) {
  begin_cycle();
  submit_names({"b"});
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(said(), IsEmpty());
  protocol_->wait_for(key("b"));
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_EQ(only_said<Stop>().run, 1u);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(said(), IsEmpty());  // Said once.
}

TEST_F(RankProtocolCycle, AWaitForAnExecutedTensorDoesNotStopIt) {
  begin_cycle();
  submit_names({"a"});
  protocol_->wait_for(key("a"));
  EXPECT_THAT(execute(), ElementsAre("a"));
  submit_names({"b"});
  EXPECT_THAT(execute(), ElementsAre("b"));
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankProtocolCycle, WaitsOfThePreviousStepDoNotStopIt) {
  submit_names({"a", "b"});
  protocol_->wait_for(key("a"));
  protocol_->wait_for(key("b"));
  schedule_run(0);
  schedule_run(1);
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  submit_names({"b"});
  begin_cycle();
  submit_names({"a"});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankProtocolCycle, AChangedRequestOfItsNameIsProposed) {
  begin_cycle();
  Request changed = allreduce("a");
  changed.op = ReduceOp::kMax;
  submit(changed);
  const std::vector<Message> messages = said();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(std::get<Outdated>(messages[0]).id, 0u);
  protocol_->halt({1});
  schedule(RecordKind::kEndCycle, 0, 0);
  schedule(RecordKind::kRetire, 0);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_TRUE(protocol_->has_in_flight());
  define(9, changed, 3);
  schedule_run(9);
  EXPECT_THAT(execute(), ElementsAre("a"));
}

// Submissions that repeat and keep their names.
class LoneHeadOfACycle : public RankProtocolCycle {
 protected:
  struct Mine {
    explicit Mine(const Request& request) {
      submission.request = request;
      submission.name = &name;
    }
    QueuedName name;
    Submission submission;
  };
  void SetUp() override {
    RankProtocolCycle::SetUp();
    begin_cycle();
    // The first submission goes the ordinary way and looks up the operation.
    for (Mine* const mine : {&a_, &b_}) submit_all({&mine->submission});
    ASSERT_THAT(execute(), ElementsAre("a", "b"));
  }
  void submit_all(const std::vector<Submission*>& all) {
    protocol_->submit(all, now_);
  }
  bool has_lone_head(Mine& mine) {
    return protocol_->lone_head(mine.submission) != nullptr;
  }
  void enter(Mine& mine) {
    ASSERT_TRUE(has_lone_head(mine));
    protocol_->enter_lone_head(mine.submission, now_);
  }

  Mine a_{allreduce("a")};
  Mine b_{allreduce("b")};
  Mine c_{allreduce("c")};
};

TEST_F(LoneHeadOfACycle, IsEnteredInOrderAndExecutingUntilFinished) {
  std::uint64_t sequence = 2;
  for (int round = 0; round < 3; ++round) {
    for (Mine* const mine : {&a_, &b_}) {
      EXPECT_FALSE(has_lone_head(mine == &a_ ? b_ : a_));
      const Batch* const batch = protocol_->lone_head(mine->submission);
      ASSERT_NE(batch, nullptr);
      protocol_->enter_lone_head(mine->submission, now_);
      EXPECT_EQ(batch->sequence, sequence++);
      EXPECT_EQ(batch->entries.at(0).mine, &mine->submission);
      EXPECT_TRUE(protocol_->has_in_flight());
      EXPECT_FALSE(begin().has_value());
      EXPECT_FALSE(has_lone_head(a_) || has_lone_head(b_));
      protocol_->finished();
      EXPECT_FALSE(protocol_->has_in_flight());
    }
  }
  // A submission the ordinary way in between.
  submit_names({"a"});
  EXPECT_THAT(execute(), ElementsAre("a"));
  enter(b_);
  protocol_->finished();
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(LoneHeadOfACycle, IsNoneBesideOtherWork) {
  EXPECT_FALSE(has_lone_head(c_));
  submit_names({"b"});
  EXPECT_FALSE(has_lone_head(a_));
  submit_names({"a"});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  EXPECT_TRUE(has_lone_head(a_));
  a_.submission.request = sample_allreduce("a");
  a_.submission.request.op = ReduceOp::kMax;
  a_.submission.repeats = kNoId;
  EXPECT_FALSE(has_lone_head(a_));
}

TEST_F(LoneHeadOfACycle, IsNoneInABatchOfSeveral) {
  schedule(RecordKind::kEndCycle, 0, 2);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_FALSE(has_lone_head(a_));
  schedule_cycle(2, {0, 1}, true);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_FALSE(has_lone_head(a_));
}

TEST_F(LoneHeadOfACycle, IsNoneOnceTheCycleHalts) {
  protocol_->halt({1});
  EXPECT_FALSE(has_lone_head(a_));
  EXPECT_EQ(only_said<Halted>().entered, 2u);
  schedule(RecordKind::kEndCycle, 0, 2);
  EXPECT_FALSE(has_lone_head(a_));
  EXPECT_THAT(execute(), IsEmpty());
  submit_all({&a_.submission});
  EXPECT_TRUE(is_marked(0));
}

TEST_F(LoneHeadOfACycle, CountsAsEnteredAndIsAbandonedWithTheCycle) {
  enter(a_);
  protocol_->begin_to_wait(now_);
  protocol_->halt({1});
  EXPECT_EQ(only_said<Halted>().entered, 3u);
  EXPECT_FALSE(protocol_->should_abandon());
  schedule(RecordKind::kEndCycle, 0, 2);
  EXPECT_TRUE(protocol_->should_abandon());
  protocol_->abandoned();
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_TRUE(is_marked(0));
  schedule_run(0);
  const auto batch = begin();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->entries.at(0).mine, &a_.submission);
  protocol_->finished();
  EXPECT_FALSE(protocol_->has_in_flight());
}

TEST_F(LoneHeadOfACycle, IsPartOfTheRanksState) {
  const auto before = protocol_->state(key("a"), now_);
  now_ += std::chrono::seconds(5);
  enter(a_);
  EXPECT_TRUE(protocol_->state(key("a"), now_).has_submitted);
  protocol_->finished();
  const auto after = protocol_->state(key("a"), now_ + std::chrono::seconds(2));
  EXPECT_EQ(after.submissions, before.submissions + 1);
  EXPECT_FALSE(after.has_submitted);
  EXPECT_EQ(after.last_name, "a");
  EXPECT_EQ(after.last_ms_ago, 2000u);
  submit_names({"b"});
  EXPECT_EQ(protocol_->state(key("a"), now_).last_name, "b");
}

TEST_F(LoneHeadOfACycle, IsReportedWhenStalled) {
  start({.stall_warning = std::chrono::seconds(1)});
  RankProtocolCycle::SetUp();
  begin_cycle();
  Mine a(allreduce("a"));
  Mine b(allreduce("b"));
  submit_all({&a.submission, &b.submission});
  EXPECT_THAT(execute(), ElementsAre("a", "b"));
  enter(a);
  now_ += std::chrono::seconds(3);
  protocol_->begin_to_wait(now_);
  EXPECT_FALSE(protocol_->is_due(now_));
  now_ += std::chrono::seconds(1);
  ASSERT_TRUE(protocol_->is_due(now_));
  protocol_->report_stalls(now_);
  const auto stalled = only_said<Stalled>();
  EXPECT_EQ(stalled.key.name, "a");
  EXPECT_EQ(stalled.waited_ms, 1000u);
}

}  // namespace
}  // namespace hvd::coordinator
