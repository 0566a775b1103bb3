// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/rank_protocol.h"

#include <chrono>

#include "horovodpp/coordinator/tensor_queue.h"
#include "test/coordinator/rank_protocol_fixture.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(RankProtocolTest, ANewNameIsProposed) {
  submit(allreduce("a"));
  const auto proposal = only_said<Propose>();
  EXPECT_EQ(proposal.rank, kRank);
  EXPECT_EQ(proposal.count, 1u);
  EXPECT_EQ(*proposal.request, allreduce("a"));
  EXPECT_FALSE(proposal.root_is_here);
  EXPECT_TRUE(protocol_->has_in_flight());
}

TEST_F(RankProtocolTest, AProposalTellsTheRootOfABroadcast) {
  Request broadcast = sample_broadcast();
  broadcast.root = kRank;
  submit(broadcast);
  EXPECT_TRUE(only_said<Propose>().root_is_here);
}

TEST_F(RankProtocolTest, AKnownNameIsMarkedOnTheBoard) {
  make_known(7, "a", 2);
  submit(allreduce("a"));
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(protocol_->take_leader_is_wanted());
  EXPECT_TRUE(leader_.arrive(2, 7, kBoth));
  EXPECT_EQ(leader_.next_completed(), 7u);
}

TEST_F(RankProtocolTest, CompletingAnIdWakesTheLeader) {
  make_known(7, "a", 2);
  EXPECT_FALSE(leader_.arrive(2, 7, kBoth));
  submit(allreduce("a"));
  EXPECT_TRUE(protocol_->take_leader_is_wanted());
  EXPECT_FALSE(protocol_->take_leader_is_wanted());
  EXPECT_EQ(leader_.next_completed(), 7u);
}

TEST_F(RankProtocolTest, ASetOfThisRankAloneIsCompleteAtOnce) {
  make_known(7, "a", 0, 1);
  submit(allreduce("a", 1));
  EXPECT_TRUE(protocol_->take_leader_is_wanted());
  EXPECT_EQ(leader_.next_completed(), 7u);
}

TEST_F(RankProtocolTest, BatchesAreNumberedInOneSequence) {
  for (const char* name : {"a", "b"}) submit(allreduce(name));
  define(0, allreduce("a"), 0);
  define(1, allreduce("b"), 1);
  define(2, allreduce("c", 2), 2);
  schedule_run(0);
  schedule_run(2);  // Not this rank's set: counted, not run.
  schedule_run(1);
  const auto first = begin();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->participants, 2);
  EXPECT_TRUE(first->certain);
  protocol_->finished();
  const auto second = begin();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->epoch, first->epoch);
  EXPECT_EQ(second->sequence, first->sequence + 2);
}

TEST_F(RankProtocolTest, OneBatchIsGivenOutAtATime) {
  for (const char* name : {"a", "b"}) submit(allreduce(name));
  define(0, allreduce("a"), 0);
  define(1, allreduce("b"), 1);
  schedule_run(0);
  schedule_run(1);
  EXPECT_TRUE(begin().has_value());
  EXPECT_FALSE(begin().has_value());
  EXPECT_TRUE(protocol_->has_in_flight());
  protocol_->finished();
  EXPECT_THAT(execute(), ElementsAre("b"));
  EXPECT_FALSE(protocol_->has_in_flight());
}

// The queue's entry of a name caches the operation. A submission that differs
// must still be noticed.
TEST_F(RankProtocolTest, ASubmissionFindsItsOperationByItsName) {
  QueuedName name;
  Submission mine;
  mine.request = allreduce("a");
  mine.name = &name;
  Submission other;
  other.request = allreduce("a");
  other.request.op = ReduceOp::kMax;
  other.name = &name;
  Submission* const all_mine[] = {&mine};
  Submission* const all_other[] = {&other};
  protocol_->submit(all_mine, now_);
  only_said<Propose>();
  define(3, allreduce("a"), 0);
  schedule_run(3);
  EXPECT_THAT(execute(), ElementsAre("a"));
  for (int round = 0; round < 3; ++round) {
    protocol_->submit(all_mine, now_);
    EXPECT_THAT(said(), IsEmpty());
    EXPECT_TRUE(protocol_->state(key("a"), now_).has_submitted);
    schedule_run(3);
    EXPECT_THAT(execute(), ElementsAre("a"));
  }
  EXPECT_EQ(mine.repeats, 3u);
  protocol_->submit(all_other, now_);
  const std::vector<Message> differs = said();
  ASSERT_EQ(differs.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Outdated>(differs[0]));
  EXPECT_TRUE(std::holds_alternative<Propose>(differs[1]));
  schedule(RecordKind::kRetire, 3);
  define(5, other.request, 1);
  schedule_run(5);
  EXPECT_THAT(execute(), ElementsAre("a"));
  said();
  protocol_->submit(all_other, now_);
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_EQ(other.repeats, 5u);
  schedule_run(5);
  EXPECT_THAT(execute(), ElementsAre("a"));
  // The operation that it repeated is gone.
  protocol_->submit(all_mine, now_);
  EXPECT_EQ(said().size(), 2u);
  EXPECT_TRUE(protocol_->has_in_flight());
}

TEST_F(RankProtocolTest, TheScheduleMayOvertakeDefinitions) {
  submit(allreduce("a"));
  schedule_run(0);
  EXPECT_FALSE(begin().has_value());
  define(0, allreduce("a"), 0);
  EXPECT_THAT(execute(), ElementsAre("a"));
}

TEST_F(RankProtocolTest, ExecutesTheAgreedRequest) {
  Request mine = allreduce("a");
  mine.kind = RequestKind::kAllgather;
  Request agreed = mine;
  agreed.tensors[0].shape = Shape({9, 4, 5});  // Rank 0's rows.
  submit(mine);
  define(0, agreed, 0);
  schedule_run(0);
  const auto batch = begin();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->request(), agreed);
  protocol_->finished();
  // A different row count is the same operation.
  said();
  mine.tensors[0].shape = Shape({0, 4, 5});
  submit(mine);
  EXPECT_THAT(said(), IsEmpty());
}

TEST_F(RankProtocolTest, ARunWithoutASubmissionIsAnError) {
  define(0, allreduce("a"), 0);
  schedule_run(0);
  EXPECT_TRUE(absl::IsInternal(protocol_->next_batch().status()));
}

TEST_F(RankProtocolTest, DefiningAnIdTwiceIsAnError) {
  const Define define = {
      .participants = 2,
      .request = std::make_shared<const Request>(allreduce("a"))};
  EXPECT_EQ(protocol_->define(define), absl::OkStatus());
  EXPECT_TRUE(absl::IsInternal(protocol_->define(define)));
}

TEST_F(RankProtocolTest, AnIdThatServesOnceIsForgotten) {
  submit(allreduce("a"));
  define(0, allreduce("a"));
  schedule_run(0);
  EXPECT_THAT(execute(), ElementsAre("a"));
  EXPECT_EQ(protocol_->definition(0), nullptr);
  said();
  submit(allreduce("a"));
  EXPECT_EQ(only_said<Propose>().request->key.name, "a");
}

TEST_F(RankProtocolTest, AChangedRequestOfAKnownNameIsProposed) {
  make_known(7, "a", 2);
  Request changed = allreduce("a");
  changed.op = ReduceOp::kMax;
  submit(changed);
  const std::vector<Message> messages = said();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(std::get<Outdated>(messages[0]).id, 7u);
  EXPECT_EQ(*std::get<Propose>(messages[1]).request, changed);
  // The new id may be defined before this rank reads that the old one is
  // retired.
  define(8, changed, 3);
  schedule(RecordKind::kRetire, 7);
  schedule_run(8);
  EXPECT_THAT(execute(), ElementsAre("a"));
  EXPECT_EQ(only_said<Passed>().ids, std::vector<std::uint32_t>{7});
  EXPECT_EQ(protocol_->id_of(key("a")), 8u);
}

TEST_F(RankProtocolTest, AMarkOfARetiredIdIsProposedAnew) {
  make_known(7, "a", 2);
  submit(allreduce("a"));
  schedule(RecordKind::kRetire, 7);
  EXPECT_THAT(execute(), IsEmpty());
  const std::vector<Message> messages = said();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(*std::get<Propose>(messages[0]).request, allreduce("a"));
  EXPECT_EQ(std::get<Passed>(messages[1]).ids, std::vector<std::uint32_t>{7});
  // The mark is gone, so that the slot can serve another id.
  EXPECT_FALSE(leader_.arrive(2, 8, kBoth));
  EXPECT_EQ(protocol_->definition(7), nullptr);
  EXPECT_TRUE(protocol_->has_in_flight());
}

TEST_F(RankProtocolTest, RetirementsReadTogetherArePassedTogether) {
  make_known(1, "a", 1);
  make_known(2, "b", 2);
  schedule(RecordKind::kRetire, 1);
  schedule(RecordKind::kRetire, 2);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(only_said<Passed>().ids, ElementsAre(1u, 2u));
}

TEST_F(RankProtocolTest, ARejectionIsReadInTheSchedule) {
  submit(allreduce("a"));
  EXPECT_EQ(
      protocol_->reject(
          {.number = 0, .key = key("a"), .code = 3, .why = "ranks disagree"}),
      absl::OkStatus());
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(failures(), IsEmpty());
  schedule(RecordKind::kReject, 0);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(failures(),
              ElementsAre(Pair(key("a"), absl::StatusCode::kInvalidArgument)));
  EXPECT_FALSE(protocol_->has_in_flight());
}

TEST_F(RankProtocolTest, ARejectionOfAKeyOutOfFlightHasNoEffect) {
  EXPECT_EQ(protocol_->reject({.number = 4, .key = key("a", 2), .code = 3}),
            absl::OkStatus());
  schedule(RecordKind::kReject, 4);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(RankProtocolTest, ANonMemberMayNotSubmit) {
  submit(allreduce("a", 2));
  submit(allreduce("a", 99));
  EXPECT_THAT(
      failures(),
      ElementsAre(Pair(key("a", 2), absl::StatusCode::kInvalidArgument),
                  Pair(key("a", 99), absl::StatusCode::kInvalidArgument)));
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_FALSE(protocol_->has_in_flight());
}

TEST_F(RankProtocolTest, ANewSetExistsFromItsRunOn) {
  Request add = sample_add_process_set();
  add.ranks = {1, 0};
  submit(add);
  define(0, add, kNoSlot, 3);
  schedule_run(0);
  EXPECT_FALSE(protocol_->is_member(3));
  const auto batch = begin();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->result, 3);
  EXPECT_TRUE(protocol_->is_member(3));
}

TEST_F(RankProtocolTest, ARemovedSetFailsItsSubmissionsInFlight) {
  make_known(7, "marked", 2, 1);
  submit(allreduce("marked", 1));
  submit(allreduce("proposed", 1));
  submit(allreduce("other"));
  said();
  submit(sample_remove_process_set());  // Of set 1.
  define(8, sample_remove_process_set());
  schedule_run(8);
  EXPECT_THAT(execute(), ElementsAre(sample_remove_process_set().key.name));
  EXPECT_THAT(
      failures(),
      ElementsAre(Pair(key("marked", 1), absl::StatusCode::kCancelled),
                  Pair(key("proposed", 1), absl::StatusCode::kCancelled)));
  EXPECT_TRUE(protocol_->has_in_flight());  // The other set's.
  schedule(RecordKind::kRetire, 7);
  EXPECT_THAT(execute(), IsEmpty());
  submit(allreduce("marked", 1));
  EXPECT_THAT(
      failures(),
      ElementsAre(Pair(key("marked", 1), absl::StatusCode::kInvalidArgument)));
}

TEST_F(RankProtocolTest, TheNumberOfARemovedSetMayServeAnother) {
  make_known(7, "a", 2, 1);
  submit(sample_remove_process_set());
  define(8, sample_remove_process_set());
  schedule_run(8);
  schedule(RecordKind::kRetire, 7);
  Request add = sample_add_process_set();
  add.ranks = {0, 1};
  submit(add);
  define(9, add, kNoSlot, 1);
  schedule_run(9);
  EXPECT_EQ(execute().size(), 2u);
  said();
  submit(allreduce("a", 1));
  EXPECT_EQ(only_said<Propose>().request->key, key("a", 1));
}

TEST_F(RankProtocolTest, AJoinedRankContributesNoTensor) {
  Request join;
  join.kind = RequestKind::kJoin;
  join.key.name = "join";
  submit(join);
  EXPECT_EQ(only_said<Join>().process_set, kGlobalSet);
  schedule(RecordKind::kJoin, kGlobalSet);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_EQ(only_said<Joined>().last_rank, kRank);
  define(0, allreduce("a"));
  schedule_run(0);
  const auto batch = begin();
  ASSERT_TRUE(batch.has_value());
  EXPECT_FALSE(batch->entries.front().submitted_here);
  protocol_->finished();
  schedule(RecordKind::kJoined, kGlobalSet, 0);
  const auto joined = begin();
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->result, 0);
  EXPECT_EQ(joined->request().kind, RequestKind::kJoin);
  protocol_->finished();
  EXPECT_FALSE(protocol_->has_in_flight());
  submit(allreduce("a"));
  EXPECT_THAT(failures(), IsEmpty());
}

TEST_F(RankProtocolTest, OnlySubmissionsAfterAJoinFail) {
  submit(allreduce("before"));
  Request join;
  join.kind = RequestKind::kJoin;
  join.key.name = "join";
  submit(join);
  submit(allreduce("after"));
  EXPECT_THAT(
      failures(),
      ElementsAre(Pair(key("after"), absl::StatusCode::kFailedPrecondition)));
  schedule(RecordKind::kJoin, kGlobalSet);
  define(0, allreduce("before"));
  schedule_run(0);
  const auto batch = begin();
  ASSERT_TRUE(batch.has_value());
  EXPECT_TRUE(batch->entries.front().submitted_here);
}

TEST_F(RankProtocolTest, ALaterJoinIsAnnouncedAtOnce) {
  schedule(RecordKind::kJoin, kGlobalSet);
  EXPECT_THAT(execute(), IsEmpty());
  EXPECT_THAT(said(), IsEmpty());
  Request join;
  join.kind = RequestKind::kJoin;
  join.key.name = "join";
  submit(join);
  EXPECT_EQ(only_said<Joined>().process_set, kGlobalSet);
}

TEST_F(RankProtocolTest, AJoinAffectsItsSetOnly) {
  Request join;
  join.kind = RequestKind::kJoin;
  join.key = {1, "join"};
  submit(join);
  said();
  submit(allreduce("a"));
  EXPECT_THAT(failures(), IsEmpty());
  EXPECT_EQ(*only_said<Propose>().request, allreduce("a"));
}

TEST_F(RankProtocolTest, ALeavingRankIsToldThatItShutDown) {
  submit(allreduce("pending"));
  schedule(RecordKind::kLeave, kRank);
  EXPECT_THAT(execute(), IsEmpty());
  const std::vector<Failure> failures = protocol_->take_failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(std::string(failures.front().why.message()),
              ::testing::HasSubstr("this rank (" + std::to_string(kRank) +
                                   ") shut down"));
}

TEST_F(RankProtocolTest, DescribesTheRankThatLeft) {
  start({.describe = [](int rank) {
    return "rank " + std::to_string(rank) + " (host 'h', pid 7)";
  }});
  EXPECT_EQ(protocol_->ended_by(), std::nullopt);
  submit(allreduce("x"));
  schedule(RecordKind::kLeave, 0);
  EXPECT_THAT(execute(), IsEmpty());
  const std::vector<Failure> failures = protocol_->take_failures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(std::string(failures.front().why.message()),
              ::testing::HasSubstr("rank 0 (host 'h', pid 7) shut down"));
  EXPECT_EQ(protocol_->ended_by(), 0);
}

TEST_F(RankProtocolTest, ALeaveFailsAllSubmissionsAndNamesTheRank) {
  make_known(7, "marked", 2);
  submit(allreduce("marked"));
  submit(allreduce("proposed"));
  Request join;
  join.kind = RequestKind::kJoin;
  join.key = {1, "join"};
  submit(join);
  schedule(RecordKind::kLeave, 0);
  EXPECT_THAT(execute(), IsEmpty());
  const std::vector<Failure> failures = protocol_->take_failures();
  ASSERT_EQ(failures.size(), 3u);
  for (const Failure& failure : failures) {
    EXPECT_TRUE(absl::IsCancelled(failure.why));
    EXPECT_THAT(std::string(failure.why.message()),
                ::testing::HasSubstr("rank 0 shut down"));
  }
  EXPECT_TRUE(protocol_->has_ended());
  EXPECT_FALSE(protocol_->has_in_flight());
  submit(allreduce("late"));
  EXPECT_EQ(protocol_->take_failures().size(), 1u);
}

TEST_F(RankProtocolTest, ReportsStalledTensors) {
  start({.stall_warning = std::chrono::seconds(2)});
  submit(allreduce("a"));
  said();
  now_ += std::chrono::seconds(1);
  protocol_->report_stalls(now_);
  EXPECT_THAT(said(), IsEmpty());
  ASSERT_TRUE(protocol_->due().has_value());
  now_ = *protocol_->due();
  protocol_->report_stalls(now_);
  const auto stalled = only_said<Stalled>();
  EXPECT_EQ(stalled.key, key("a"));
  EXPECT_EQ(stalled.waited_ms, 2000u);
  EXPECT_FALSE(stalled.is_join);
  EXPECT_GT(*protocol_->due(), now_);
}

TEST_F(RankProtocolTest, AMemberMayFreeASetMuchLaterThanOthers) {
  start({.stall_warning = std::chrono::seconds(2)});
  Request free = request_of(RequestKind::kFreeProcessSet, "set");
  free.ranks = {kRank, kRank + 1};
  submit(free);
  said();
  now_ += std::chrono::seconds(3);
  protocol_->report_stalls(now_);
  EXPECT_THAT(said(), IsEmpty());
  EXPECT_GT(*protocol_->due(), now_);
  submit(allreduce("a"));
  said();
  now_ += std::chrono::seconds(3);
  protocol_->report_stalls(now_);
  EXPECT_EQ(only_said<Stalled>().key, key("a"));
}

TEST_F(RankProtocolTest, HasNoDeadlineWithoutSubmissions) {
  start({.stall_warning = std::chrono::seconds(2)});
  EXPECT_EQ(protocol_->due(), std::nullopt);
  submit(allreduce("a"));
  EXPECT_NE(protocol_->due(), std::nullopt);
  define(0, allreduce("a"));
  schedule_run(0);
  execute();
  EXPECT_EQ(protocol_->due(), std::nullopt);
}

TEST_F(RankProtocolTest, KnowsItsLastSubmission) {
  make_known(7, "a", 2);
  now_ += std::chrono::seconds(3);
  RankState state = protocol_->state(key("a"), now_);
  EXPECT_EQ(state.rank, kRank);
  EXPECT_EQ(state.last_name, "a");
  EXPECT_EQ(state.last_ms_ago, 3000u);
  EXPECT_EQ(state.submissions, 1u);
  EXPECT_FALSE(state.has_submitted);
  submit(allreduce("a"));
  state = protocol_->state(key("a"), now_);
  EXPECT_TRUE(state.has_submitted);
  EXPECT_EQ(state.submissions, 2u);
  EXPECT_FALSE(protocol_->state(key("b"), now_).has_submitted);
}

TEST_F(RankProtocolTest, AJoinedRankHasSubmittedItsJoin) {
  Request join;
  join.kind = RequestKind::kJoin;
  join.key.name = "join";
  EXPECT_FALSE(protocol_->state(join.key, now_).has_submitted);
  submit(join);
  const RankState state = protocol_->state(join.key, now_);
  EXPECT_TRUE(state.has_joined);
  EXPECT_TRUE(state.has_submitted);
  EXPECT_FALSE(protocol_->state(key("a"), now_).has_submitted);
}

}  // namespace
}  // namespace hvd::coordinator
