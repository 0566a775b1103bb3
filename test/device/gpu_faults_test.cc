// SPDX-License-Identifier: Apache-2.0
// Failures of GPUs and NCCL: every rank gets an error that names the failed
// rank, and the survivors go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/device/gpu_program.h"
#include "test/runtime/mortal.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kRanks = 3;

class GpuFaults : public ::testing::Test {
 protected:
  void SetUp() override { HVD_NEEDS_STAND_INS(); }
};

Status sum(Runtime& job, GpuProgram& mine, const TensorView& x) {
  return job
      .allreduce_async_(
          x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()})
      .wait();
}

// Sums until an error that matches `what`, then re-forms and goes on by NCCL.
void expect_failure(Runtime& job, GpuProgram& mine,
                    const ::testing::Matcher<std::string>& message) {
  const TensorView x = mine.put(std::vector<float>(100, 1));
  Status status;
  for (int step = 0; step < 20 && status.ok(); ++step) {
    status = sum(job, mine, x);
  }
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), message);
  testing::FakeNccl::fault("");
  const auto next = job.reform();
  ASSERT_EQ(next.status(), absl::OkStatus());
  const TensorView y = mine.put(std::vector<float>(100, 1));
  for (int step = 0; step < 8; ++step) {
    ASSERT_EQ(sum(**next, mine, y), absl::OkStatus());
  }
  EXPECT_GT(testing::FakeNccl::objects(), 0);
  EXPECT_EQ((*next)->stop(), absl::OkStatus());
}

void run_with_fault(const Config& config,
                    const std::function<void(Runtime&, GpuProgram&)>& body) {
  run_world({.size = kRanks, .config = config},
            [&](Runtime& job, transport::LoopbackWorld&) {
              GpuProgram program(job.topology().rank(), kRanks, Way::kNccl);
              body(job, program);
            });
  EXPECT_EQ(testing::FakeNccl::objects(), 0);
}

// During the schedule and during a cycle.
TEST_F(GpuFaults, AnErrorOfNcclNamesItsRank) {
  for (const int operation : {1, 7}) {
    const Config config = gpu_config(Way::kNccl);
    testing::FakeNccl::fault("async error", 1, operation);
    run_with_fault(config, [](Runtime& job, GpuProgram& mine) {
      expect_failure(job, mine,
                     AllOf(HasSubstr("rank 1 ("), HasSubstr("an allreduce"),
                           HasSubstr("unhandled system error")));
    });
  }
}

TEST_F(GpuFaults, AHangInNcclIsGivenUp) {
  const Config config = config_that_gives_up();
  testing::FakeNccl::fault("hang", 1, 6);
  run_with_fault(config, [](Runtime& job, GpuProgram& mine) {
    expect_failure(
        job, mine,
        AllOf(HasSubstr("rank "), HasSubstr("between ranks [0, 1, 2]"),
              HasSubstr("hangs")));
  });
}

// Blocks the rank's own stream until `is_over`.
void hang(GpuProgram& mine, std::atomic<bool>& is_over) {
  testing::FakeCuda::put(
      mine.stream(),
      [](void* over) {
        static_cast<std::atomic<bool>*>(over)->wait(false);
        return 0;
      },
      &is_over);
}
void end(std::atomic<bool>& is_over) {
  is_over = true;
  is_over.notify_all();
}

// The path of tensors and the layout of nodes for a job with a hung stream.
struct Hanging {
  Way way;
  int ranks_per_node;
};
constexpr Hanging kHangingWays[] = {
    {Way::kNccl, 0}, {Way::kIpc, 0}, {Way::kIpc, 2}, {Way::kStaged, 0}};

// A job makes two steps. The second fails with the name of rank 1, whose stream
// then hangs. Each step gets a tensor of `count` ones.
using Step = std::function<Status(Runtime& job, GpuProgram& mine,
                                  const TensorView& all, int step)>;
struct Steps {
  std::size_t count = 100;
  Step step;
};
void expect_rank_with_hung_stream_is_named(const Hanging& how, Config config,
                                           const Steps& steps) {
  std::atomic<bool> is_over{false};
  std::latch told(
      kRanks);  // Else the sum ends well for a rank that looks late.
  const auto body = [&](Runtime& job, transport::LoopbackWorld&) {
    SCOPED_TRACE(absl::StrCat("way ", static_cast<int>(how.way), ", ",
                              how.ranks_per_node, " ranks a node"));
    GpuProgram mine(job.topology().rank(), kRanks, how.way);
    const TensorView all = mine.put(std::vector<float>(steps.count, 1));
    Status status = steps.step(job, mine, all, 0);
    EXPECT_EQ(status, absl::OkStatus());
    EXPECT_EQ(mine.own_stream().synchronize(), absl::OkStatus());
    if (mine.rank() == 1) hang(mine, is_over);
    if (status.ok()) status = steps.step(job, mine, all, 1);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr("rank 1 ("), HasSubstr("earlier work in its stream")));
    told.arrive_and_wait();
    end(is_over);
  };
  run_world({.size = kRanks,
             .ranks_per_node = how.ranks_per_node,
             .config = std::move(config)},
            body);
}

// On each path: NCCL, windows on one node and on two, and staging through the
// host. The jobs run in parallel, because each waits for its timeout.
void expect_rank_with_hung_stream_is_named_on_all_ways(
    const Steps& steps, const std::function<void(Config&)>& configure = {},
    std::span<const Hanging> ways = kHangingWays) {
  std::vector<std::thread> jobs;
  for (const Hanging& how : ways) {
    Config config = config_that_gives_up(how.way);
    if (configure) configure(config);
    jobs.emplace_back(expect_rank_with_hung_stream_is_named, how, config,
                      steps);
  }
  for (std::thread& job : jobs) job.join();
}

TEST_F(GpuFaults, ARankWithAHungStreamIsNamed) {
  expect_rank_with_hung_stream_is_named_on_all_ways(
      {.step = [](Runtime& job, GpuProgram& mine, const TensorView& all, int) {
        return sum(job, mine, all);
      }});
}

std::vector<TensorView> split(const TensorView& all, std::int64_t count) {
  const std::int64_t each = all.num_elements() / count;
  std::vector<TensorView> parts;
  for (std::int64_t i = 0; i < count; ++i) {
    parts.emplace_back(static_cast<float*>(all.data()) + i * each, DType::kF32,
                       Shape({each}), all.device());
  }
  return parts;
}

// One call has more tensors than a stream accepts operations. The driver would
// block a thread that fills a stream which does not progress.
TEST_F(GpuFaults, ARankWithAHungStreamIsNamedByACallOfManyTensors) {
  expect_rank_with_hung_stream_is_named_on_all_ways(
      {.count = 4800,
       .step = [](Runtime& job, GpuProgram& mine, const TensorView& all, int) {
         return job
             .grouped_allreduce_async_(split(all, 1200),
                                       {.name = "x", .stream = mine.stream()})
             .wait();
       }});
}

// The same with many calls, all in flight.
TEST_F(GpuFaults, ARankWithAHungStreamIsNamedByManyCalls) {
  const Step step = [](Runtime& job, GpuProgram& mine, const TensorView& all,
                       int) {
    std::vector<Future<void>> sums;
    for (const TensorView& one : split(all, 400)) {
      sums.push_back(
          job.allreduce_async_(one, {.name = absl::StrCat("x", sums.size()),
                                     .op = ReduceOp::kSum,
                                     .stream = mine.stream()}));
    }
    Status status;
    for (const Future<void>& one : sums) {
      if (status.ok()) status = one.wait();
    }
    return status;
  };
  expect_rank_with_hung_stream_is_named_on_all_ways(
      {.count = 1600, .step = step},
      [](Config& config) { config.fusion_threshold = 0; });
}

// Rank 0 joins: it has no more tensors, and its GPU still works for the others.
Status join_second(Runtime& job, GpuProgram& mine, const TensorView& all,
                   int step) {
  const bool joins = step == 1 && mine.rank() == 0;
  return joins ? job.join_async().wait().status() : sum(job, mine, all);
}

TEST_F(GpuFaults, ARankWithAHungStreamIsNamedWhereAnotherHasJoined) {
  expect_rank_with_hung_stream_is_named_on_all_ways({.step = join_second});
}

// A tensor of several chunks, which the plane divides, not NCCL.
TEST_F(GpuFaults,
       ARankWithAHungStreamIsNamedInALargeTensorWhereAnotherHasJoined) {
  expect_rank_with_hung_stream_is_named_on_all_ways(
      {.count = std::size_t{5} << 20, .step = join_second}, {},
      std::span(kHangingWays).subspan(1));
}

TEST_F(GpuFaults, AFailedCommunicatorNamesItsRank) {
  const Config config = gpu_config(Way::kNccl);
  testing::FakeNccl::fault("init error", 1);
  run_with_fault(config, [](Runtime& job, GpuProgram& mine) {
    expect_failure(job, mine,
                   AllOf(HasSubstr("rank 1 ("),
                         HasSubstr("NCCL does not connect ranks [0, 1, 2]")));
  });
}

TEST_F(GpuFaults, RanksThatNcclDoesNotConnectGiveUp) {
  Config config = gpu_config(Way::kNccl);
  config.start_timeout = std::chrono::seconds(3);
  testing::FakeNccl::fault("init hang", 1);
  run_with_fault(config, [](Runtime& job, GpuProgram& mine) {
    expect_failure(job, mine, HasSubstr("it has not done so for 3 s"));
  });
}

void expect_survivors_go_on(Runtime& job, GpuProgram& mine, int survivors) {
  const auto next = job.reform();
  ASSERT_EQ(next.status(), absl::OkStatus());
  const TensorView y = mine.put(std::vector<float>(100, 1));
  EXPECT_EQ(sum(**next, mine, y), absl::OkStatus());
  EXPECT_THAT(mine.get(y), Each(static_cast<float>(survivors)));
  EXPECT_EQ((*next)->stop(), absl::OkStatus());
}

// The other ranks have already queued their parts in their streams.
TEST_F(GpuFaults, ARankThatDiesAmidACollectiveIsNamed) {
  constexpr int kVictim = 1;
  const Config config = gpu_config(Way::kNccl);
  testing::FakeNccl::fault("hang", kVictim, 1);
  transport::LoopbackWorld world(kRanks);
  std::barrier all_have_begun(kRanks);
  std::latch survivors_done(kRanks - 1);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      auto wires = std::make_unique<Mortal>(
          world, rank, Mortal::Options{.stands_still_until = &survivors_done});
      Mortal& mortal = *wires;
      auto job = Runtime::start(config, std::move(wires));
      ASSERT_EQ(job.status(), absl::OkStatus());
      GpuProgram mine(rank, kRanks, Way::kNccl);
      const TensorView x = mine.put(std::vector<float>(100, 1));
      ASSERT_EQ(sum(**job, mine, x), absl::OkStatus());
      auto begun = (*job)->allreduce_async_(
          x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
      ASSERT_EQ(begun.wait(mine.stream()), absl::OkStatus());
      all_have_begun.arrive_and_wait();
      if (rank == kVictim) {
        mortal.die();
        survivors_done.wait();
        return;
      }
      const Status status = begun.wait();
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("rank 1 ("), HasSubstr("was killed")));
      testing::FakeNccl::fault("");
      expect_survivors_go_on(**job, mine, kRanks - 1);
      survivors_done.count_down();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(testing::FakeNccl::objects(), 0);
}

// Other ranks' GPUs wait for the dead rank's packed data or for its node. Work
// queued in their streams cannot be taken back.
void expect_death_amid_windows_is_named(int ranks_per_node) {
  constexpr int kAll = 4;
  constexpr int kVictim = 1;
  Config config = gpu_config(Way::kIpc);
  transport::LoopbackWorld world(kAll, {.ranks_per_node = ranks_per_node});
  std::atomic<bool> is_over{false};
  std::barrier all_have_begun(kAll);
  std::latch survivors_done(kAll - 1);
  const auto live = [&](int rank) {
    auto wires = std::make_unique<Mortal>(
        world, rank, Mortal::Options{.stands_still_until = &survivors_done});
    Mortal& mortal = *wires;
    auto job = Runtime::start(config, std::move(wires));
    ASSERT_EQ(job.status(), absl::OkStatus());
    GpuProgram mine(rank, kAll, Way::kIpc);
    const TensorView x = mine.put(std::vector<float>(100, 1));
    ASSERT_EQ(sum(**job, mine, x), absl::OkStatus());
    if (rank == kVictim) hang(mine, is_over);
    auto begun = (*job)->allreduce_async_(
        x, {.name = "x", .op = ReduceOp::kSum, .stream = mine.stream()});
    all_have_begun.arrive_and_wait();
    if (rank == kVictim) {
      mortal.die();
      survivors_done.wait();
      end(is_over);
      return;
    }
    EXPECT_THAT(std::string(begun.wait().message()),
                AllOf(HasSubstr("rank 1 ("), HasSubstr("was killed")));
    expect_survivors_go_on(**job, mine, kAll - 1);
    survivors_done.count_down();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kAll; ++rank) threads.emplace_back(live, rank);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuFaults, ARankThatDiesAmidAReductionInWindowsIsNamed) {
  expect_death_amid_windows_is_named(/*ranks_per_node=*/0);
  expect_death_amid_windows_is_named(/*ranks_per_node=*/2);
}

// A future's callback runs on the thread that watches the GPU.
TEST_F(GpuFaults, WaitingInACallbackBreaksTheJobAndNotTheProcess) {
  const Config config = gpu_config(Way::kNccl);
  run_with_fault(config, [](Runtime& job, GpuProgram& mine) {
    const TensorView x = mine.put(std::vector<float>(100, 1));
    std::latch called(1);
    std::latch listened(1);
    Status inner;
    testing::FakeCuda::put(
        mine.stream(),
        [](void* latch) {
          static_cast<std::latch*>(latch)->wait();
          return 0;
        },
        &listened);
    {
      const auto first =
          job.allreduce_async_(x, {.name = "first", .stream = mine.stream()});
      first.then([&](const Status&) {
        inner =
            job.allreduce_async_(x, {.name = "second", .stream = mine.stream()})
                .wait();
        called.count_down();
      });
    }
    listened.count_down();
    called.wait();
    EXPECT_FALSE(inner.ok());
    EXPECT_TRUE(absl::IsAborted(job.status())) << job.status();
  });
}

}  // namespace
}  // namespace hvd
