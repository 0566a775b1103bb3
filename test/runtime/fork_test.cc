// SPDX-License-Identifier: Apache-2.0
// Runtimes in forked processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/runtime/suite_support.h"
#include "test/runtime/world.h"
#include "test/support/fork.h"

namespace hvd {
namespace {

// Returns 0 if pending operations, new submissions and stop() fail because of
// the fork.
int outcome_in_child(std::unique_ptr<Runtime> job, const Future<void>& pending,
                     const Future<void>& polled) {
  const auto is_refused = [](const absl::Status& status) {
    return absl::IsFailedPrecondition(status) &&
           suite::text_of(status).find("was forked from rank 0 (") !=
               std::string::npos;
  };
  if (!is_refused(pending.wait())) return 1;
  while (!polled.poll()) {
  }
  if (!is_refused(polled.wait())) return 2;
  float value = 1;
  if (!is_refused(
          job->allreduce_async_(TensorView::of(&value, {}), {.name = "child"})
              .wait())) {
    return 3;
  }
  if (!is_refused(job->stop())) return 4;
  job.reset();
  return 0;
}

TEST(Fork, AWaitInAForkedChildIsAnErrorAndTheJobGoesOn) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  transport::LoopbackWorld world(2);
  std::latch child_is_gone(2);
  std::thread other([&] {
    auto job = Runtime::start({}, world.communicator(1));
    ASSERT_EQ(job.status(), absl::OkStatus());
    child_is_gone.arrive_and_wait();
    float values[2] = {1, 1};
    for (float& value : values) {
      const std::string name = &value == values ? "a" : "b";
      EXPECT_EQ((*job)
                    ->allreduce_async_(TensorView::of(&value, {}),
                                       {.name = name, .op = ReduceOp::kSum})
                    .wait(),
                absl::OkStatus());
    }
    EXPECT_EQ((*job)->stop(), absl::OkStatus());
  });
  auto job = Runtime::start({}, world.communicator(0));
  ASSERT_EQ(job.status(), absl::OkStatus());
  float values[2] = {1, 1};
  const auto submit = [&](float& value, const char* name) {
    return (*job)->allreduce_async_(TensorView::of(&value, {}),
                                    {.name = name, .op = ReduceOp::kSum});
  };
  const Future<void> pending = submit(values[0], "a");
  const Future<void> polled = submit(values[1], "b");
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(outcome_in_child(*std::move(job), pending, polled));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  child_is_gone.arrive_and_wait();
  EXPECT_EQ(pending.wait(), absl::OkStatus());
  EXPECT_EQ(polled.wait(), absl::OkStatus());
  EXPECT_EQ(values[0] + values[1], 4);
  EXPECT_EQ((*job)->stop(), absl::OkStatus());
  other.join();
}

// Runs in a forked child. Returns the number of the first call that was not
// refused; 0: all were refused; 10: the child shares its arena memory with the
// parent. `of_parent` lies in the parent's arena.
int first_not_refused(std::shared_ptr<void> of_parent) {
  const auto is_refused = [](const absl::Status& status) {
    return absl::IsFailedPrecondition(status) &&
           suite::text_of(status).find("was forked from rank 0 (") !=
               std::string::npos;
  };
  float value = 1;
  const auto tensor = TensorView::of(&value, {});
  if (is_initialized() || rank() != 0) return 1;
  if (!is_refused(allreduce_(tensor, {.name = "busy"}))) return 2;
  if (!is_refused(allreduce_async_(tensor, {.name = "busy"}).wait())) return 3;
  if (!is_refused(allreduce_(tensor))) return 4;
  if (!is_refused(allgather(TensorView::of(&value, {1})).status())) return 5;
  if (!is_refused(broadcast_(tensor, 0))) return 6;
  if (!is_refused(barrier())) return 7;
  if (!is_refused(add_process_set({0}).status())) return 8;
  if (!is_refused(init(Config()))) return 9;
  of_parent.reset();
  const auto own = arena_alloc_bytes(100);
  if (own == nullptr || is_in_arena(own.get(), 100)) return 10;
  return 0;
}

// Holds for every lock that the thread had at the fork.
TEST(Fork, AChildDoesNotWaitForItsParentsThreads) {
  if (!kForkedMallocWorks) GTEST_SKIP() << kForkedMallocMayHang;
  ASSERT_EQ(init(Config()), absl::OkStatus());
  std::atomic<bool> is_over{false};
  std::thread busy([&] {
    float value = 1;
    const auto tensor = TensorView::of(&value, {});
    while (!is_over) {
      EXPECT_EQ(allreduce_(tensor, {.name = "busy"}), absl::OkStatus());
      EXPECT_EQ(allreduce_(tensor), absl::OkStatus());
      EXPECT_EQ(barrier(), absl::OkStatus());
      EXPECT_NE(arena_alloc_bytes(1000), nullptr);
    }
  });
  const auto memory = arena_alloc_bytes(100);
  EXPECT_TRUE(is_in_arena(memory.get(), 100));
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(30);
      ::_exit(first_not_refused(memory));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "child " << i << " waited for ever";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "child " << i;
  }
  is_over = true;
  busy.join();
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

}  // namespace
}  // namespace hvd
