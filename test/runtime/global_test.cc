// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/global_collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/runtime/world.h"
#include "test/support/fork.h"
#include "test/support/no_threads.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

std::string message_of(const absl::Status& status) {
  return std::string(status.message());
}

// Ends a forked child after the library's exit handler and before the test
// process's handlers.
bool is_child = false;
void end_child() {
  if (is_child) ::_exit(3);
}
const int kRegisteredFirst = std::atexit(end_child);

TEST(Global, AForkedChildThatExitsLeavesItsParentsJobAlone) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  ASSERT_EQ(kRegisteredFirst, 0);
  ASSERT_EQ(init(Config()), absl::OkStatus());
  const pid_t child = ::fork();
  if (child == 0) {
    is_child = true;
    ::alarm(30);
    std::exit(3);
  }
  int outcome = 0;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome)) << outcome;
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

// The child's exit code numbers the first call that was not refused.
TEST(Global, CallsOfAForkedChildAreErrorsWithAWayOut) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  ASSERT_EQ(init(Config()), absl::OkStatus());
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    int failed = 0;
    for (const auto& status :
         {init(Config()), barrier(), shutdown(), init(Config())}) {
      const bool is_refused =
          absl::IsFailedPrecondition(status) &&
          message_of(status).find("fork before hvd::init()") !=
              std::string::npos;
      failed = 2 * failed + (is_refused ? 0 : 1);
    }
    ::_exit(2 * failed + (is_initialized() ? 1 : 0));
  }
  int outcome = 0;
  ASSERT_EQ(::waitpid(child, &outcome, 0), child);
  EXPECT_TRUE(WIFEXITED(outcome)) << outcome;
  EXPECT_EQ(WEXITSTATUS(outcome), 0);
  EXPECT_TRUE(is_initialized());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, AShutdownInACallbackIsRefused) {
  ASSERT_EQ(init(Config()), absl::OkStatus());
  // A callback attached after completion runs on this thread; then repeat.
  absl::Status told;
  for (bool was_there_first = false; !was_there_first;) {
    Promise<void> done;
    float value = 1;
    const auto pending = allreduce_async_(TensorView::of(&value, {}));
    pending.then(
        [&, done, here = std::this_thread::get_id()](const absl::Status&) {
          was_there_first = std::this_thread::get_id() != here;
          done.set(was_there_first ? shutdown() : Status());
        });
    told = done.future().wait();
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_TRUE(is_initialized());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, CallsWithoutAJobAreErrors) {
  ASSERT_EQ(shutdown(), absl::OkStatus());
  EXPECT_FALSE(is_initialized());
  float value = 1;
  const TensorView view = TensorView::of(&value, {1});
  for (const auto& status :
       {allreduce_(view), allreduce(view).status(), allgather(view).status(),
        broadcast_(view, 0), broadcast(view, 0).status(),
        grouped_allreduce_({view}), grouped_allreduce({view}).status(),
        grouped_allgather({view}).status(), alltoall(view).status(),
        reducescatter(view).status(), grouped_reducescatter({view}).status(),
        allgather_into(view, view), alltoall_into(view, view).status(),
        reducescatter_into(view, view), barrier(), join().status(),
        add_process_set({0}).status(),
        remove_process_set(ProcessSet::global())}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(message_of(status), HasSubstr("call hvd::init() first"));
  }
  for (const auto ask :
       {rank, size, local_rank, local_size, cross_rank, cross_size}) {
    EXPECT_THROW(ask(), Error);
  }
  EXPECT_THROW(is_homogeneous(), Error);
  EXPECT_THROW(current_runtime(), Error);
  EXPECT_THROW(process_set_size(ProcessSet::global()), Error);
  EXPECT_THROW(process_set_rank(ProcessSet::global()), Error);
  EXPECT_THROW(process_set_included(ProcessSet::global()), Error);
}

TEST(Global, AJobOfOneNeedsNoLauncher) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(init(Config()), absl::OkStatus());
    ASSERT_EQ(init(Config()), absl::OkStatus());  // Already initialized.
    EXPECT_TRUE(is_initialized());
    EXPECT_EQ(rank(), 0);
    EXPECT_EQ(size(), 1);
    EXPECT_EQ(local_rank(), 0);
    EXPECT_EQ(local_size(), 1);
    EXPECT_EQ(cross_rank(), 0);
    EXPECT_EQ(cross_size(), 1);
    EXPECT_TRUE(is_homogeneous());
    float value = 3;
    const TensorView view = TensorView::of(&value, {1});
    EXPECT_EQ(allreduce_(view, {.name = "x"}), absl::OkStatus());
    EXPECT_EQ(allreduce(view, {.op = ReduceOp::kSum})->data<float>()[0], 3.0f);
    EXPECT_EQ(allgather(view)->data<float>()[0], 3.0f);
    EXPECT_EQ(broadcast_(view, 0), absl::OkStatus());
    EXPECT_EQ(broadcast(view, 0)->data<float>()[0], 3.0f);
    EXPECT_EQ(barrier(), absl::OkStatus());
    EXPECT_EQ(grouped_allreduce_({view, view}, {.name = "g"}),
              absl::OkStatus());
    EXPECT_EQ(grouped_allreduce({view})->at(0).data<float>()[0], 3.0f);
    EXPECT_EQ(grouped_allgather({view, view})->at(1).data<float>()[0], 3.0f);
    EXPECT_EQ(alltoall(view)->tensor.data<float>()[0], 3.0f);
    EXPECT_EQ(alltoall(view, {.splits = {1}})->received_splits.at(0), 1);
    EXPECT_EQ(reducescatter(view)->data<float>()[0], 3.0f);
    EXPECT_EQ(grouped_reducescatter({view})->at(0).data<float>()[0], 3.0f);
    float other = 0;
    const TensorView result = TensorView::of(&other, {1});
    EXPECT_EQ(allgather_into(view, result), absl::OkStatus());
    EXPECT_EQ(std::exchange(other, 0.0f), 3.0f);
    EXPECT_EQ(alltoall_into(view, result)->at(0), 1);
    EXPECT_EQ(std::exchange(other, 0.0f), 3.0f);
    EXPECT_EQ(reducescatter_into(view, result), absl::OkStatus());
    EXPECT_EQ(other, 3.0f);
    EXPECT_EQ(*join(), 0);
    const Future<void> pending = allreduce_async_(view, {.name = "y"});
    EXPECT_EQ(synchronize(pending), absl::OkStatus());
    EXPECT_TRUE(poll(pending));
    ASSERT_EQ(shutdown(), absl::OkStatus());
  }
  EXPECT_THAT(message_of(barrier()), HasSubstr("has been shut down"));
}

TEST(Global, AJobNeedsAThread) {
  {
    const NoThreads none;
    const absl::Status status = init(Config());
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(message_of(status), HasSubstr("ulimit -u"));
    EXPECT_FALSE(is_initialized());
  }
  EXPECT_EQ(init(Config()), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, ABrokenJobIsReplacedByThatOfItsSurvivors) {
  EXPECT_TRUE(absl::IsFailedPrecondition(reform()));
  ASSERT_EQ(init(Config()), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(reform()));  // The job is not broken.
  EXPECT_EQ(barrier(), absl::OkStatus());

  current_runtime().abort("is tired");
  EXPECT_TRUE(absl::IsAborted(barrier()));
  ASSERT_EQ(reform(), absl::OkStatus());
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(size(), 1);

  {
    const ThreadRuntime scope(current_runtime());
    current_runtime().abort("is tired again");
    EXPECT_THAT(message_of(reform()), HasSubstr("a job of its own"));
  }
  EXPECT_TRUE(absl::IsAborted(shutdown()));
}

TEST(Global, RanksThatAreThreadsHaveAJobEach) {
  run_world({.size = 3}, [](Runtime& job, transport::LoopbackWorld&) {
    const ThreadRuntime scope(job);
    EXPECT_EQ(rank(), job.topology().rank());
    EXPECT_EQ(size(), 3);
    std::int32_t value = rank();
    EXPECT_EQ(allreduce_(TensorView::of(&value, {}),
                         {.name = "x", .op = ReduceOp::kSum}),
              absl::OkStatus());
    EXPECT_EQ(value, 3);
    const auto set = add_process_set({2, 0});
    ASSERT_EQ(set.status(), absl::OkStatus());
    EXPECT_EQ(process_set_ranks(*set), (std::vector<int>{0, 2}));
    EXPECT_EQ(process_set_size(*set), 2);
    EXPECT_EQ(process_set_included(*set), rank() != 1);
    if (rank() == 1) {
      EXPECT_THROW(process_set_rank(*set), Error);
    } else {
      EXPECT_EQ(process_set_rank(*set), rank() / 2);
      EXPECT_EQ(barrier(*set), absl::OkStatus());
      EXPECT_EQ(join(*set).status(), absl::OkStatus());
    }
    EXPECT_EQ(remove_process_set(*set), absl::OkStatus());
    EXPECT_THROW(process_set_size(*set), Error);
  });
  EXPECT_FALSE(is_initialized());
}

TEST(Global, RefusesProgramsWithOtherHeaders) {
  const Status status = init(Headers(HVD_MAKE_VERSION(7, 8, 9)));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.to_string(), HasSubstr("headers of horovodpp 7.8.9"));
  EXPECT_FALSE(is_initialized());
}

}  // namespace
}  // namespace hvd
