#include "horovodpp/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <string>
#include <tuple>

#include "test/runtime/runtime_suite.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;
using transport::LoopbackWorld;

// One node of 1 to 4 ranks; nodes of one rank; uneven nodes.
constexpr std::pair<int, int> kLayouts[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0},
                                            {2, 1}, {3, 2}, {4, 2}};

class RuntimeSuite : public ::testing::TestWithParam<
                         std::tuple<std::pair<int, int>, suite::Case>> {};

std::string suite_name(
    const ::testing::TestParamInfo<RuntimeSuite::ParamType>& chosen) {
  const auto& [layout, what] = chosen.param;
  return std::string(what.name) + "On" + std::to_string(layout.first) +
         (layout.second == 0 ? "" : "By" + std::to_string(layout.second));
}

INSTANTIATE_TEST_SUITE_P(Threads, RuntimeSuite,
                         ::testing::Combine(::testing::ValuesIn(kLayouts),
                                            ::testing::ValuesIn(suite::kCases)),
                         suite_name);

TEST_P(RuntimeSuite, Holds) {
  const auto [layout, what] = GetParam();
  run_world({.size = layout.first, .ranks_per_node = layout.second},
            [run = what.run](Runtime& job, LoopbackWorld&) {
              run(job);
              EXPECT_EQ(job.stop(), absl::OkStatus());
            });
}

class RuntimeLayouts : public ::testing::TestWithParam<std::pair<int, int>> {};

INSTANTIATE_TEST_SUITE_P(Threads, RuntimeLayouts,
                         ::testing::Values(std::pair(2, 0), std::pair(4, 0),
                                           std::pair(4, 2)),
                         [](const auto& chosen) {
                           return "On" + std::to_string(chosen.param.first) +
                                  "By" + std::to_string(chosen.param.second);
                         });

TEST_P(RuntimeLayouts, AShutdownFailsThePendingWorkOfOthersAndNamesWhoLeft) {
  run_world(
      {.size = GetParam().first, .ranks_per_node = GetParam().second},
      [](Runtime& job, LoopbackWorld&) {
        if (job.topology().rank() != 1) {
          float value = 1;
          const absl::Status status =
              job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                  .wait();
          EXPECT_TRUE(absl::IsCancelled(status)) << status;
          EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 shut down"));
        }
        EXPECT_EQ(job.stop(), absl::OkStatus());
        EXPECT_EQ(job.stop(), absl::OkStatus());
        float value = 1;
        EXPECT_TRUE(absl::IsFailedPrecondition(
            job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                .wait()));
      });
}

TEST_P(RuntimeLayouts, ADeadRankIsNamedInPendingAndLaterCalls) {
  const auto [size, ranks_per_node] = GetParam();
  for (int victim : {0, size - 1}) {
    std::latch all_past_the_barrier(size);
    std::latch survivors_done(size);
    run_world({.size = size, .ranks_per_node = ranks_per_node},
              [&, victim](Runtime& job, LoopbackWorld& world) {
                EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
                all_past_the_barrier.arrive_and_wait();
                const std::string who =
                    "rank " + std::to_string(victim) + " (host ";
                if (job.topology().rank() == victim) {
                  world.kill(victim);
                  // The dead do not shut down.
                  survivors_done.arrive_and_wait();
                  return;
                }
                float value = 1;
                const TensorView view = TensorView::of(&value, {});
                for (const char* name : {"pending", "later"}) {
                  const absl::Status status =
                      job.allreduce_async_(view, {.name = name}).wait();
                  EXPECT_TRUE(absl::IsAborted(status)) << status;
                  EXPECT_THAT(suite::text_of(status), HasSubstr(who));
                  EXPECT_THAT(suite::text_of(status), HasSubstr("SIGKILL"));
                }
                EXPECT_TRUE(absl::IsAborted(job.status()));
                EXPECT_TRUE(absl::IsAborted(job.stop()));
                survivors_done.count_down();
              });
  }
}

TEST_P(RuntimeLayouts, AnAbortReachesEveryRankInItsOwnWords) {
  run_world(
      {.size = GetParam().first, .ranks_per_node = GetParam().second},
      [](Runtime& job, LoopbackWorld&) {
        if (job.topology().rank() == 1) job.abort("ran out of patience");
        float value = 1;
        const absl::Status status =
            job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                .wait();
        EXPECT_TRUE(absl::IsAborted(status)) << status;
        EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
        EXPECT_THAT(suite::text_of(status), HasSubstr("ran out of patience"));
      });
}

TEST(Runtime, RanksThatAreConfiguredDifferentlyDoNotStart) {
  LoopbackWorld world(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      if (rank == 1) config.cache_capacity = 7;
      const auto runtime = Runtime::start(config, world.communicator(rank));
      EXPECT_TRUE(absl::IsInvalidArgument(runtime.status()));
      EXPECT_THAT(
          suite::text_of(runtime.status()),
          HasSubstr("rank 0 has HOROVOD_CACHE_CAPACITY=1024, rank 1 has "
                    "HOROVOD_CACHE_CAPACITY=7"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Runtime, ARankThatDoesNotComeIsADeadlineAndNotAHang) {
  LoopbackWorld world(2);
  Config config;
  config.start_timeout = std::chrono::milliseconds(20);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      Runtime::start(config, world.communicator(0)).status()));
}

TEST(Runtime, ATinyCacheAndNoFusionChangeNoResult) {
  WorldOptions options{.size = 3};
  options.config.cache_capacity = 5;
  options.config.fusion_threshold = 0;
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    suite::completes_a_thousand_tensors_in_any_order(job);
    suite::mismatches_fail_everywhere_and_the_job_goes_on(job);
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, WhatIsHeldBackForCompanyStillRuns) {
  WorldOptions options{.size = 2};
  options.config.cycle_time = std::chrono::milliseconds(1);
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    suite::reduces_every_op(job);
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, ACompletionMaySubmitTheNextTensor) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    float first = 1;
    float second = 2;
    Promise<void> all_done;
    job.allreduce_async_(TensorView::of(&first, {}), {.name = "first"})
        .then([&, all_done](const absl::Status&) {
          job.allreduce_async_(TensorView::of(&second, {}),
                               {.name = "second", .op = ReduceOp::kSum})
              .then([all_done](const absl::Status& status) {
                all_done.set(status);
              });
        });
    EXPECT_EQ(all_done.future().wait(), absl::OkStatus());
    EXPECT_EQ(second, 4.0f);
  });
}

TEST(Runtime, AnOperationThatCannotBeLeavesTheJobSound) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const TensorView deep =
        TensorView::of(&value, Shape(std::vector<std::int64_t>(65, 1)));
    const TensorView endless =
        TensorView::of(&value, {std::int64_t{1} << 62, 0});
    for (const absl::Status& status :
         {job.allreduce_async_(deep, {.name = "deep"}).wait(),
          job.allgather_async(endless, {.name = "endless"}).wait().status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, ACallbackCannotStopTheThreadItRunsOn) {
  // A callback runs on the job's thread if it was there first.
  std::latch attached(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    if (job.topology().rank() == 1) {
      attached.wait();
      EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    } else {
      Promise<void> stopped;
      job.barrier_async().then(
          [&job, stopped](const absl::Status&) { stopped.set(job.stop()); });
      attached.count_down();
      EXPECT_TRUE(absl::IsFailedPrecondition(stopped.future().wait()));
    }
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, ACallbackThatThrowsBreaksTheJobAndNotTheProcess) {
  std::latch attached(1);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    if (job.topology().rank() == 1) {
      job.barrier_async().then([](const absl::Status&) {
        throw std::runtime_error("the disk is full");
      });
      attached.count_down();
    } else {
      attached.wait();
      job.barrier_async().wait().IgnoreError();
    }
    float value = 1;
    // Of a name that the other rank does not know.
    const std::string name = std::to_string(job.topology().rank());
    const absl::Status status =
        job.allreduce_async_(TensorView::of(&value, {}), {.name = name}).wait();
    EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
    EXPECT_THAT(suite::text_of(status), HasSubstr("the disk is full"));
  });
}

TEST(Runtime, ARankThatCannotRunItsThreadFailsTheOthers) {
  LoopbackWorld world(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Config config;
      if (rank == 1) config.thread_affinity = {100'000, 100'000};
      const auto runtime = Runtime::start(config, world.communicator(rank));
      if (rank == 1) {
        EXPECT_TRUE(absl::IsInvalidArgument(runtime.status()));
      } else {
        ASSERT_EQ(runtime.status(), absl::OkStatus());
        const absl::Status status = (*runtime)->barrier_async().wait();
        EXPECT_TRUE(absl::IsAborted(status)) << status;
        EXPECT_THAT(suite::text_of(status),
                    HasSubstr("HOROVOD_THREAD_AFFINITY"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Runtime, LogsItsComingAtTheLevelAskedFor) {
  WorldOptions options{.size = 1};
  for (const bool wanted : {true, false}) {
    if (wanted) options.config.log.level = telemetry::LogLevel::kInfo;
    if (!wanted) options.config.log.level = telemetry::LogLevel::kWarning;
    ::testing::internal::CaptureStderr();
    run_world(options, [](Runtime& job, LoopbackWorld&) {
      EXPECT_EQ(job.stop(), absl::OkStatus());
    });
    const std::string logged = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(logged.find("entered a job of 1") != std::string::npos, wanted);
  }
}

TEST(Runtime, ManyThreadsMaySubmitAtOnce) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&job, t] {
        for (int i = 0; i < 50; ++i) {
          float value = 1;
          const std::string name =
              std::to_string(t) + "/" + std::to_string(i % 10);
          EXPECT_EQ(job.allreduce_async_(TensorView::of(&value, {}),
                                         {.name = name, .op = ReduceOp::kSum})
                        .wait(),
                    absl::OkStatus());
          EXPECT_EQ(value, 2.0f);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace hvd
