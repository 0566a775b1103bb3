// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/subtree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "test/coordinator/protocol/sample_messages.h"

namespace hvd::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Node 0 has ranks 0 and 1, node 1 rank 2, node 2 ranks 3 and 4. The leaders 2
// and 3 report to rank 0, whose subtree this is. Set 1 is {1, 4}, set 2 {3, 4}.
class SubtreeTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const Tree> tree() {
    return std::make_shared<const Tree>(
        std::vector<std::vector<int>>{{0, 1}, {2}, {3, 4}});
  }
  static ProcessSets sets() {
    ProcessSets sets(tree()->all_ranks());
    sets.add(1, {1, 4});
    sets.add(2, {3, 4});
    return sets;
  }

  absl::Status say(int from, Message message) {
    return subtree_.receive(from, std::move(message));
  }
  // Passes the message in; returns the messages that the subtree sends.
  std::vector<Message> after(int from, Message message) {
    EXPECT_EQ(say(from, std::move(message)), absl::OkStatus());
    return subtree_.take_messages();
  }
  template <typename M>
  M only(const std::vector<Message>& messages) {
    EXPECT_EQ(messages.size(), 1u);
    if (messages.size() != 1 || !std::holds_alternative<M>(messages[0])) {
      ADD_FAILURE() << "not that one message";
      return M();
    }
    return std::get<M>(messages[0]);
  }

  static Propose proposal(int rank, ProcessSetId set = kGlobalSet,
                          std::uint32_t count = 1) {
    Request request = sample_allreduce("x");
    request.key.process_set = set;
    return {.rank = rank, .request = shared(request), .count = count};
  }

  static Request with_op(ReduceOp op) {
    Request request = sample_allreduce("x");
    request.op = op;
    return request;
  }

  void define(std::uint32_t id, Request request, std::uint32_t slot = 0,
              std::uint32_t result = 0) {
    definitions_[id] = {
        .id = id,
        .slot = slot,
        .participants = 5,
        .result = result,
        .request = std::make_shared<const Request>(std::move(request))};
    subtree_.defined(definitions_[id]);
  }
  void schedule(RecordKind kind, std::uint32_t id) {
    subtree_.scheduled({{.kind = kind, .id = id}}, [this](std::uint32_t named) {
      const auto found = definitions_.find(named);
      return found == definitions_.end() ? nullptr : &found->second;
    });
  }

  Subtree subtree_{tree(), 0, sets()};
  std::map<std::uint32_t, Define> definitions_;
};

TEST_F(SubtreeTest, AProposalIsPassedOnWhenAllHaveProposed) {
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  EXPECT_THAT(after(3, proposal(3, kGlobalSet, 2)), IsEmpty());
  EXPECT_THAT(after(2, proposal(2)), IsEmpty());
  const auto merged = only<Propose>(after(0, proposal(0)));
  EXPECT_EQ(merged.rank, 0);
  EXPECT_EQ(merged.count, 5u);
  EXPECT_EQ(merged.other, nullptr);
}

TEST_F(SubtreeTest, AProposalPassedOnMayComeAgain) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(after(0, proposal(0)), IsEmpty());
    EXPECT_THAT(after(1, proposal(1)), IsEmpty());
    EXPECT_THAT(after(2, proposal(2)), IsEmpty());
    EXPECT_EQ(only<Propose>(after(3, proposal(3, kGlobalSet, 2))).count, 5u);
  }
}

TEST_F(SubtreeTest, ProposalsOfDifferentKeysAreCountedApart) {
  Propose other = proposal(0);
  other.request = shared(sample_allreduce("y"));
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_THAT(after(0, other), IsEmpty());
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  EXPECT_THAT(after(2, proposal(2)), IsEmpty());
  EXPECT_EQ(
      only<Propose>(after(3, proposal(3, kGlobalSet, 2))).request->key.name,
      "x");
}

TEST_F(SubtreeTest, AMismatchIsKeptWithTheFirstRankThatDiffers) {
  Propose odd = proposal(2);
  odd.request = shared(with_op(ReduceOp::kMax));
  Propose also_odd = proposal(3, kGlobalSet, 2);
  also_odd.request = shared(with_op(ReduceOp::kMin));
  EXPECT_THAT(after(2, odd), IsEmpty());
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  EXPECT_THAT(after(3, also_odd), IsEmpty());
  const auto merged = only<Propose>(after(0, proposal(0)));
  EXPECT_EQ(merged.rank, 0);
  EXPECT_EQ(merged.request->op, ReduceOp::kAverage);
  ASSERT_NE(merged.other, nullptr);
  EXPECT_EQ(merged.other_rank, 2);
  EXPECT_EQ(merged.other->op, ReduceOp::kMax);
  EXPECT_EQ(merged.count, 5u);
}

TEST_F(SubtreeTest, AMismatchBelowAChildIsPassedOn) {
  Propose odd = proposal(3, kGlobalSet, 2);
  odd.other_rank = 4;
  Request other = *odd.request;
  other.root = 1;
  odd.other = shared(other);
  EXPECT_THAT(after(3, odd), IsEmpty());
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  const auto merged = only<Propose>(after(2, proposal(2)));
  ASSERT_NE(merged.other, nullptr);
  EXPECT_EQ(merged.other_rank, 4);
}

TEST_F(SubtreeTest, PassesOnTheRootOfABroadcast) {
  Propose of_root = proposal(2);
  of_root.root_is_here = true;
  EXPECT_THAT(after(2, of_root), IsEmpty());
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  EXPECT_TRUE(only<Propose>(after(3, proposal(3, kGlobalSet, 2))).root_is_here);
}

TEST_F(SubtreeTest, OnlyMembersAreWaitedFor) {
  EXPECT_THAT(after(1, proposal(1, 1)), IsEmpty());
  EXPECT_EQ(only<Propose>(after(3, proposal(4, 1))).count, 2u);
  // This node has no member; both members are below one child.
  EXPECT_EQ(only<Propose>(after(3, proposal(3, 2, 2))).count, 2u);
}

TEST_F(SubtreeTest, RefusesProposalsOfNonMembers) {
  EXPECT_TRUE(absl::IsInvalidArgument(say(0, proposal(0, 1))));
  EXPECT_TRUE(absl::IsInvalidArgument(say(2, proposal(2, 2))));
  EXPECT_TRUE(absl::IsInvalidArgument(say(2, Joined{2, 2})));
}

TEST_F(SubtreeTest, AProposalForASetThatIsGoneIsDropped) {
  EXPECT_THAT(after(0, proposal(0, 77)), IsEmpty());
}

TEST_F(SubtreeTest, ARepeatedMessageIsAnError) {
  EXPECT_THAT(after(1, proposal(1)), IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(say(1, proposal(1))));
  EXPECT_THAT(after(1, Passed{{3}}), IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(say(1, Passed{{3}})));
  EXPECT_TRUE(absl::IsInvalidArgument(say(2, Passed{{4, 4}})));
  EXPECT_THAT(after(1, Joined{kGlobalSet, 1}), IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(say(1, Joined{kGlobalSet, 1})));
  EXPECT_THAT(after(1, Halted{1, 0}), IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(say(1, Halted{1, 0})));
  EXPECT_THAT(after(1, Leave{1}), SizeIs(1));
  EXPECT_TRUE(absl::IsInvalidArgument(say(1, Leave{1})));
}

TEST_F(SubtreeTest, RefusesRanksOutsideTheSubtree) {
  for (const int stranger : {4, 5, -1, 1 << 30}) {
    EXPECT_TRUE(absl::IsInvalidArgument(say(stranger, proposal(0))));
  }
}

TEST_F(SubtreeTest, RefusesDownwardMessages) {
  for (const Message& message : sample_messages()) {
    if (direction_of(message) == Direction::kUp) continue;
    EXPECT_TRUE(absl::IsInvalidArgument(say(1, message)));
  }
}

TEST_F(SubtreeTest, AnIdIsReadyOnceCompleteOnAllNodes) {
  define(7, sample_allreduce());
  EXPECT_EQ(subtree_.complete_here(7, kGlobalSet), absl::OkStatus());
  EXPECT_THAT(after(3, Ready{{7}}), IsEmpty());
  EXPECT_THAT(only<Ready>(after(2, Ready{{7}})).ids, ElementsAre(7u));
}

TEST_F(SubtreeTest, ReportsReadyIdsTogetherAndInOrder) {
  for (const std::uint32_t id : {7u, 8u, 9u}) {
    define(id, sample_allreduce(), id);
    EXPECT_EQ(subtree_.complete_here(id, kGlobalSet), absl::OkStatus());
    EXPECT_THAT(after(3, Ready{{id}}), IsEmpty());
  }
  EXPECT_THAT(only<Ready>(after(2, Ready{{9, 7, 8}})).ids,
              ElementsAre(9u, 7u, 8u));
}

TEST_F(SubtreeTest, AnIdOfASetIsReadyWhenItsMembersAre) {
  Request request = sample_allreduce();
  request.key.process_set = 1;
  define(7, request);
  EXPECT_EQ(subtree_.complete_here(7, 1), absl::OkStatus());
  EXPECT_THAT(only<Ready>(after(3, Ready{{7}})).ids, ElementsAre(7u));
  request.key.process_set = 2;
  define(8, request, 1);
  EXPECT_THAT(only<Ready>(after(3, Ready{{8}})).ids, ElementsAre(8u));
}

TEST_F(SubtreeTest, ForgetsMarksOfARetiredId) {
  define(7, sample_allreduce());
  EXPECT_EQ(subtree_.complete_here(7, kGlobalSet), absl::OkStatus());
  schedule(RecordKind::kRetire, 7);
  EXPECT_THAT(after(3, Ready{{7}}), IsEmpty());
  EXPECT_THAT(after(2, Ready{{7}}), IsEmpty());
  EXPECT_EQ(subtree_.complete_here(7, kGlobalSet), absl::OkStatus());
  EXPECT_FALSE(subtree_.has_messages());
}

TEST_F(SubtreeTest, AnUndefinedIdIsIgnored) {
  EXPECT_THAT(after(2, Ready{{0, 0xffffffffu}}), IsEmpty());
}

TEST_F(SubtreeTest, TheEndOfACycleRestartsTheCount) {
  define(7, sample_allreduce());
  EXPECT_EQ(subtree_.complete_here(7, kGlobalSet), absl::OkStatus());
  EXPECT_THAT(after(2, Ready{{7}}), IsEmpty());
  schedule(RecordKind::kEndCycle, 0);
  EXPECT_THAT(after(3, Ready{{7}}), IsEmpty());
  EXPECT_THAT(after(2, Ready{{7}}), IsEmpty());
  EXPECT_EQ(subtree_.complete_here(7, kGlobalSet), absl::OkStatus());
  EXPECT_THAT(subtree_.take_messages(), SizeIs(1));
}

TEST_F(SubtreeTest, ARetirementIsPassedWhenAllHavePassedIt) {
  EXPECT_THAT(after(0, Passed{{3, 4}}), IsEmpty());
  EXPECT_THAT(after(1, Passed{{4, 3}}), IsEmpty());
  EXPECT_THAT(after(2, Passed{{3}}), IsEmpty());
  EXPECT_THAT(only<Passed>(after(3, Passed{{3, 4}})).ids, ElementsAre(3u));
  EXPECT_THAT(only<Passed>(after(2, Passed{{4}})).ids, ElementsAre(4u));
}

TEST_F(SubtreeTest, DoesNotWaitForJoinedRanks) {
  EXPECT_THAT(after(1, Joined{kGlobalSet, 1}), IsEmpty());
  EXPECT_THAT(after(3, Joined{kGlobalSet, 4}), IsEmpty());
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_EQ(only<Propose>(after(2, proposal(2))).count, 2u);
}

TEST_F(SubtreeTest, AJoinCompletesProposalsOfTheOthers) {
  Propose second = proposal(0);
  second.request = shared(sample_allreduce("y"));
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_THAT(after(0, second), IsEmpty());
  EXPECT_THAT(after(1, Joined{kGlobalSet, 1}), IsEmpty());
  EXPECT_THAT(after(2, Joined{kGlobalSet, 2}), IsEmpty());
  const auto messages = after(3, Joined{kGlobalSet, 3});
  ASSERT_THAT(messages, SizeIs(2));
  EXPECT_EQ(std::get<Propose>(messages[0]).request->key.name, "x");
  EXPECT_EQ(std::get<Propose>(messages[1]).request->key.name, "y");
}

TEST_F(SubtreeTest, AJoinAffectsItsSetOnly) {
  EXPECT_THAT(after(1, Joined{1, 1}), IsEmpty());
  EXPECT_THAT(after(0, proposal(0)), IsEmpty());
  EXPECT_THAT(after(2, proposal(2)), IsEmpty());
  EXPECT_THAT(after(3, proposal(3, kGlobalSet, 2)), IsEmpty());
  EXPECT_THAT(after(1, proposal(1)), SizeIs(1));
}

TEST_F(SubtreeTest, WhenAllHaveJoinedTheLastOneIsNamed) {
  EXPECT_THAT(after(3, Joined{1, 4}), IsEmpty());
  const auto joined = only<Joined>(after(1, Joined{1, 1}));
  EXPECT_EQ(joined.process_set, 1u);
  EXPECT_EQ(joined.last_rank, 1);
}

TEST_F(SubtreeTest, AfterAllHaveJoinedTheyAreWaitedForAgain) {
  for (int phase = 0; phase < 2; ++phase) {
    EXPECT_THAT(after(3, Joined{1, 4}), IsEmpty());
    EXPECT_THAT(after(1, proposal(1, 1)), SizeIs(1));
    EXPECT_THAT(after(1, Joined{1, 1}), SizeIs(1));
    schedule(RecordKind::kJoined, 1);
    EXPECT_THAT(after(1, proposal(1, 1)), IsEmpty());
    EXPECT_THAT(after(3, proposal(4, 1)), SizeIs(1));
  }
}

TEST_F(SubtreeTest, AJoinOfASetThatIsGoneIsIgnored) {
  EXPECT_THAT(after(1, Joined{77, 1}), IsEmpty());
}

TEST_F(SubtreeTest, ANewSetCountsFromTheScheduleOn) {
  define(3, sample_add_process_set(), kNoSlot, 5);  // {0, 2}
  EXPECT_THAT(after(0, proposal(0, 5)), IsEmpty());
  schedule(RecordKind::kRun, 3);
  EXPECT_THAT(after(0, proposal(0, 5)), IsEmpty());
  EXPECT_EQ(only<Propose>(after(2, proposal(2, 5))).count, 2u);
}

TEST_F(SubtreeTest, ARemovedSetDropsItsMessages) {
  Request of_set = sample_allreduce();
  of_set.key.process_set = 1;
  define(7, of_set);
  EXPECT_EQ(subtree_.complete_here(7, 1), absl::OkStatus());
  EXPECT_THAT(after(1, proposal(1, 1)), IsEmpty());
  EXPECT_THAT(after(1, Joined{1, 1}), IsEmpty());
  define(8, sample_remove_process_set(), kNoSlot);
  schedule(RecordKind::kRun, 8);
  EXPECT_THAT(after(3, Ready{{7}}), IsEmpty());
  EXPECT_THAT(after(3, proposal(4, 1)), IsEmpty());
  // The id may be reused for other ranks.
  define(9, sample_add_process_set(), kNoSlot, 1);  // {0, 2}
  schedule(RecordKind::kRun, 9);
  EXPECT_THAT(after(0, proposal(0, 1)), IsEmpty());
  EXPECT_EQ(only<Propose>(after(2, proposal(2, 1))).count, 2u);
}

TEST_F(SubtreeTest, ReportsTheFirstLeaveAndThenTheLast) {
  EXPECT_EQ(only<Leave>(after(3, Leave{4})).rank, 4);
  EXPECT_THAT(after(1, Leave{1}), IsEmpty());
  EXPECT_THAT(after(0, Leave{0}), IsEmpty());
  EXPECT_THAT(after(3, AllLeft{}), IsEmpty());
  EXPECT_THAT(after(2, Leave{2}), IsEmpty());
  only<AllLeft>(after(2, AllLeft{}));
}

TEST_F(SubtreeTest, AStopIsReportedOncePerCycle) {
  EXPECT_EQ(only<Stop>(after(3, Stop{1})).run, 1u);
  EXPECT_THAT(after(1, Stop{1}), IsEmpty());
  EXPECT_EQ(only<Stop>(after(1, Stop{2})).run, 2u);
}

TEST_F(SubtreeTest, ReportsTheLeastEnteredCount) {
  for (std::uint32_t run = 1; run <= 2; ++run) {
    EXPECT_THAT(after(3, Halted{run, 9}), IsEmpty());
    EXPECT_THAT(after(1, Halted{run, 8}), IsEmpty());
    EXPECT_THAT(after(0, Halted{run, 9}), IsEmpty());
    const auto halted = only<Halted>(after(2, Halted{run, 10}));
    EXPECT_EQ(halted.run, run);
    EXPECT_EQ(halted.entered, 8u);
  }
}

TEST_F(SubtreeTest, HaltingDifferentCyclesIsAnError) {
  EXPECT_THAT(after(1, Halted{1, 8}), IsEmpty());
  EXPECT_TRUE(absl::IsInvalidArgument(say(2, Halted{2, 8})));
}

Measured measured(std::uint32_t number, std::uint32_t arrival,
                  std::uint32_t end) {
  return {.number = number,
          .cycle = 5,
          .step = end,
          .arrivals = {arrival, 7},
          .ends = {end}};
}

TEST_F(SubtreeTest, ReportsTheLatestMeasuredTimes) {
  EXPECT_THAT(after(3, measured(1, 10, 100)), IsEmpty());
  EXPECT_THAT(after(1, measured(1, 30, 90)), IsEmpty());
  // The next measurement of one rank may overtake this one of another.
  EXPECT_THAT(after(1, measured(2, 1, 1)), IsEmpty());
  EXPECT_THAT(after(0, measured(1, 20, 110)), IsEmpty());
  const auto all = only<Measured>(after(2, measured(1, 5, 50)));
  EXPECT_EQ(all.number, 1u);
  EXPECT_EQ(all.step, 110u);
  EXPECT_EQ(all.arrivals, (std::vector<std::uint32_t>{30, 7}));
  EXPECT_EQ(all.ends, (std::vector<std::uint32_t>{110}));
}

TEST_F(SubtreeTest, DropsMeasurementsThatDoNotFit) {
  Measured longer = measured(1, 1, 1);
  longer.ends.push_back(2);
  EXPECT_THAT(after(0, measured(1, 1, 1)), IsEmpty());
  EXPECT_THAT(after(1, longer), IsEmpty());
  EXPECT_THAT(after(2, measured(1, 1, 1)), IsEmpty());
  EXPECT_THAT(after(3, measured(1, 1, 1)), IsEmpty());
  for (std::uint32_t number = 2; number < 100; ++number) {
    EXPECT_THAT(after(1, measured(number, 1, 1)), IsEmpty());
  }
  // The oldest are dropped, the newest is complete.
  EXPECT_THAT(after(0, measured(99, 1, 1)), IsEmpty());
  EXPECT_THAT(after(2, measured(99, 1, 1)), IsEmpty());
  EXPECT_EQ(only<Measured>(after(3, measured(99, 1, 1))).number, 99u);
}

TEST(Subtree, ANodeOfSixtyFourRanksCountsThemAll) {
  std::vector<int> ranks(64);
  for (int rank = 0; rank < 64; ++rank) {
    ranks[static_cast<std::size_t>(rank)] = rank;
  }
  const auto tree =
      std::make_shared<const Tree>(std::vector<std::vector<int>>{ranks, {64}});
  Subtree subtree(tree, 0, ProcessSets(tree->all_ranks()));
  for (int rank = 0; rank < 64; ++rank) {
    EXPECT_EQ(subtree.receive(rank, Passed{{1}}), absl::OkStatus());
    EXPECT_FALSE(subtree.has_messages());
  }
  EXPECT_EQ(subtree.receive(64, Passed{{1}}), absl::OkStatus());
  EXPECT_THAT(subtree.take_messages(), SizeIs(1));
}

TEST(Subtree, AJobOfOnePassesMessagesOnAtOnce) {
  const auto tree =
      std::make_shared<const Tree>(std::vector<std::vector<int>>{{0}});
  Subtree subtree(tree, 0, ProcessSets(tree->all_ranks()));
  EXPECT_EQ(subtree.receive(0, Propose{.request = shared(sample_allreduce())}),
            absl::OkStatus());
  EXPECT_EQ(subtree.receive(0, Leave{0}), absl::OkStatus());
  EXPECT_THAT(subtree.take_messages(), SizeIs(3));
}

// Eight nodes of one rank: node 7 reports to node 1, not to the root.
TEST(Subtree, ALeaderInTheMiddleCountsTheRanksBelowIt) {
  std::vector<std::vector<int>> nodes;
  for (int rank = 0; rank < 8; ++rank) nodes.push_back({rank});
  const auto tree = std::make_shared<const Tree>(nodes);
  ASSERT_EQ(tree->parent(7), 1);
  ProcessSets sets(tree->all_ranks());
  sets.add(1, {0, 7});
  Subtree middle(tree, 1, sets);
  Subtree root(tree, 0, sets);
  EXPECT_EQ(middle.receive(1, Passed{{5}}), absl::OkStatus());
  EXPECT_FALSE(middle.has_messages());
  EXPECT_EQ(middle.receive(7, Passed{{5}}), absl::OkStatus());
  EXPECT_THAT(middle.take_messages(), SizeIs(1));
  EXPECT_TRUE(absl::IsInvalidArgument(middle.receive(0, Passed{{6}})));
  EXPECT_TRUE(absl::IsInvalidArgument(root.receive(7, Passed{{6}})));

  Request request = sample_allreduce();
  request.key.process_set = 1;
  const Propose proposal = {.rank = 7, .request = shared(request)};
  EXPECT_EQ(middle.receive(7, proposal), absl::OkStatus());
  ASSERT_THAT(middle.take_messages(), SizeIs(1));
  EXPECT_EQ(root.receive(1, proposal), absl::OkStatus());
  EXPECT_FALSE(root.has_messages());
  EXPECT_EQ(root.receive(0, proposal), absl::OkStatus());
  EXPECT_THAT(root.take_messages(), SizeIs(1));
}

}  // namespace
}  // namespace hvd::coordinator
