// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/submission/submissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "horovodpp/runtime/settings/options.h"

namespace hvd::runtime {
namespace {

using coordinator::RequestKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rank 1 of a job of three.
class SubmissionsTest : public ::testing::Test {
 protected:
  SubmissionsTest() {
    sets_.add(1, {0, 1});
    sets_.add(2, {0, 2});
  }
  ConstTensorView floats(Shape shape) const {
    return ConstTensorView(memory_, DType::kF32, std::move(shape));
  }
  // The message of a submission refused for its arguments.
  static std::string refusal(const absl::StatusOr<SubmissionPtr>& built) {
    EXPECT_TRUE(absl::IsInvalidArgument(built.status())) << built.status();
    return std::string(built.status().message());
  }
  absl::StatusOr<SubmissionPtr> alltoall(Shape shape,
                                         std::vector<std::int64_t> splits) {
    return submission(
        sets_, RequestKind::kAlltoall, {floats(std::move(shape))},
        AlltoallOptions{.name = "x", .splits = std::move(splits)});
  }

  float memory_[64] = {};
  SetTable sets_{1, 3};
  const ProcessSet mine_{
      1, std::make_shared<const std::vector<int>>(std::vector<int>{0, 1})};
  const ProcessSet others_{
      2, std::make_shared<const std::vector<int>>(std::vector<int>{0, 2})};
};

TEST_F(SubmissionsTest, HoldTheCallersRequest) {
  const auto built =
      submission(sets_, RequestKind::kAllreduce, {floats({2, 3}), floats({4})},
                 AllreduceOptions{.name = "g",
                                  .op = ReduceOp::kMax,
                                  .prescale_factor = 2,
                                  .postscale_factor = 3,
                                  .average_of_participants = true,
                                  .process_set = mine_});
  ASSERT_EQ(built.status(), absl::OkStatus());
  const coordinator::Request& request = (*built)->request;
  EXPECT_EQ(request.kind, RequestKind::kAllreduce);
  EXPECT_EQ(request.key.name, "g");
  EXPECT_EQ(request.key.process_set, 1u);
  ASSERT_EQ(request.tensors.size(), 2u);
  EXPECT_EQ(request.tensors[0].to_string(), "float32[2,3]");
  EXPECT_EQ(request.op, ReduceOp::kMax);
  EXPECT_EQ(request.prescale, 2);
  EXPECT_EQ(request.postscale, 3);
  EXPECT_TRUE(request.average_of_participants);
  EXPECT_EQ((*built)->inputs.size(), 2u);
  EXPECT_TRUE((*built)->outputs.empty());
}

TEST_F(SubmissionsTest, RefuseAGroupForOneBadMemberAndNameItsIndex) {
  bool flag = true;
  const std::string text = refusal(
      submission(sets_, RequestKind::kAllreduce,
                 {floats({2}), ConstTensorView::of(&flag, {1}), floats({3})},
                 AllreduceOptions{.name = "g"}));
  EXPECT_THAT(text, HasSubstr("allreduce of 'g': tensor 1 of the group's 3"));
  EXPECT_THAT(text, HasSubstr("bool"));
}

TEST_F(SubmissionsTest, RefuseToGatherAGroupThatIsTooLarge) {
  const auto gathered = [&](std::size_t count) {
    return submission(sets_, RequestKind::kAllgather,
                      Inputs(count, floats({1})), AllgatherOptions{});
  };
  EXPECT_TRUE(gathered(4095).ok());
  EXPECT_THAT(refusal(gathered(4096)), HasSubstr("at most 4095"));
}

TEST_F(SubmissionsTest, RefuseAGroupOnSeveralDevices) {
  const ConstTensorView elsewhere(memory_, DType::kF32, Shape({1}),
                                  Device::cuda(0));
  EXPECT_THAT(refusal(submission(sets_, RequestKind::kAllgather,
                                 {floats({1}), elsewhere},
                                 AllgatherOptions{.name = "g"})),
              HasSubstr("tensor 1 of the group's 2: it is on cuda:0 and tensor "
                        "0 on cpu"));
  EXPECT_TRUE(absl::IsUnimplemented(submission(sets_, RequestKind::kAllgather,
                                               {elsewhere},
                                               AllgatherOptions{.name = "x"})
                                        .status()));
}

TEST_F(SubmissionsTest, RefuseAnEmptyGroup) {
  for (const auto& built : {submission(sets_, RequestKind::kAllreduce, {},
                                       AllreduceOptions{.name = "g"}),
                            submission(sets_, RequestKind::kAllgather, {},
                                       AllgatherOptions{.name = "g"}),
                            submission(sets_, RequestKind::kReducescatter, {},
                                       ReducescatterOptions{.name = "g"})}) {
    EXPECT_THAT(refusal(built), HasSubstr("'g': a group of no tensors"));
  }
}

TEST_F(SubmissionsTest, RefuseScalarsInCallsOfRows) {
  EXPECT_THAT(refusal(submission(sets_, RequestKind::kAllgather, {floats({})},
                                 AllgatherOptions{})),
              HasSubstr("allgather: a scalar"));
  EXPECT_THAT(refusal(submission(sets_, RequestKind::kReducescatter,
                                 {floats({})}, ReducescatterOptions{})),
              HasSubstr("reducescatter: a scalar"));
  EXPECT_THAT(refusal(submission(sets_, RequestKind::kAlltoall, {floats({})},
                                 AlltoallOptions{})),
              HasSubstr("alltoall: a scalar"));
  EXPECT_TRUE(submission(sets_, RequestKind::kAllreduce, {floats({})},
                         AllreduceOptions{})
                  .ok());
  EXPECT_TRUE(submission(sets_, RequestKind::kBroadcast, {floats({})},
                         BroadcastOptions{}, 0)
                  .ok());
}

TEST_F(SubmissionsTest, RefuseInvalidTensors) {
  const Shape deep(std::vector<std::int64_t>(65, 1));
  for (const ConstTensorView& tensor :
       {floats({-1}), floats(deep), floats({std::int64_t{1} << 62, 2}),
        ConstTensorView(nullptr, DType::kF32, Shape({3}))}) {
    EXPECT_THAT(refusal(submission(sets_, RequestKind::kAllreduce, {tensor},
                                   AllreduceOptions{.name = "x"})),
                HasSubstr("allreduce of 'x': "));
  }
  EXPECT_TRUE(submission(sets_, RequestKind::kAllreduce,
                         {ConstTensorView(nullptr, DType::kF32, Shape({0}))},
                         AllreduceOptions{})
                  .ok());
}

// Enum values that a peer could not read.
TEST_F(SubmissionsTest, RefuseUnknownEnumValues) {
  const ConstTensorView odd(memory_, static_cast<DType>(77), Shape({2}));
  const ConstTensorView far(memory_, DType::kF32, Shape({2}),
                            {static_cast<DeviceKind>(9), 0});
  for (const auto& [tensor, text] :
       {std::pair(odd, "of 'x': dtype 77 does not exist"),
        std::pair(far, "of 'x': device kind 9 does not exist")}) {
    for (const auto& built :
         {submission(sets_, RequestKind::kAllreduce, {tensor},
                     AllreduceOptions{.name = "x"}),
          submission(sets_, RequestKind::kAllgather, {tensor},
                     AllgatherOptions{.name = "x"}),
          submission(sets_, RequestKind::kReducescatter, {tensor},
                     ReducescatterOptions{.name = "x"}),
          submission(sets_, RequestKind::kBroadcast, {tensor},
                     BroadcastOptions{.name = "x"}, 0),
          submission(sets_, RequestKind::kAlltoall, {tensor},
                     AlltoallOptions{.name = "x"})}) {
      EXPECT_THAT(refusal(built), HasSubstr(text));
    }
    EXPECT_THAT(refusal(submission(sets_, RequestKind::kAllgather,
                                   {floats({2}), tensor}, AllgatherOptions{})),
                HasSubstr("tensor 1 of the group's 2"));
  }
  const auto op = static_cast<ReduceOp>(77);
  for (const auto& built :
       {submission(sets_, RequestKind::kAllreduce, {floats({2})},
                   AllreduceOptions{.name = "x", .op = op}),
        submission(sets_, RequestKind::kReducescatter, {floats({2})},
                   ReducescatterOptions{.name = "x", .op = op})}) {
    EXPECT_THAT(refusal(built), HasSubstr("of 'x': op 77 does not exist"));
  }
}

TEST_F(SubmissionsTest, RefuseScalesThatAreNoFiniteNumbers) {
  using Limits = std::numeric_limits<double>;
  for (const double odd :
       {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const bool before : {true, false}) {
      const double prescale = before ? odd : 1;
      const double postscale = before ? 1 : odd;
      for (const auto& built :
           {submission(sets_, RequestKind::kAllreduce, {floats({2})},
                       AllreduceOptions{.name = "x",
                       .prescale_factor = prescale,
                       .postscale_factor = postscale}),
            submission(sets_, RequestKind::kReducescatter, {floats({2})},
                       ReducescatterOptions{.name = "x",
                       .prescale_factor = prescale,
                       .postscale_factor = postscale})}) {
        EXPECT_THAT(refusal(built), HasSubstr("both must be finite numbers"));
      }
    }
  }
  EXPECT_TRUE(
      submission(sets_, RequestKind::kAllreduce, {floats({2})},
                 AllreduceOptions{.prescale_factor = Limits::max(),
                                  .postscale_factor = Limits::denorm_min()})
          .ok());
}

TEST_F(SubmissionsTest, RefuseNamesThatAreTooLongToSend) {
  const auto named = [&](std::size_t length) {
    return submission(sets_, RequestKind::kAllreduce, {floats({2})},
                      AllreduceOptions{.name = std::string(length, 'x')});
  };
  EXPECT_TRUE(named(1 << 20).ok());
  EXPECT_THAT(refusal(named((1 << 20) + 1)),
              HasSubstr("a name of 1048577 bytes; at most 1048576"));
}

TEST_F(SubmissionsTest, KeepTheOwnerOfTheMemory) {
  auto owner = std::make_shared<int>(1);
  for (const auto& built :
       {submission(sets_, RequestKind::kAllreduce, {floats({3})},
                   AllreduceOptions{.keep_alive = owner}),
        submission(sets_, RequestKind::kAllgather, {floats({3})},
                   AllgatherOptions{.keep_alive = owner}),
        submission(sets_, RequestKind::kReducescatter, {floats({3})},
                   ReducescatterOptions{.keep_alive = owner}),
        submission(sets_, RequestKind::kBroadcast, {floats({3})},
                   BroadcastOptions{.keep_alive = owner}, 0),
        submission(sets_, RequestKind::kAlltoall, {floats({3})},
                   AlltoallOptions{.keep_alive = owner})}) {
    EXPECT_EQ((*built)->keep_alive, owner);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(SubmissionsTest, RefuseProcessSetsThisRankIsNotIn) {
  const std::string text = "rank 1 is not a member of process set 2 [0, 2]";
  const ConstTensorView x = floats({2});
  for (const auto& built :
       {submission(sets_, RequestKind::kAllreduce, {x},
                   AllreduceOptions{.process_set = others_}),
        submission(sets_, RequestKind::kAllgather, {x},
                   AllgatherOptions{.process_set = others_}),
        submission(sets_, RequestKind::kReducescatter, {x},
                   ReducescatterOptions{.process_set = others_}),
        submission(sets_, RequestKind::kBroadcast, {x},
                   BroadcastOptions{.process_set = others_}, 0),
        submission(sets_, RequestKind::kAlltoall, {x},
                   AlltoallOptions{.process_set = others_}),
        bare_submission(sets_, RequestKind::kBarrier, others_),
        bare_submission(sets_, RequestKind::kJoin, others_)}) {
    EXPECT_EQ(refusal(built), text);
  }
}

TEST_F(SubmissionsTest, RefuseInvalidRoots) {
  for (const int root : {-1, 3}) {
    EXPECT_THAT(
        refusal(submission(sets_, RequestKind::kBroadcast, {floats({1})},
                           BroadcastOptions{.name = "x"}, root)),
        HasSubstr("there is no rank " + std::to_string(root) +
                  " in a job of 3"));
  }
  EXPECT_THAT(refusal(submission(
                  sets_, RequestKind::kBroadcast, {floats({1})},
                  BroadcastOptions{.name = "x", .process_set = mine_}, 2)),
              HasSubstr("rank 2, is not a member of process set 1 [0, 1]"));
  EXPECT_EQ((*submission(sets_, RequestKind::kBroadcast, {floats({1})},
                         BroadcastOptions{}, 2))
                ->request.root,
            2);
}

TEST_F(SubmissionsTest, SplitAnAlltoallEquallyByDefault) {
  EXPECT_THAT((*alltoall({6}, {}))->splits, ElementsAre(2, 2, 2));
  EXPECT_THAT((*alltoall({0, 5}, {}))->splits, ElementsAre(0, 0, 0));
  EXPECT_THAT(refusal(alltoall({7}, {})),
              HasSubstr("first dimension 7 cannot be shared equally by 3"));
}

TEST_F(SubmissionsTest, RefuseSplitsThatDoNotFit) {
  EXPECT_THAT((*alltoall({6}, {0, 1, 4}))->splits, ElementsAre(0, 1, 4));
  EXPECT_THAT(refusal(alltoall({6}, {3, 3})),
              HasSubstr("there are 2 splits for 3 ranks"));
  EXPECT_THAT(refusal(alltoall({6}, {3, -1, 3})), HasSubstr("a split is -1"));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const auto& splits : {std::vector<std::int64_t>{3, 3, 1},
                             std::vector<std::int64_t>{most, most, most}}) {
    EXPECT_THAT(refusal(alltoall({6}, splits)),
                HasSubstr("more than the first dimension, which is 6"));
  }
}

TEST_F(SubmissionsTest, ChangeProcessSetsOnTheGlobalOne) {
  const auto add = add_set_submission(sets_, {2, 0});
  ASSERT_EQ(add.status(), absl::OkStatus());
  EXPECT_THAT((*add)->request.ranks, ElementsAre(0, 2));
  EXPECT_EQ((*add)->request.key.process_set, 0u);
  // Every rank takes part, member or not.
  EXPECT_EQ((*remove_set_submission(sets_, others_))->request.subject, 2u);
  EXPECT_THAT(refusal(remove_set_submission(sets_, ProcessSet::global())),
              HasSubstr("cannot be removed"));
  sets_.remove(2);
  EXPECT_THAT(refusal(remove_set_submission(sets_, others_)),
              HasSubstr("process set 2 [0, 2] does not exist"));
}

}  // namespace
}  // namespace hvd::runtime
