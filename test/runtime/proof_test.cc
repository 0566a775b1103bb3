#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <latch>
#include <barrier>
#include <sys/wait.h>
#include <unistd.h>
#include "horovodpp/runtime/global.h"
#include "horovodpp/transport/node_segment.h"
#include "test/runtime/world.h"
namespace hvd {
namespace {
using transport::LoopbackWorld;
TEST(Proof, ManyDims) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    float v = 1;
    auto s = job.allreduce_async_(TensorView::of(&v, Shape(std::vector<std::int64_t>(65, 1))), {.name = "x"}).wait();
    EXPECT_TRUE(absl::IsInvalidArgument(s)) << s;
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}
TEST(Proof, GatherOverflow) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    float v = 1;
    auto s = job.allgather_async(ConstTensorView::of(&v, {std::int64_t{1} << 62, 0}), {.name = "x"}).wait().status();
    EXPECT_TRUE(absl::IsInvalidArgument(s)) << s;
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
  });
}
TEST(Proof, StopInCallback) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    Promise<void> p;
    job.barrier_async().then([&, p](const absl::Status&) { p.set(job.stop()); });
    EXPECT_TRUE(absl::IsFailedPrecondition(p.future().wait())) << p.future().wait();
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}
TEST(Proof, CallbackThrows) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    job.barrier_async().then([&](const absl::Status&) { if (job.topology().rank() == 1) throw std::runtime_error("oops"); });
    float v = 1;
    auto s = job.allreduce_async_(TensorView::of(&v, {}), {.name = "x"}).wait();
    if (s.ok()) s = job.allreduce_async_(TensorView::of(&v, {}), {.name = "x"}).wait();
    EXPECT_TRUE(absl::IsAborted(s)) << s;
  });
}
TEST(Proof, PinFails) {
  LoopbackWorld world(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      if (rank == 1) config.thread_affinity = {100000, 100000};
      const auto runtime = Runtime::start(config, world.communicator(rank));
      if (rank == 1) { EXPECT_TRUE(absl::IsInvalidArgument(runtime.status())) << runtime.status(); }
      if (rank == 0 && runtime.ok()) {
        auto s = (*runtime)->barrier_async().wait();
        EXPECT_TRUE(absl::IsAborted(s)) << s;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
TEST(Proof, RingFull) {
  constexpr int kMany = 6000;
  std::atomic<int> done0 = 0;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    std::vector<Future<void>> all;
    Promise<void> submitted;
    const int rank = job.topology().rank();
    job.barrier_async().then([&](const absl::Status&) {
      for (int i = 0; i < kMany; ++i) {
        all.push_back(job.barrier_async());
        if (rank == 0) all.back().then([&](const absl::Status&) { ++done0; });
        if (rank == 1 && i == 0) all.back().then([&](const absl::Status&) {
          while (done0 < 3000) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        });
      }
      submitted.set(absl::OkStatus());
    });
    submitted.future().wait().IgnoreError();
    EXPECT_EQ(all.back().wait(), absl::OkStatus());
  });
}
TEST(Proof, ClosedLost) {
  constexpr int kMany = 3000;
  std::atomic<bool> stopping = false;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    const int rank = job.topology().rank();
    std::vector<Future<void>> all;
    Promise<void> submitted;
    job.barrier_async().then([&](const absl::Status&) {
      for (int i = 0; i < kMany; ++i) {
        all.push_back(job.barrier_async());
        if (rank == 1 && i == 0) all.back().then([&](const absl::Status&) {
          std::this_thread::sleep_for(std::chrono::milliseconds(500));
        });
      }
      submitted.set(absl::OkStatus());
      if (rank == 1) {
        while (!stopping) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    });
    submitted.future().wait().IgnoreError();
    stopping = stopping || rank == 1;
    EXPECT_EQ(job.stop(), absl::OkStatus());
    fprintf(stderr, "rank %d stopped\n", rank);
  });
}
TEST(Proof, ForkedChild) {
  ASSERT_EQ(init(Config()), absl::OkStatus());
  const pid_t child = fork();
  if (child == 0) { alarm(5); exit(3); }
  int st = 0;
  waitpid(child, &st, 0);
  EXPECT_TRUE(WIFEXITED(st)) << st;
  float v = 1;
  EXPECT_EQ(allreduce_(TensorView::of(&v, {})), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}
TEST(Proof, BreakWordLoser) {
  for (int round = 0; round < 3000; ++round) {
    auto word = std::make_unique<transport::BreakWord>();
    std::barrier go(3);
    std::vector<std::thread> ts;
    for (int i = 0; i < 3; ++i) ts.emplace_back([&, round] { go.arrive_and_wait(); word->raise(1, std::string(4000, 'x')); EXPECT_TRUE(word->raised()) << round; });
    for (auto& t : ts) t.join();
    if (HasFailure()) break;
  }
}
}  // namespace
}  // namespace hvd
