// SPDX-License-Identifier: Apache-2.0
// How long operations borrow memory, including operations whose future is
// dropped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/thread/promise.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::LoopbackWorld;

std::string text_of(const absl::Status& status) {
  return std::string(status.message());
}

TEST(BorrowedMemory, TheEndOfAFutureWaitsForTheMemory) {
  std::latch submitted(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    if (job.topology().rank() == 1) submitted.wait();
    std::vector<float> x(1000, 1 + static_cast<float>(job.topology().rank()));
    {
      const Future<void> dropped =
          job.allreduce_async_(TensorView::of(x.data(), {1000}), {.name = "x"});
      if (job.topology().rank() == 0) submitted.count_down();
    }
    EXPECT_EQ(x[999], 1.5f);
    // Inputs are borrowed, too.
    static_cast<void>(
        job.allgather_async(TensorView::of(x.data(), {1000}), {.name = "y"}));
    x = {};
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(BorrowedMemory, AnOwnerLivesAsLongAsItsOperation) {
  std::latch freed(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const bool frees = job.topology().rank() == 0;
    if (!frees) freed.wait();
    auto owner = std::make_shared<std::vector<float>>(1000, 2.0f);
    const std::weak_ptr<std::vector<float>> lives = owner;
    const TensorView view = TensorView::of(owner->data(), {1000});
    // The future is dropped: the other rank submits only after this one has
    // gone on.
    static_cast<void>(job.allreduce_async_(
        view, {.name = "x", .keep_alive = std::move(owner)}));
    if (frees) {
      EXPECT_FALSE(lives.expired());
      freed.count_down();
    }
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
    EXPECT_TRUE(lives.expired());
  });
}

TEST(BorrowedMemory, ARefusedCallReleasesItsOwnerAtOnce) {
  run_world({.size = 1}, [](Runtime& job, LoopbackWorld&) {
    auto owner = std::make_shared<float>(1);
    const Future<void> refused = job.allreduce_async_(
        TensorView(owner.get(), static_cast<DType>(77), Shape({1})),
        {.name = "x", .keep_alive = owner});
    EXPECT_TRUE(absl::IsInvalidArgument(refused.wait()));
    EXPECT_EQ(owner.use_count(), 1);
  });
}

TEST(BorrowedMemory, ACallbackReplacesTheWait) {
  std::latch heard(2);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    auto x = std::make_shared<float>(1);
    job.allreduce_async_(TensorView::of(x.get(), {}),
                         {.name = "x", .op = ReduceOp::kSum})
        .then([&heard, x](const absl::Status& status) {
          EXPECT_EQ(status, absl::OkStatus());
          EXPECT_EQ(*x, 2.0f);
          heard.count_down();
        });
    x.reset();
    heard.wait();
  });
}

// Callbacks run on the thread that would execute the operation, so waiting for
// that operation in a callback would deadlock.
enum class Mistake { kWaits, kDrops };
class InACallback : public ::testing::TestWithParam<Mistake> {};

TEST_P(InACallback, WaitingBreaksTheJobAndNamesTheRank) {
  std::latch attached(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const std::string name = "of rank 0 alone";
    if (job.topology().rank() == 1) {
      attached.wait();
      job.barrier_async().wait().IgnoreError();
    } else {
      auto x = std::make_unique<float>(1);
      Promise<bool> told;
      auto pending = std::make_shared<Future<void>>(
          job.allreduce_async_(TensorView::of(x.get(), {}), {.name = name}));
      Future<void> barrier = job.barrier_async();
      barrier.then([&](const absl::Status&) {
        const bool fails =
            GetParam() == Mistake::kDrops || !pending->wait().ok();
        pending.reset();
        x.reset();
        told.set(fails);
      });
      attached.count_down();
      EXPECT_TRUE(*told.future().wait());
    }
    float y = 1;
    const absl::Status end =
        job.allreduce_async_(TensorView::of(&y, {}), {.name = "y"}).wait();
    EXPECT_TRUE(absl::IsAborted(end)) << end;
    EXPECT_THAT(text_of(end),
                AllOf(HasSubstr("rank 0"), HasSubstr("waited in a callback"),
                      HasSubstr("'" + name + "'")));
  });
}

INSTANTIATE_TEST_SUITE_P(Mistakes, InACallback,
                         ::testing::Values(Mistake::kWaits, Mistake::kDrops));

// Invalid arguments are refused locally, and the job goes on.
TEST(Arguments, ThatAreInvalidAreRefusedAndTheJobGoesOn) {
  run_world({.size = 2, .ranks_per_node = 1}, [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const TensorView fine = TensorView::of(&value, {1});
    const TensorView odd(&value, static_cast<DType>(77), Shape({1}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (job.topology().rank() == 0) {
      const auto unknown = static_cast<ReduceOp>(77);
      for (const auto& status :
           {job.allreduce_async_(odd, {.name = "x"}).wait(),
            job.allreduce_async_(fine, {.name = "x", .op = unknown}).wait(),
            job.allreduce_async_(fine, {.name = "x", .prescale_factor = nan})
                .wait(),
            job.grouped_allreduce_async_({fine, odd}, {.name = "x"}).wait(),
            job.allgather_async(odd, {.name = "x"}).wait().status(),
            job.broadcast_async_(odd, 0, {.name = "x"}).wait(),
            job.broadcast_async_(fine, 2, {.name = "x"}).wait(),
            job.alltoall_async(odd, {.name = "x"}).wait().status(),
            job.barrier_async(ProcessSet(9, nullptr)).wait()}) {
        EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      }
    }
    // Changing process sets is collective, so all ranks call.
    for (const std::vector<int>& ranks :
         std::vector<std::vector<int>>{{}, {-1}, {0, 7}, {1, 1}}) {
      EXPECT_TRUE(absl::IsInvalidArgument(
          job.add_process_set_async(ranks).wait().status()));
    }
    EXPECT_EQ(job.allreduce_async_(fine, {.name = "x"}).wait(),
              absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

}  // namespace
}  // namespace hvd
