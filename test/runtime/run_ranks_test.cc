// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "test/support/expect_error.h"
#include "test/support/no_threads.h"

namespace hvd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

float sum_over_ranks(float value) {
  throw_if_error(
      allreduce_(TensorView::of(&value, {}), {.op = ReduceOp::kSum}));
  return value;
}

TEST(RunRanks, EachThreadIsARankOfOneJob) {
  EXPECT_THAT(run_ranks(3,
                        [] {
                          EXPECT_EQ(size(), 3);
                          return static_cast<int>(sum_over_ranks(1)) * 10 +
                                 rank();
                        }),
              ElementsAre(30, 31, 32));
  EXPECT_FALSE(is_initialized());
}

TEST(RunRanks, ResultsNeedNoDefaultAndMayOnlyMove) {
  struct Result {
    explicit Result(int number) : value(std::make_unique<int>(number)) {}
    std::unique_ptr<int> value;
  };
  const std::vector<Result> results =
      run_ranks(2, [] { return Result(rank()); });
  EXPECT_EQ(*results[1].value, 1);
}

TEST(RunRanks, TheFirstExceptionIsRethrownAndToldToTheOthers) {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  std::atomic<int> told = 0;
  EXPECT_THROW(run_ranks(3,
                         [&] {
                           if (rank() == 1) throw Own("no more coffee");
                           try {
                             sum_over_ranks(1);
                           } catch (const Error& error) {
                             EXPECT_THAT(error.what(),
                                         HasSubstr("no more coffee"));
                             EXPECT_THAT(error.what(), HasSubstr("rank 1"));
                             ++told;
                             throw;
                           }
                         }),
               Own);
  EXPECT_EQ(told, 2);
}

TEST(RunRanks, AnyTypeMayBeThrown) {
  EXPECT_THROW(run_ranks(2,
                         [] {
                           if (rank() == 0) throw 7;
                           sum_over_ranks(1);
                         }),
               int);
}

TEST(RunRanks, AProgramThatStartsAndLeavesItsJobRunsUnchanged) {
  run_ranks(2, [] {
    EXPECT_EQ(init(), absl::OkStatus());
    EXPECT_EQ(sum_over_ranks(1), 2);
    EXPECT_EQ(shutdown(), absl::OkStatus());
    EXPECT_FALSE(is_initialized());
    EXPECT_TRUE(absl::IsFailedPrecondition(barrier()));
    EXPECT_TRUE(absl::IsFailedPrecondition(init()));
  });
}

TEST(RunRanks, TheJobOfTheProcessStays) {
  ASSERT_EQ(init(Config()), absl::OkStatus());
  run_ranks(2, [] { EXPECT_EQ(size(), 2); });
  EXPECT_EQ(size(), 1);
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(RunRanks, JobsMayBeNested) {
  const std::vector<float> sums = run_ranks(2, [] {
    float inner = 0;
    for (const float sum : run_ranks(2, [] { return sum_over_ranks(1); })) {
      inner += sum;
    }
    return sum_over_ranks(inner);
  });
  EXPECT_THAT(sums, ElementsAre(8, 8));
}

TEST(RunRanks, AHandleMayOutliveItsRank) {
  std::shared_ptr<Runtime> kept;
  run_ranks(2, [&] {
    if (rank() == 0) kept = value_or_throw(find_runtime());
  });
  float value = 1;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      kept->allreduce_async_(TensorView::of(&value, {})).wait()));
}

TEST(RunRanks, AJobOfNoRanksIsRefused) {
  EXPECT_THROW(run_ranks(0, [] {}), InvalidArgument);
  EXPECT_THROW(run_ranks(-1, [] { return 1; }), InvalidArgument);
}

TEST(RunRanks, ReportsThatThreadsCannotStart) {
  const NoThreads none;
  const Status status = error_of([&] { run_ranks(2, [] {}); });
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("is rank 0 of run_ranks"));
}

TEST(RunRanks, ARankThatCannotStartIsTheErrorOfAll) {
  Config config;
  config.process_sets = {{0, 9}};
  EXPECT_THROW(run_ranks(
                   2, [] {}, config),
               Error);
}

}  // namespace
}  // namespace hvd
