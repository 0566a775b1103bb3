#include "horovodpp/runtime/global.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;

std::string text_of(const absl::Status& status) {
  return std::string(status.message());
}

// Ends a forked child behind the library's own exit handler, and before those
// of the test's process.
bool is_child = false;
void end_child() {
  if (is_child) ::_exit(3);
}
const int kRegisteredFirst = std::atexit(end_child);

TEST(Global, AForkedChildThatExitsLeavesItsParentsJobAlone) {
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

TEST(Global, ACallbackThatShutsDownIsToldThatItCannot) {
  ASSERT_EQ(init(Config()), absl::OkStatus());
  // A callback that comes too late runs on this thread: then once more.
  absl::Status told;
  for (bool was_there_first = false; !was_there_first;) {
    Promise<void> done;
    float value = 1;
    const auto pending = allreduce_async_(TensorView::of(&value, {}));
    pending.then(
        [&, done, here = std::this_thread::get_id()](const absl::Status&) {
          was_there_first = std::this_thread::get_id() != here;
          done.set(was_there_first ? shutdown() : absl::OkStatus());
        });
    told = done.future().wait();
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_TRUE(is_initialized());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, AnythingWithoutAJobIsAClearError) {
  ASSERT_EQ(shutdown(), absl::OkStatus());
  EXPECT_FALSE(is_initialized());
  float value = 1;
  const TensorView view = TensorView::of(&value, {1});
  for (const absl::Status& status :
       {allreduce_(view), allreduce(view).status(), allgather(view).status(),
        broadcast_(view, 0), broadcast(view, 0).status(), barrier()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(text_of(status), HasSubstr("call hvd::init() first"));
  }
  for (const auto ask :
       {rank, size, local_rank, local_size, cross_rank, cross_size}) {
    EXPECT_THROW(ask(), Error);
  }
  EXPECT_THROW(is_homogeneous(), Error);
  EXPECT_THROW(current_runtime(), Error);
}

TEST(Global, AJobOfOneNeedsNoLauncher) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(init(Config()), absl::OkStatus());
    ASSERT_EQ(init(Config()), absl::OkStatus());  // It is in one already.
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
    const Future<void> pending = allreduce_async_(view, {.name = "y"});
    EXPECT_EQ(synchronize(pending), absl::OkStatus());
    EXPECT_TRUE(poll(pending));
    ASSERT_EQ(shutdown(), absl::OkStatus());
  }
  EXPECT_THAT(text_of(barrier()), HasSubstr("has been shut down"));
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
  });
  EXPECT_FALSE(is_initialized());
}

}  // namespace
}  // namespace hvd
