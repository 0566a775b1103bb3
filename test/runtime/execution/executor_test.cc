// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "horovodpp/runtime/execution/plane_calls.h"
#include "horovodpp/runtime/execution/reductions.h"
#include "test/runtime/execution/fake_plane.h"

namespace hvd::runtime {
namespace {

using coordinator::Batch;
using coordinator::Request;
using coordinator::RequestKind;
using coordinator::Results;
using coordinator::Submission;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NeverInterrupt : public transport::Interrupt {
 public:
  absl::Status check() override { return absl::OkStatus(); }
};

// Rank 2 of a job of four ranks with fake planes. The process set has ranks 0,
// 2 and 3, and this rank has index 1 in it.
class ExecutorTest : public ::testing::Test {
 protected:
  static constexpr int kRank = 2;
  static constexpr coordinator::ProcessSetId kSome = 1;

  ExecutorTest() {
    EXPECT_TRUE(executor_.add_set(0, {0, 1, 2, 3}).ok());
    EXPECT_TRUE(executor_.add_set(kSome, {3, 0, 2}).ok());
  }

  // A request in the set of three.
  static Request request(RequestKind kind, const std::string& name,
                         coordinator::TensorSpecs tensors = {}) {
    Request r;
    r.kind = kind;
    r.key = {.process_set = kSome, .name = name};
    r.op = ReduceOp::kSum;
    r.tensors = std::move(tensors);
    return r;
  }
  void add_entry(const Request& agreed, bool submitted_here) {
    batch_.entries.push_back({.agreed = std::make_shared<const Request>(agreed),
                              .submitted_here = submitted_here});
  }
  // Adds an entry that this rank submitted. Inputs are consecutive, zero-filled
  // buffers. In place, the outputs are the inputs; otherwise the entry has none.
  Submission& submit(const Request& agreed, bool in_place) {
    add_entry(agreed, true);
    auto s = std::make_shared<Submission>();
    s->request = agreed;
    for (const auto& tensor : agreed.tensors) {
      memory_.push_back(*Buffer::allocate(tensor.dtype, tensor.shape));
      std::fill_n(static_cast<char*>(memory_.back().view().data()),
                  memory_.back().bytes(), '\0');
      s->inputs.push_back(memory_.back().view());
      if (in_place) s->outputs.push_back(memory_.back().view());
    }
    s->done = [this, key = agreed.key](absl::StatusOr<Results> outcome) {
      outcomes_.emplace_back(key.name, std::move(outcome));
    };
    submissions_.push_back(std::move(s));
    return *submissions_.back();
  }
  absl::Status run() {
    const std::size_t completed = outcomes_.size();
    HVD_RETURN_IF_ERROR(executor_.execute(batch_, submissions_));
    EXPECT_EQ(outcomes_.size(), completed);
    ++executed_;
    executor_.complete(batch_, submissions_);
    return absl::OkStatus();
  }

  // Answers the allgather of numbers with `numbers`.
  void answer(std::vector<std::int64_t> numbers) {
    calls_.gather = [this, numbers](std::byte* output) {
      if (calls_.made.size() > 0) return;  // The tensors follow.
      std::memcpy(output, numbers.data(), numbers.size() * sizeof(numbers[0]));
    };
  }

  FakeCalls calls_;
  NeverInterrupt interrupt_;
  SetTable sets_{kRank, 4};
  Planes planes_{kRank, [this](const std::vector<int>&) {
                   Planes::List list;
                   list.push_back(std::make_unique<FakePlane>(calls_));
                   return list;
                 }};
  Executor executor_{planes_, sets_, interrupt_};
  Batch batch_{.epoch = 7, .sequence = 5, .certain = true, .participants = 3};
  std::vector<coordinator::SubmissionPtr> submissions_;
  std::vector<Buffer> memory_;
  int executed_ = 0;  // Successful calls of run().
  std::vector<std::pair<std::string, absl::StatusOr<Results>>> outcomes_;
};

TEST_F(ExecutorTest, ReducesAFusedBatchWithOneCallForEachDtype) {
  submit(request(RequestKind::kAllreduce, "a",
                 {{DType::kF32, Shape({2, 3})}, {DType::kI32, Shape({4})}}),
         true);
  submit(request(RequestKind::kAllreduce, "b", {{DType::kF32, Shape({5})}}),
         true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(executed_, 1);
  ASSERT_EQ(calls_.made.size(), 2u);
  EXPECT_EQ(calls_.made[0].reduction.dtype, DType::kF32);
  ASSERT_EQ(calls_.made[0].pieces.size(), 2u);
  EXPECT_EQ(calls_.made[0].pieces[0].count, 6);
  EXPECT_EQ(calls_.made[0].pieces[1].count, 5);
  EXPECT_EQ(calls_.made[1].reduction.dtype, DType::kI32);
  EXPECT_EQ(calls_.made[1].pieces[0].count, 4);
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_EQ(outcomes_[0].first, "a");
  EXPECT_EQ(outcomes_[1].first, "b");
}

// The batch runs twice, each time with other memory. Each batch of a cycle has
// its own plan.
TEST_F(ExecutorTest, PlansABatchOfACycleOnce) {
  const Request mixed =
      request(RequestKind::kAllreduce, "a",
              {{DType::kF32, Shape({2})}, {DType::kI32, Shape({4})}});
  const Request one =
      request(RequestKind::kAllreduce, "b", {{DType::kF32, Shape({5})}});
  batch_.cycle = 1;
  batch_.place = 3;
  for (int round = 0; round < 2; ++round) {
    batch_.entries.clear();
    submissions_.clear();
    calls_.made.clear();
    const Submission& group = submit(mixed, true);
    const Submission& alone = submit(one, true);
    ASSERT_EQ(run(), absl::OkStatus());
    ASSERT_EQ(calls_.made.size(), 2u);
    EXPECT_EQ(calls_.made[0].reduction.dtype, DType::kF32);
    EXPECT_EQ(calls_.made[0].reduction.op, ReduceOp::kSum);
    ASSERT_EQ(calls_.made[0].pieces.size(), 2u);
    EXPECT_EQ(calls_.made[0].pieces[0].input, group.inputs[0].data());
    EXPECT_EQ(calls_.made[0].pieces[1].output, alone.outputs[0].data());
    EXPECT_EQ(calls_.made[0].pieces[1].count, 5);
    EXPECT_EQ(calls_.made[1].reduction.dtype, DType::kI32);
    EXPECT_EQ(calls_.made[1].pieces[0].input, group.inputs[1].data());
  }
  EXPECT_EQ(outcomes_.size(), 4u);
  batch_.cycle = 2;
  batch_.entries.clear();
  submissions_.clear();
  calls_.made.clear();
  submit(one, true);
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 1u);
  EXPECT_EQ(calls_.made[0].pieces.size(), 1u);
  submissions_.clear();
  EXPECT_TRUE(absl::IsInternal(run()));
}

TEST_F(ExecutorTest, NumbersItsCallsWithinTheBatch) {
  submit(request(RequestKind::kAllreduce, "a",
                 {{DType::kF32, Shape({1})}, {DType::kI32, Shape({1})}}),
         true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(calls_.made[0].tag.epoch, 7u);
  EXPECT_EQ(calls_.made[0].tag.sequence, 5u << kCallBits);
  EXPECT_EQ(calls_.made[1].tag.sequence, (5u << kCallBits) + 1);
}

TEST_F(ExecutorTest, ContributesNeutralValuesOnceJoined) {
  Request max = request(RequestKind::kAllreduce, "max",
                        {{DType::kF32, Shape({2})}, {DType::kU8, Shape({1})}});
  max.op = ReduceOp::kMax;
  add_entry(max, false);
  batch_.participants = 2;
  std::vector<double> seen;
  calls_.reduce = [&](const collective::Piece& piece) {
    EXPECT_NE(piece.output, nullptr);
    seen.push_back(seen.empty()
                       ? *static_cast<const float*>(piece.input)
                       : *static_cast<const std::uint8_t*>(piece.input));
  };
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(seen, ElementsAre(-std::numeric_limits<double>::infinity(), 0.0));
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ExecutorTest, AnAverageDividesByParticipantsOnlyIfRequested) {
  Request average =
      request(RequestKind::kAllreduce, "x", {{DType::kF32, Shape({2})}});
  average.op = ReduceOp::kAverage;
  batch_.participants = 2;
  submit(average, true);
  ASSERT_EQ(run(), absl::OkStatus());
  average.average_of_participants = true;
  batch_.entries.clear();
  submissions_.clear();
  submit(average, true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(calls_.made[0].reduction.participants, 0);
  EXPECT_EQ(calls_.made[1].reduction.participants, 2);
}

TEST_F(ExecutorTest, ATensorWithoutANeutralValueFailsAlone) {
  Request product =
      request(RequestKind::kAllreduce, "p",
              {{DType::kF32, Shape({1})}, {DType::kI32, Shape({1})}});
  product.op = ReduceOp::kProduct;
  product.prescale = 0.0;
  Request floats =
      request(RequestKind::kAllreduce, "q", {{DType::kF32, Shape({1})}});
  floats.op = ReduceOp::kProduct;
  batch_.participants = 2;
  submit(product, true);
  submit(floats, true);
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_TRUE(absl::IsInvalidArgument(outcomes_[0].second.status()));
  EXPECT_THAT(std::string(outcomes_[0].second.status().message()),
              HasSubstr("allreduce of 'p'"));
  EXPECT_TRUE(outcomes_[1].second.ok());
  ASSERT_EQ(calls_.made.size(), 1u);
  EXPECT_EQ(calls_.made[0].pieces.size(), 1u);
}

TEST_F(ExecutorTest, ScattersRowsEvenly) {
  submit(request(RequestKind::kReducescatter, "x",
                 {{DType::kF32, Shape({7, 2})}, {DType::kF32, Shape({1})}}),
         false);
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 1u);
  // Rows 3, 2, 2 of two elements; then 1, 0, 0.
  EXPECT_THAT(calls_.made[0].counts, ElementsAre(6, 4, 4, 1, 0, 0));
  const Results& results = *outcomes_[0].second;
  ASSERT_EQ(results.tensors.size(), 2u);
  EXPECT_EQ(results.tensors[0].shape(), Shape({2, 2}));
  EXPECT_EQ(results.tensors[1].shape(), Shape({0}));
}

TEST_F(ExecutorTest, AJoinedRankTakesItsPartOfAReducescatterAndDropsIt) {
  Request product =
      request(RequestKind::kReducescatter, "x", {{DType::kI64, Shape({4})}});
  product.op = ReduceOp::kProduct;
  add_entry(product, false);
  batch_.participants = 2;
  calls_.reduce = [&](const collective::Piece& piece) {
    EXPECT_EQ(static_cast<const std::int64_t*>(piece.input)[3], 1);
    EXPECT_NE(piece.output, nullptr);
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST_F(ExecutorTest, GathersAGroupAfterOneExchangeOfItsRows) {
  submit(request(RequestKind::kAllgather, "x",
                 {{DType::kF32, Shape({2, 3})}, {DType::kU8, Shape({0})}}),
         false);
  answer({1, 4, 2, 0, 0, 6});  // Two numbers from each of three ranks.
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 3u);
  EXPECT_THAT(calls_.made[0].sizes, ElementsAre(16, 16, 16));
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(12, 24, 0));
  EXPECT_EQ(calls_.made[1].bytes, 24u);
  EXPECT_THAT(calls_.made[2].sizes, ElementsAre(4, 0, 6));
  const Results& results = *outcomes_[0].second;
  EXPECT_EQ(results.tensors[0].shape(), Shape({3, 3}));
  EXPECT_EQ(results.tensors[1].shape(), Shape({10}));
}

TEST_F(ExecutorTest, GathersEqualRowsInOneCall) {
  calls_.alike = [](std::span<std::size_t> sizes) {
    std::fill(sizes.begin(), sizes.end(), 24);
    return true;
  };
  submit(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({2, 3})}}),
         false);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("allgather_alike"));
  EXPECT_EQ(calls_.made[0].bytes, 24u);
  EXPECT_TRUE(calls_.made[0].writes);
  EXPECT_EQ(outcomes_[0].second->tensors[0].shape(), Shape({6, 3}));
}

TEST_F(ExecutorTest, GathersUnevenRowsOnceItKnowsThem) {
  calls_.alike = [](std::span<std::size_t> sizes) {
    sizes[0] = 12, sizes[1] = 24, sizes[2] = 0;
    return false;
  };
  submit(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({2, 3})}}),
         false);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("allgather_alike", "allgather"));
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(12, 24, 0));
  EXPECT_EQ(outcomes_[0].second->tensors[0].shape(), Shape({3, 3}));
}

TEST_F(ExecutorTest, ExchangesTheSizesOfRowsWithoutBytes) {
  calls_.alike = [](std::span<std::size_t>) { return true; };
  submit(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({2, 0})}}),
         false);
  answer({1, 2, 4});
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("allgather", "allgather"));
  EXPECT_EQ(outcomes_[0].second->tensors[0].shape(), Shape({7, 0}));
}

TEST_F(ExecutorTest, AJoinedRankHasNoPlaceForRowsThatMayBeAlike) {
  calls_.alike = [](std::span<std::size_t> sizes) {
    sizes[0] = 20, sizes[1] = 0, sizes[2] = 4;
    return false;
  };
  add_entry(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({9})}}),
            false);
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_THAT(calls_.kinds(), ElementsAre("allgather_alike", "allgather"));
  EXPECT_FALSE(calls_.made[0].writes);
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(20, 0, 4));
}

TEST_F(ExecutorTest, AJoinedRankAddsNoRowsToAnAllgather) {
  add_entry(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({9})}}),
            false);
  answer({5, 0, 1});
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 2u);
  EXPECT_EQ(calls_.made[1].bytes, 0u);
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(20, 0, 4));
}

TEST_F(ExecutorTest, MoreRowsThanThereCanBeFailTheOperationAndNotTheJob) {
  submit(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({1})}}),
         false);
  answer({std::int64_t{1} << 62, 1, std::int64_t{1} << 62});
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(calls_.made.size(), 1u);
  EXPECT_TRUE(absl::IsInvalidArgument(outcomes_[0].second.status()));
}

TEST_F(ExecutorTest, InvalidRowsBreakTheJobAndNameTheirRank) {
  submit(request(RequestKind::kAllgather, "x", {{DType::kF32, Shape({1})}}),
         false);
  answer({1, 1, -4});
  const absl::Status status = run();
  EXPECT_TRUE(absl::IsInternal(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 3 announces -4"));
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ExecutorTest, BroadcastsFromTheRootsPlaceInTheSet) {
  Request from_three =
      request(RequestKind::kBroadcast, "x", {{DType::kF32, Shape({2})}});
  from_three.root = 3;
  submit(from_three, true);
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 1u);
  EXPECT_EQ(calls_.made[0].root, 2);
  EXPECT_FALSE(calls_.made[0].reads);
}

TEST_F(ExecutorTest, AJoinedRankReceivesABroadcastAndDropsIt) {
  Request agreed =
      request(RequestKind::kBroadcast, "x", {{DType::kF32, Shape({2})}});
  add_entry(agreed, false);
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(calls_.made[0].bytes, 8u);

  agreed.root = kRank;
  batch_.entries.clear();
  add_entry(agreed, false);
  EXPECT_TRUE(absl::IsInternal(run()));
}

TEST_F(ExecutorTest, RanksMeetBeforeABroadcastThatARankMaySkip) {
  batch_.certain = false;
  submit(request(RequestKind::kBroadcast, "x", {{DType::kF32, Shape({2})}}),
         true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("barrier", "broadcast"));
}

TEST_F(ExecutorTest, RanksDoNotMeetBeforeABroadcastInWhichTheyDo) {
  batch_.certain = false;
  calls_.meets_in_broadcast = true;
  submit(request(RequestKind::kBroadcast, "x", {{DType::kF32, Shape({2})}}),
         true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("broadcast"));
}

TEST_F(ExecutorTest, AnAlltoallExchangesSplitsFirst) {
  Submission& mine = submit(
      request(RequestKind::kAlltoall, "x", {{DType::kF32, Shape({6, 2})}}),
      false);
  mine.splits = {1, 0, 3};
  // The counts that ranks 0, 2 and 3 send to each member.
  answer({2, 5, 1, 1, 0, 3, 0, 4, 0});
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_EQ(calls_.made.size(), 2u);
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(8, 0, 24));
  EXPECT_THAT(calls_.made[1].receive, ElementsAre(40, 0, 32));
  EXPECT_EQ(calls_.made[1].bytes, 32u);
  const Results& results = *outcomes_[0].second;
  EXPECT_EQ(results.tensors[0].shape(), Shape({9, 2}));
  EXPECT_THAT(results.received_splits, ElementsAre(5, 0, 4));
}

TEST_F(ExecutorTest, EqualSplitsExchangeInOneCall) {
  calls_.alike = [](std::span<std::size_t>) { return true; };
  Submission& mine = submit(
      request(RequestKind::kAlltoall, "x", {{DType::kF32, Shape({6, 2})}}),
      false);
  mine.splits = {1, 0, 3};
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_THAT(calls_.kinds(), ElementsAre("alltoall_alike"));
  EXPECT_THAT(calls_.made[0].sizes, ElementsAre(0, 0, 0, 8, 0, 24, 0, 0, 0));
  EXPECT_EQ(calls_.made[0].bytes, 32u);
  EXPECT_TRUE(calls_.made[0].writes);
  const Results& results = *outcomes_[0].second;
  EXPECT_EQ(results.tensors[0].shape(), Shape({4, 2}));
  EXPECT_THAT(results.received_splits, ElementsAre(1, 0, 3));
}

TEST_F(ExecutorTest, ExchangesUnevenRowsOnceItKnowsThem) {
  calls_.alike = [](std::span<std::size_t> sizes) {
    sizes[1] = 40, sizes[7] = 32;
    return false;
  };
  Submission& mine = submit(
      request(RequestKind::kAlltoall, "x", {{DType::kF32, Shape({6, 2})}}),
      false);
  mine.splits = {1, 0, 3};
  ASSERT_EQ(run(), absl::OkStatus());
  ASSERT_THAT(calls_.kinds(), ElementsAre("alltoall_alike", "alltoall"));
  EXPECT_THAT(calls_.made[1].sizes, ElementsAre(8, 0, 24));
  EXPECT_THAT(calls_.made[1].receive, ElementsAre(40, 0, 32));
  EXPECT_EQ(outcomes_[0].second->tensors[0].shape(), Shape({9, 2}));
}

TEST_F(ExecutorTest, MoreRowsThanAnotherRankCanHoldFailTheAlltoallHereToo) {
  Submission& mine = submit(
      request(RequestKind::kAlltoall, "x", {{DType::kF32, Shape({0})}}), false);
  mine.splits = {0, 0, 0};
  const std::int64_t many = std::int64_t{1} << 62;
  answer({many, 0, 0, 0, 0, 0, many, 0, 0});
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(outcomes_[0].second.status()));
}

TEST_F(ExecutorTest, AnAbandonedBatchCompletesNoSubmission) {
  submit(request(RequestKind::kAllreduce, "x", {{DType::kF32, Shape({2})}}),
         true);
  calls_.outcome = [](std::size_t) { return absl::CancelledError("no"); };
  EXPECT_TRUE(absl::IsCancelled(run()));
  EXPECT_TRUE(outcomes_.empty());
  // The call may be repeated.
  calls_.outcome = nullptr;
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(outcomes_.size(), 1u);
}

TEST_F(ExecutorTest, AbandoningAStartedBatchBreaksTheJob) {
  submit(request(RequestKind::kAllreduce, "x",
                 {{DType::kF32, Shape({2})}, {DType::kF64, Shape({2})}}),
         true);
  calls_.outcome = [](std::size_t call) {
    return call == 0 ? absl::OkStatus() : absl::CancelledError("no");
  };
  EXPECT_TRUE(absl::IsInternal(run()));
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ExecutorTest, AnErrorOfThePlaneBreaksTheJob) {
  submit(request(RequestKind::kAllreduce, "x", {{DType::kF32, Shape({2})}}),
         true);
  calls_.outcome = [](std::size_t) { return absl::AbortedError("dead"); };
  EXPECT_TRUE(absl::IsAborted(run()));
  EXPECT_TRUE(outcomes_.empty());
}

TEST_F(ExecutorTest, BarriersAndJoinsOfTheScheduleNeedNoPlane) {
  batch_.result = 3;
  submit(request(RequestKind::kBarrier, "x"), true);
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_TRUE(outcomes_.back().second.ok());
  batch_.entries.clear();
  submissions_.clear();
  submit(request(RequestKind::kJoin, "x"), true);
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(outcomes_.back().second->number, 3);
  EXPECT_TRUE(calls_.made.empty());
}

TEST_F(ExecutorTest, RanksMeetInABarrierThatARankMaySkip) {
  batch_.certain = false;
  submit(request(RequestKind::kBarrier, "x"), true);
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_THAT(calls_.kinds(), ElementsAre("barrier"));
  EXPECT_TRUE(outcomes_.back().second.ok());
}

TEST_F(ExecutorTest, AddsAndRemovesTheProcessSetsOfABatch) {
  Request add = request(RequestKind::kAddProcessSet, "add");
  add.key.process_set = 0;
  add.ranks = {1, 2};
  batch_.result = 4;
  submit(add, true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(outcomes_.back().second->number, 4);
  const ProcessSet added(4,
                         std::make_shared<const std::vector<int>>(add.ranks));
  EXPECT_EQ(sets_.place_in(added)->position, 1);
  EXPECT_TRUE(planes_.find(4).ok());

  Request remove = request(RequestKind::kRemoveProcessSet, "remove");
  remove.key.process_set = 0;
  remove.subject = 4;
  batch_.entries.clear();
  submissions_.clear();
  submit(remove, true);
  ASSERT_EQ(run(), absl::OkStatus());
  EXPECT_FALSE(sets_.find(added).ok());
  EXPECT_FALSE(planes_.find(4).ok());
}

TEST_F(ExecutorTest, ABatchOfAForeignSetIsAnError) {
  ASSERT_TRUE(executor_.add_set(5, {0, 1}).ok());
  Request foreign =
      request(RequestKind::kAllreduce, "x", {{DType::kF32, Shape({1})}});
  foreign.key.process_set = 5;
  submit(foreign, true);
  EXPECT_TRUE(absl::IsInternal(run()));
}

TEST_F(ExecutorTest, ABatchThatDoesNotFitItsSubmissionsIsAnError) {
  EXPECT_TRUE(absl::IsInternal(run()));
  submit(request(RequestKind::kBarrier, "x"), true);
  submissions_.push_back(submissions_.front());
  EXPECT_TRUE(absl::IsInternal(run()));
  submissions_.clear();
  EXPECT_TRUE(absl::IsInternal(run()));
  EXPECT_TRUE(outcomes_.empty());
}

TEST(ScatteredRows, AddUpToAllAndDifferByOneAtMost) {
  for (std::int64_t rows = 0; rows < 20; ++rows) {
    for (std::size_t ranks = 1; ranks < 7; ++ranks) {
      std::int64_t sum = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        const std::int64_t mine = scattered_rows(rows, ranks, r);
        EXPECT_LE(mine, scattered_rows(rows, ranks, 0));
        EXPECT_GE(mine + 1, scattered_rows(rows, ranks, 0));
        sum += mine;
      }
      EXPECT_EQ(sum, rows);
    }
  }
}

}  // namespace
}  // namespace hvd::runtime
