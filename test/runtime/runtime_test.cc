// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <latch>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "horovodpp/collective/board/board.h"
#include "horovodpp/core/thread/promise.h"
#include "horovodpp/core/version.h"
#include "horovodpp/runtime/execution/crossover_cache.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/runtime/runtime_suite.h"
#include "test/runtime/world.h"

namespace hvd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using transport::LoopbackWorld;

// One node of 1 to 4 ranks; nodes of one rank; uneven nodes.
constexpr std::pair<int, int> kLayouts[] = {{1, 0}, {2, 0}, {3, 0}, {4, 0},
                                            {2, 1}, {3, 2}, {4, 2}, {4, 3}};

class RuntimeSuite : public ::testing::TestWithParam<
                         std::tuple<std::pair<int, int>, suite::Case>> {};

std::string suite_name(
    const ::testing::TestParamInfo<RuntimeSuite::ParamType>& chosen) {
  const auto& [layout, what] = chosen.param;
  return std::string(what.name) + "On" + std::to_string(layout.first) +
         (layout.second == 0 ? "" : "By" + std::to_string(layout.second));
}

INSTANTIATE_TEST_SUITE_P(
    Threads, RuntimeSuite,
    ::testing::Combine(::testing::ValuesIn(kLayouts),
                       ::testing::ValuesIn(suite::all_cases())),
    suite_name);

TEST_P(RuntimeSuite, Holds) {
  const auto [layout, what] = GetParam();
  run_world({.size = layout.first, .ranks_per_node = layout.second},
            [run = what.run](Runtime& job, LoopbackWorld&) {
              run(job);
              // Ranks in few process sets finish early.
              EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
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

TEST_P(RuntimeLayouts, AShutdownFailsThePendingWorkOfOthersAndNamesTheRank) {
  run_world(
      {.size = GetParam().first, .ranks_per_node = GetParam().second},
      [](Runtime& job, LoopbackWorld&) {
        if (job.topology().rank() != 1) {
          float value = 1;
          const absl::Status status =
              job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                  .wait();
          EXPECT_TRUE(absl::IsCancelled(status)) << status;
          EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
          EXPECT_THAT(suite::text_of(status), HasSubstr(") shut down"));
        }
        EXPECT_EQ(job.stop(), absl::OkStatus());
        EXPECT_EQ(job.stop(), absl::OkStatus());
        float value = 1;
        EXPECT_TRUE(absl::IsFailedPrecondition(
            job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                .wait()));
      });
}

// Rank 1 leaves while the others need it, which ends rank 0, too. The remaining
// ranks hear of both at once and must blame rank 1.
void expect_the_leaver_to_be_blamed(
    int size, const std::function<void(Runtime&, LoopbackWorld&)>& end) {
  std::latch all_are_done(size);
  run_world({.size = size}, [&](Runtime& job, LoopbackWorld& world) {
    const int rank = job.topology().rank();
    float value = 1;
    const TensorView view = TensorView::of(&value, {});
    if (rank == 0) {
      const absl::Status status =
          job.allreduce_async_(view, {.name = "x"}).wait();
      EXPECT_TRUE(absl::IsCancelled(status)) << status;
      end(job, world);
    } else if (rank > 1) {
      // Does not submit until the job has ended.
      while (job.status().ok()) std::this_thread::yield();
    }
    if (rank > 0) {
      const absl::Status status =
          rank == 1 ? job.stop()
                    : job.allreduce_async_(view, {.name = "y"}).wait();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
      EXPECT_THAT(suite::text_of(status), Not(HasSubstr("rank 0 (host ")));
    }
    all_are_done.arrive_and_wait();
  });
}

TEST(Runtime, ADeathAfterALeaveIsNotBlamed) {
  expect_the_leaver_to_be_blamed(
      4, [](Runtime&, LoopbackWorld& world) { world.kill(0); });
}

TEST(Runtime, ABreakAfterALeaveIsNotBlamed) {
  expect_the_leaver_to_be_blamed(
      3, [](Runtime& job, LoopbackWorld&) { job.abort("exited with code 5"); });
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
                  // Dead ranks do not shut down.
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
  run_world({.size = GetParam().first, .ranks_per_node = GetParam().second},
            [](Runtime& job, LoopbackWorld&) {
              if (job.topology().rank() == 1) job.abort("ran out of time");
              float value = 1;
              const absl::Status status =
                  job.allreduce_async_(TensorView::of(&value, {}),
                                       {.name = "x"})
                      .wait();
              EXPECT_TRUE(absl::IsAborted(status)) << status;
              EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
              EXPECT_THAT(suite::text_of(status), HasSubstr("ran out of time"));
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
          HasSubstr("rank 0 has HOROVOD_CACHE_CAPACITY=131072, rank 1 has "
                    "HOROVOD_CACHE_CAPACITY=7"));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The outcomes of two ranks that start with these configs.
std::vector<absl::Status> start_two(const Config& first, const Config& second) {
  LoopbackWorld world(2);
  std::vector<absl::Status> outcomes(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<std::size_t>(rank)] =
          Runtime::start(rank == 0 ? first : second, world.communicator(rank))
              .status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(Runtime, EverySettingThatMattersIsComparedAtTheStart) {
  const std::map<std::string, std::function<void(Config&)>> changes = {
      {"HOROVOD_FUSION_THRESHOLD=5", [](Config& c) { c.fusion_threshold = 5; }},
      {"HOROVOD_CYCLE_TIME=3",
       [](Config& c) { c.cycle_time = std::chrono::milliseconds(3); }},
      {"HOROVOD_DISABLE_GROUP_FUSION=1",
       [](Config& c) { c.fuse_groups = false; }},
      {"HOROVODPP_STEPS_BEFORE_SCHEDULE=0",
       [](Config& c) { c.steps_before_schedule = 0; }},
      {"HOROVOD_STALL_CHECK_TIME_SECONDS=0",
       [](Config& c) { c.stall_warning_time = std::chrono::seconds(0); }},
      {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=1.5",
       [](Config& c) {
         c.stall_shutdown_time = std::chrono::milliseconds(1500);
       }},
      {"HOROVODPP_HEARTBEAT_SECONDS=9",
       [](Config& c) { c.heartbeat_deadline = std::chrono::seconds(9); }},
      {"process_sets=[[0], [1]]",
       [](Config& c) {
         c.process_sets = {{0}, {1}};
       }},
      {"HOROVOD_HIERARCHICAL_ALLREDUCE=0",
       [](Config& c) { c.hierarchical_allreduce = false; }},
      {"HOROVOD_HIERARCHICAL_ALLGATHER=0",
       [](Config& c) { c.hierarchical_allgather = false; }},
      {"HOROVODPP_RANKS_PER_NODE=1", [](Config& c) { c.ranks_per_node = 1; }},
      {"HOROVODPP_MEASURE_CROSSOVERS=1",
       [](Config& c) { c.measure_crossovers = true; }},
      {"HOROVODPP_ARENA_READ_ONLY=1",
       [](Config& c) { c.arena_read_only = true; }},
      {"HOROVODPP_CUDA_IPC=0", [](Config& c) { c.cuda_ipc = false; }},
      {"HOROVODPP_STRICT_JOIN=1", [](Config& c) { c.strict_join = true; }}};
  for (const auto& [text, change] : changes) {
    Config other;
    change(other);
    for (const auto& status : start_two(Config(), other)) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 has " + text));
    }
  }
}

TEST(Runtime, RefusesToTrainAloneBesideOtherTasksOfAScheduler) {
  Config config;
  config.scheduled = "srun started this process as task 1 of 2";
  const absl::Status status = Runtime::start(config).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(
      suite::text_of(status),
      testing::AllOf(HasSubstr(config.scheduled),
                     HasSubstr("none of PMI_SIZE, PMIX_RANK"),
                     HasSubstr("srun --mpi=pmix"), HasSubstr("by horovodrun"),
                     HasSubstr("HOROVOD_SIZE=1")));
}

// The log of two ranks that make this many equal steps.
std::string log_of_steps(telemetry::LogLevel level, int steps) {
  WorldOptions options{.size = 2};
  options.config.log.level = level;
  ::testing::internal::CaptureStderr();
  run_world(options, [&](Runtime& job, transport::LoopbackWorld&) {
    for (int step = 0; step < steps; ++step) {
      float value = 1;
      EXPECT_EQ(job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
                    .wait(),
                absl::OkStatus());
    }
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
  return ::testing::internal::GetCapturedStderr();
}

TEST(Runtime, ADebugLogDescribesTheJob) {
  const std::string log = log_of_steps(telemetry::LogLevel::kDebug, 8);
  for (const std::string& line :
       {absl::StrCat("horovodpp ", version(), ", rank 1 "),
        std::string("2 ranks on 1 nodes found each other in one process"),
        std::string("settings: HOROVODPP_TRANSPORT=tcp "
                    "HOROVOD_FUSION_THRESHOLD=134217728"),
        std::string("ranks 0,1 use shm, shm-adasum, "),
        std::string("they share the memory of one node"),
        std::string("arena: shared memory for tensors, without a limit"),
        std::string("fusion: batches of up to 134217728 bytes"),
        std::string("cycle 1 is in force"), std::string("leaves the job"),
        std::string("left the job after 8 batches")}) {
    EXPECT_THAT(log, HasSubstr(line));
  }
  EXPECT_THAT(log, testing::Not(HasSubstr("submitted")));
}

TEST(Runtime, ATraceListsSubmissionsAndBatches) {
  const std::string log = log_of_steps(telemetry::LogLevel::kTrace, 1);
  EXPECT_THAT(log, HasSubstr("submitted allreduce of 'x'"));
  EXPECT_THAT(log, HasSubstr("batch 1, allreduce of 'x', 4 bytes, by shm"));
  EXPECT_THAT(log, HasSubstr("left the job after 1 batches"));
}

TEST(Runtime, InStrictModeOnlyAllreducesRunAfterAJoin) {
  WorldOptions options{.size = 2};
  options.config.strict_join = true;
  run_world(options, [](Runtime& job, transport::LoopbackWorld&) {
    float value = 1;
    const TensorView row = TensorView::of(&value, {1});
    const auto gather = [&] {
      return job.allgather_async(row, {.name = "rows"}).wait().status();
    };
    EXPECT_EQ(gather(), absl::OkStatus());
    if (job.topology().rank() == 1) {
      // Rank 0 has joined or is about to join.
      const absl::Status refused = gather();
      EXPECT_TRUE(suite::is_refused(refused)) << refused;
      EXPECT_THAT(suite::text_of(refused), HasSubstr("HOROVODPP_STRICT_JOIN"));
      EXPECT_EQ(job.allreduce_async_(row, {.name = "sum"}).wait(),
                absl::OkStatus());
    }
    EXPECT_EQ(job.join_async().wait().status(), absl::OkStatus());
    EXPECT_EQ(gather(), absl::OkStatus());
  });
}

TEST(Runtime, WarnsOnceOfUnsupportedSettings) {
  WorldOptions options{.size = 3};
  options.config.unsupported = {"HOROVOD_AUTOTUNE", "HOROVOD_ELASTIC"};
  ::testing::internal::CaptureStderr();
  run_world(options, [](Runtime&, transport::LoopbackWorld&) {});
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log,
              HasSubstr("HOROVOD_AUTOTUNE, HOROVOD_ELASTIC have no effect"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

TEST(Runtime, AStalledJobIsGivenUpBeforeOrWithoutWarnings) {
  for (const auto warning : {std::chrono::hours(1), std::chrono::hours(0)}) {
    WorldOptions options{.size = 2};
    options.config.stall_warning_time = warning;
    options.config.stall_shutdown_time = std::chrono::milliseconds(50);
    run_world(options, [](Runtime& job, transport::LoopbackWorld&) {
      float value = 1;
      while (job.topology().rank() == 1 && job.status().ok()) {
        std::this_thread::yield();
      }
      const absl::Status status =
          job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"})
              .wait();
      EXPECT_TRUE(absl::IsAborted(status)) << status;
      EXPECT_THAT(suite::text_of(status), HasSubstr("has stalled"));
    });
  }
}

// Nodes of two, two and one rank. On a busy machine the measurement may find
// nothing.
TEST(Runtime, MeasuredCrossoversKeepResultsAndAreCached) {
  const std::string directory =
      testing::TempDir() + "/measured." + std::to_string(::getpid());
  Config config;
  config.measure_crossovers = true;
  config.cache_dir = directory;
  const auto sum_over_all = [&] {
    run_world({.size = 5, .ranks_per_node = 2, .config = config},
              [](Runtime& job, transport::LoopbackWorld&) {
                std::vector<float> values(30'000, 1.0f);
                ASSERT_EQ(job.allreduce_async_(
                                 TensorView::of(values.data(), {30'000}),
                                 {.op = ReduceOp::kSum})
                              .wait(),
                          absl::OkStatus());
                EXPECT_EQ(values.front(), 5.0f);
                EXPECT_EQ(values.back(), 5.0f);
              });
  };
  sum_over_all();
  const runtime::CrossoverCache cache(
      directory,
      {.ranks = 2, .slot_bytes = collective::ShmOptions().chunk_bytes});
  const collective::ShmCrossovers known = {.small_bytes = 1024,
                                           .step_bytes = 128 << 10};
  ASSERT_EQ(cache.store(known), absl::OkStatus());
  sum_over_all();
  EXPECT_EQ(cache.load(), known);
  std::filesystem::remove_all(directory);
}

TEST(Runtime, InvalidProcessSetsOfTheStartFailItOnEveryRank) {
  Config odd;
  odd.process_sets = {{0}, {0, 5}};
  Config twice;
  twice.process_sets = {{1}, {0}, {1}};
  for (const auto& status : start_two(odd, odd)) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(suite::text_of(status), HasSubstr("entry 1 of process_sets"));
    EXPECT_THAT(suite::text_of(status), HasSubstr("names rank 5"));
  }
  for (const auto& status : start_two(twice, twice)) {
    EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
    EXPECT_THAT(suite::text_of(status), HasSubstr("entry 2 of process_sets"));
  }
}

TEST(Runtime, ProcessSetsOfTheStartAreNumberedInTheirOrder) {
  WorldOptions options{.size = 3};
  options.config.process_sets = {{2, 0}, {1}};
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    const std::vector<ProcessSet> sets = job.process_sets();
    ASSERT_EQ(sets.size(), 3u);
    EXPECT_EQ(sets[1].to_string(), "process set 1 [0, 2]");
    EXPECT_EQ(sets[2].to_string(), "process set 2 [1]");
    for (const ProcessSet& set : sets) {
      if (!suite::is_in(job, set)) continue;
      EXPECT_EQ(suite::count_members(job, set),
                static_cast<float>(set.ranks().size()));
    }
    EXPECT_EQ(suite::add_set(job, {1, 2}).id(), 3u);
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ(job.remove_process_set_async(sets[1]).wait(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
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
    suite::groups_and_tensors_complete_in_any_order(job);
    suite::the_request_of_a_name_may_change(job);
    suite::joined_ranks_take_part_in_fused_batches_and_groups(job);
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, NoCacheAtAllChangesNoResult) {
  WorldOptions options{.size = 3};
  options.config.cache_capacity = 0;
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    suite::groups_and_tensors_complete_in_any_order(job);
    suite::a_steady_program_may_change_at_any_step(job);
    suite::joined_ranks_take_part_in_fused_batches_and_groups(job);
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, GroupsThatAreNotFusedGiveTheSameResults) {
  WorldOptions options{.size = 3};
  options.config.fuse_groups = false;
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    suite::reduces_groups_of_mixed_dtypes(job);
    suite::groups_and_tensors_complete_in_any_order(job);
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

// 0: never; 1: as soon as a step is repeated.
TEST(Runtime, WhenTheOrderIsFixedChangesNoResult) {
  for (const int steps : {0, 1}) {
    WorldOptions options{.size = 3};
    options.config.steps_before_schedule = steps;
    run_world(options, [](Runtime& job, LoopbackWorld&) {
      suite::a_steady_program_may_change_at_any_step(job);
      suite::reduces_groups_of_mixed_dtypes(job);
      suite::the_request_of_a_name_may_change(job);
      suite::gathers_rows_that_change_from_call_to_call(job);
      suite::joined_ranks_change_no_reduction(job);
      EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
      EXPECT_EQ(job.stop(), absl::OkStatus());
    });
  }
}

TEST(Runtime, AFutureMayBeWaitedForAfterItsRuntimeIsGone) {
  std::vector<Future<void>> left(2);
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    if (job.topology().rank() == 1) return;
    static float value = 1;
    left[0] = job.allreduce_async_(TensorView::of(&value, {}), {.name = "x"});
  });
  EXPECT_TRUE(absl::IsCancelled(left[0].wait()));
}

// Fails every member's future, and queues nothing.
TEST(Runtime, AGroupAfterTheShutdownIsRefused) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    EXPECT_EQ(job.stop(), absl::OkStatus());
    float value = 1;
    const TensorView view = TensorView::of(&value, {1});
    for (const auto& status :
         {job.grouped_allreduce_async_({view, view}).wait(),
          job.grouped_allgather_async({view}).wait().status(),
          job.join_async().wait().status(), job.barrier_async().wait(),
          job.add_process_set_async({0}).wait().status()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    }
  });
}

TEST(Runtime, TensorsHeldBackForFusionStillRun) {
  WorldOptions options{.size = 2};
  options.config.cycle_time = std::chrono::milliseconds(1);
  run_world(options, [](Runtime& job, LoopbackWorld&) {
    suite::reduces_every_dtype_by_every_op(job);
    EXPECT_EQ(job.barrier_async().wait(), absl::OkStatus());
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

TEST(Runtime, AnInvalidOperationLeavesTheJobSound) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    float value = 1;
    const TensorView deep =
        TensorView::of(&value, Shape(std::vector<std::int64_t>(65, 1)));
    const TensorView endless =
        TensorView::of(&value, {std::int64_t{1} << 62, 0});
    std::vector<std::int64_t> splits = {0, 0};
    splits[0] = std::int64_t{1} << 62;
    for (const auto& status :
         {job.allreduce_async_(deep, {.name = "deep"}).wait(),
          job.allgather_async(endless, {.name = "endless"}).wait().status(),
          job.alltoall_async(endless, {.name = "all to 0", .splits = splits})
              .wait()
              .status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    }
    EXPECT_EQ(job.stop(), absl::OkStatus());
  });
}

TEST(Runtime, ACallbackCannotStopTheThreadItRunsOn) {
  // A callback that was attached before completion runs on the job's thread.
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
    // A name that the other rank does not know.
    const std::string name = std::to_string(job.topology().rank());
    const absl::Status status =
        job.allreduce_async_(TensorView::of(&value, {}), {.name = name}).wait();
    EXPECT_THAT(suite::text_of(status), HasSubstr("rank 1 (host "));
    EXPECT_THAT(suite::text_of(status), HasSubstr("the disk is full"));
  });
}

// Rank 1 submits "y" only after rank 0 has "x". Rank 0's wait for "x" must
// therefore not enter the collective of "y", for which another future of rank 0
// is pending.
TEST(Runtime, AWaitEntersOnlyItsOwnBatches) {
  std::atomic<int> told = -1;
  run_world({.size = 2}, [&](Runtime& job, LoopbackWorld&) {
    for (int step = 0; step < 40; ++step) {
      float x = 1;
      float y = 1;
      const auto reduce = [&](float& value, const std::string& name) {
        return job.allreduce_async_(TensorView::of(&value, {}), {.name = name});
      };
      if (job.topology().rank() == 0) {
        const Future<void> later = reduce(y, "y");
        EXPECT_EQ(reduce(x, "x").wait(), absl::OkStatus());
        told.store(step);
        EXPECT_EQ(later.wait(), absl::OkStatus());
      } else {
        EXPECT_EQ(reduce(x, "x").wait(), absl::OkStatus());
        while (told.load() < step) std::this_thread::yield();
        EXPECT_EQ(reduce(y, "y").wait(), absl::OkStatus());
      }
    }
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

TEST(Runtime, LogsItsStartAtTheConfiguredLevel) {
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

TEST(Runtime, MayEndWhileThreadsWaitForItsFutures) {
  run_world({.size = 2}, [](Runtime& first, LoopbackWorld&) {
    // The other rank never submits these names, so they can only be cancelled.
    float values[3] = {};
    std::vector<std::thread> waiters;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto done = first.allreduce_async_(
          TensorView::of(&values[i], {}),
          {.name = std::to_string(first.topology().rank()) + "/" +
                   std::to_string(i)});
      waiters.emplace_back(
          [done] { EXPECT_TRUE(absl::IsCancelled(done.wait())); });
    }
    EXPECT_EQ(first.stop(), absl::OkStatus());
    for (std::thread& waiter : waiters) waiter.join();
  });
}

// A waiting thread also drives the job for other threads, and hands over once
// its own result is there.
TEST(Runtime, ManyThreadsMayWaitAtOnce) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&job, t] {
        const ThreadRuntime scope(job);
        for (int i = 0; i < 200; ++i) {
          float value = 1;
          const std::string name = std::to_string(t);
          EXPECT_EQ(allreduce_(TensorView::of(&value, {}),
                               {.name = name, .op = ReduceOp::kSum}),
                    absl::OkStatus());
          EXPECT_EQ(value, 2.0f);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

// Work submitted while another thread drives is not forgotten.
TEST(Runtime, WorkInFlightGoesOnAfterAWaitEnds) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    const ThreadRuntime scope(job);
    std::vector<float> values(50, 1);
    for (int round = 0; round < 20; ++round) {
      std::vector<Future<void>> pending;
      for (std::size_t i = 0; i < values.size(); ++i) {
        pending.push_back(
            allreduce_async_(TensorView::of(&values[i], {}),
                             {.name = "later/" + std::to_string(i)}));
        float now = 1;
        if (i % 7 == 0) {
          EXPECT_EQ(allreduce_(TensorView::of(&now, {}), {.name = "now"}),
                    absl::OkStatus());
        }
      }
      // From here on only the job's own thread drives.
      for (const Future<void>& future : pending) {
        while (!future.wait_for(std::chrono::seconds(60))) {
          FAIL() << "the driver forgot the operation";
        }
      }
    }
  });
}

// Several threads of a rank call while others complete the calls.
TEST(Runtime, ManyThreadsMaySubmitAtOnce) {
  run_world({.size = 2}, [](Runtime& job, LoopbackWorld&) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&job, t] {
        for (int i = 0; i < 200; ++i) {
          float value = static_cast<float>(i);
          const std::string name =
              std::to_string(t) + "/" + std::to_string(i % 10);
          EXPECT_EQ(job.allreduce_async_(TensorView::of(&value, {}),
                                         {.name = name, .op = ReduceOp::kSum})
                        .wait(),
                    absl::OkStatus());
          EXPECT_EQ(value, static_cast<float>(2 * i));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace hvd
