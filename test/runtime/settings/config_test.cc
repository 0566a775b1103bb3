// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/settings/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hvd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// While it lives, the environment has HOME and these variables only.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (char** line = environ; *line != nullptr; ++line) {
      before_.push_back(*line);
    }
    std::map<std::string, std::string> now = variables;
    if (const char* home = std::getenv("HOME")) now.emplace("HOME", home);
    clearenv();
    for (const auto& [name, value] : now) set(name, value);
  }
  ~Environment() {
    clearenv();
    for (const std::string& line : before_) {
      const std::size_t end = line.find('=');
      set(line.substr(0, end), line.substr(end + 1));
    }
  }

 private:
  static void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<std::string> before_;
};

absl::StatusOr<Config> read(
    const std::map<std::string, std::string>& variables) {
  const Environment environment(variables);
  return Config::from_env();
}

TEST(Config, HasHorovodsDefaults) {
  const auto config = read({});
  ASSERT_EQ(config.status(), absl::OkStatus());
  EXPECT_EQ(config->fusion_threshold, 134217728u);
  EXPECT_EQ(config->cache_capacity, 1u << 17);
  EXPECT_EQ(config->cycle_time.count(), 0);
  EXPECT_EQ(config->start_timeout, std::chrono::seconds(30));
  EXPECT_EQ(config->log.level, telemetry::LogLevel::kWarning);
  EXPECT_FALSE(config->launched);
  EXPECT_TRUE(config->fuse_groups);
  EXPECT_EQ(config->stall_warning_time, std::chrono::seconds(60));
  EXPECT_EQ(config->stall_shutdown_time, std::chrono::seconds(600));
  EXPECT_EQ(config->steps_before_schedule, 3);
  EXPECT_EQ(config->heartbeat_deadline, std::chrono::seconds(4));
  EXPECT_TRUE(config->process_sets.empty());
}

TEST(Config, TakesTheNumberOfThreadsFromEither) {
  EXPECT_EQ(read({})->num_threads, 0);
  EXPECT_EQ(read({{"OMP_NUM_THREADS", "3"}})->num_threads, 3);
  EXPECT_EQ(read({{"OMP_NUM_THREADS", "4,2"}})->num_threads, 0);
  EXPECT_EQ(read({{"OMP_NUM_THREADS", "3"}, {"HOROVODPP_NUM_THREADS", "2"}})
                ->num_threads,
            2);
  EXPECT_EQ(read({{"HOROVODPP_NUM_THREADS", "all"}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Config, IsHierarchicalByDefault) {
  const auto config = read({});
  ASSERT_EQ(config.status(), absl::OkStatus());
  EXPECT_TRUE(config->hierarchical_allreduce);
  EXPECT_TRUE(config->hierarchical_allgather);
  const auto by_rings = read({{"HOROVOD_HIERARCHICAL_ALLREDUCE", "0"},
                              {"HOROVOD_HIERARCHICAL_ALLGATHER", "1"}});
  ASSERT_EQ(by_rings.status(), absl::OkStatus());
  EXPECT_FALSE(by_rings->hierarchical_allreduce);
  EXPECT_TRUE(by_rings->hierarchical_allgather);
}

TEST(Config, MeasuresCrossoversByDefaultAndCachesThem) {
  ASSERT_EQ(setenv("HOME", "/home/ada", 1), 0);
  const auto config = read({});
  ASSERT_EQ(config.status(), absl::OkStatus());
  EXPECT_TRUE(config->measure_crossovers);
  EXPECT_EQ(config->cache_dir, "/home/ada/.cache/horovodpp");
  EXPECT_EQ(read({{"XDG_CACHE_HOME", "/caches"}})->cache_dir,
            "/caches/horovodpp");
  const auto named = read({{"HOROVODPP_CACHE_DIR", "/here"},
                           {"HOROVODPP_MEASURE_CROSSOVERS", "0"}});
  ASSERT_EQ(named.status(), absl::OkStatus());
  EXPECT_EQ(named->cache_dir, "/here");
  EXPECT_FALSE(named->measure_crossovers);
  unsetenv("HOME");
  EXPECT_EQ(read({})->cache_dir, "");
}

TEST(Config, ReadsEveryVariable) {
  const auto config = read({{"HOROVOD_SIZE", "4"},
                            {"HOROVOD_START_TIMEOUT", "1.5"},
                            {"HOROVOD_FUSION_THRESHOLD", "0"},
                            {"HOROVOD_CYCLE_TIME", "2.5"},
                            {"HOROVOD_CACHE_CAPACITY", "7"},
                            {"HOROVOD_THREAD_AFFINITY", "0,3"},
                            {"HOROVOD_LOG_LEVEL", "Debug"},
                            {"HOROVOD_LOG_HIDE_TIME", "1"},
                            {"HOROVOD_DISABLE_GROUP_FUSION", "1"},
                            {"HOROVODPP_ARENA_LIMIT", "1000000"},
                            {"HOROVODPP_CUDA_IPC", "0"},
                            {"HOROVODPP_STRICT_JOIN", "1"},
                            {"HOROVOD_DYNAMIC_PROCESS_SETS", "1"},
                            {"HOROVOD_STALL_CHECK_TIME_SECONDS", "0.5"},
                            {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0"},
                            {"HOROVODPP_HEARTBEAT_SECONDS", "1.5"},
                            {"HOROVODPP_STEPS_BEFORE_SCHEDULE", "0"},
                            {"HOROVODPP_SUMMARY_STEPS", "50"},
                            {"HOROVODPP_RANKS_PER_NODE", "2"},
                            {"HOROVODPP_TRANSPORT", "ucx"}});
  ASSERT_EQ(config.status(), absl::OkStatus());
  EXPECT_EQ(config->transport, "ucx");
  EXPECT_EQ(config->arena_limit, 1'000'000u);
  EXPECT_FALSE(config->cuda_ipc);
  EXPECT_TRUE(config->strict_join);
  EXPECT_EQ(config->summary_steps, 50);
  EXPECT_EQ(config->expected_size, 4);
  EXPECT_TRUE(config->launched);
  EXPECT_EQ(config->start_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(config->fusion_threshold, 0u);
  EXPECT_EQ(config->cycle_time, std::chrono::microseconds(2500));
  EXPECT_EQ(config->cache_capacity, 7u);
  EXPECT_THAT(config->thread_affinity, ElementsAre(0, 3));
  EXPECT_EQ(config->log.level, telemetry::LogLevel::kDebug);
  EXPECT_TRUE(config->log.hide_time);
  EXPECT_EQ(config->ranks_per_node, 2);
  EXPECT_FALSE(config->fuse_groups);
  EXPECT_EQ(config->stall_warning_time, std::chrono::milliseconds(500));
  EXPECT_EQ(config->stall_shutdown_time.count(), 0);
  EXPECT_EQ(config->heartbeat_deadline, std::chrono::milliseconds(1500));
  EXPECT_EQ(config->steps_before_schedule, 0);
}

TEST(Config, DisablesStallChecks) {
  const auto config = read({{"HOROVOD_STALL_CHECK_DISABLE", "1"},
                            {"HOROVOD_STALL_CHECK_TIME_SECONDS", "5"}});
  ASSERT_EQ(config.status(), absl::OkStatus());
  EXPECT_EQ(config->stall_warning_time.count(), 0);
  EXPECT_EQ(config->stall_shutdown_time.count(), 0);
}

TEST(Config, WithoutStallChecksTheShutdownTimeDefaultsToZero) {
  const std::string check = "HOROVOD_STALL_CHECK_TIME_SECONDS";
  EXPECT_EQ(read({{check, "0"}})->stall_shutdown_time.count(), 0);
  EXPECT_EQ(read({{check, "0"}, {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "3"}})
                ->stall_shutdown_time,
            std::chrono::seconds(3));
}

TEST(Config, ListsUnsupportedSettings) {
  EXPECT_THAT(read({})->unsupported, ElementsAre());
  EXPECT_THAT(read({{"HOROVOD_AUTOTUNE", "1"},
                    {"HOROVOD_NUM_NCCL_STREAMS", "1"},
                    {"HOROVOD_ELASTIC", "1"}})
                  ->unsupported,
              ElementsAre("HOROVOD_ELASTIC"));
  EXPECT_THAT(
      read({{"HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.8"}})->unsupported,
      ElementsAre("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE"));
}

TEST(Config, TunesUnlessToldNotToOrWhatToUse) {
  EXPECT_FALSE(Config().autotune);
  EXPECT_TRUE(read({})->autotune);
  EXPECT_TRUE(read({{"HOROVOD_AUTOTUNE", "1"}})->autotune);
  EXPECT_FALSE(read({{"HOROVOD_AUTOTUNE", "0"}})->autotune);
  EXPECT_FALSE(read({{"HOROVOD_FUSION_THRESHOLD", "67108864"}})->autotune);
  EXPECT_FALSE(read({{"HOROVOD_FUSION_THRESHOLD", "67108864"},
                     {"HOROVOD_AUTOTUNE", "1"}})
                   ->autotune);
}

TEST(Config, ReadsTheSettingsOfTuning) {
  const auto config = read({{"HOROVOD_AUTOTUNE_LOG", "t.csv"},
                            {"HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "3"},
                            {"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "10"},
                            {"HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "7"},
                            {"HOROVODPP_CACHE_DIR", "/c"}});
  EXPECT_EQ(config->autotune_log, "t.csv");
  EXPECT_EQ(config->autotune_warm_ups, 3);
  EXPECT_EQ(config->autotune_steps, 10);
  EXPECT_EQ(config->autotune_trials, 7);
  EXPECT_EQ(config->tuning_cache, "/c");
  EXPECT_EQ(read({{"HOROVODPP_TUNING_CACHE", "/t"}})->tuning_cache, "/t");
  EXPECT_EQ(read({{"HOROVODPP_TUNING_CACHE", ""}})->tuning_cache, "");
  EXPECT_EQ(read({{"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "0"}})->autotune_steps,
            1);
  EXPECT_FALSE(read({{"HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "x"}}).ok());
}

TEST(Config, ReadsTheTimeline) {
  EXPECT_EQ(read({})->timeline, "");
  EXPECT_EQ(read({{"HOROVOD_TIMELINE", "Dynamic"}})->timeline, "");
  EXPECT_EQ(read({{"HOROVOD_TIMELINE", "t.json"}})->timeline, "t.json");
  EXPECT_FALSE(read({})->timeline_mark_cycles);
  EXPECT_TRUE(
      read({{"HOROVOD_TIMELINE_MARK_CYCLES", "1"}})->timeline_mark_cycles);
}

TEST(Config, ReadsTheMetrics) {
  const auto none = read({})->metrics;
  EXPECT_FALSE(none.count);
  EXPECT_EQ(none.file, "");
  EXPECT_EQ(none.interval, std::chrono::seconds(15));
  EXPECT_EQ(none.port, 0);
  EXPECT_EQ(none.address, "127.0.0.1");
  const auto all = read({{"HOROVODPP_METRICS", "1"},
                         {"HOROVODPP_METRICS_FILE", "{rank}.prom"},
                         {"HOROVODPP_METRICS_INTERVAL", "0"},
                         {"HOROVODPP_METRICS_PORT", "9400"},
                         {"HOROVODPP_METRICS_ADDRESS", "0.0.0.0"}})
                       ->metrics;
  EXPECT_TRUE(all.count);
  EXPECT_EQ(all.file, "{rank}.prom");
  EXPECT_GT(all.interval.count(), 0);
  EXPECT_EQ(all.port, 9400);
  EXPECT_EQ(all.address, "0.0.0.0");
  EXPECT_EQ(read({{"HOROVODPP_METRICS_PORT", "65536"}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(Config, ChoosesTheCollectivesOfGpusThatUseNccl) {
  const auto all = read({})->by_nccl;
  EXPECT_TRUE(all.allreduce && all.allgather && all.broadcast && all.alltoall &&
              all.reducescatter);
  const auto one = read({{"HOROVOD_GPU_OPERATIONS", "MPI"},
                         {"HOROVOD_GPU_ALLGATHER", "NCCL"}})
                       ->by_nccl;
  EXPECT_TRUE(one.allgather);
  EXPECT_FALSE(one.allreduce || one.broadcast || one.alltoall ||
               one.reducescatter);
  EXPECT_THAT(
      std::string(read({{"HOROVOD_GPU_OPERATIONS", "DDL"}}).status().message()),
      HasSubstr("NCCL or MPI"));
  EXPECT_EQ(read({{"HOROVODPP_NCCL_LIBRARY", "/x/libnccl.so"}})->nccl_library,
            "/x/libnccl.so");
  EXPECT_TRUE(read({{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}})->nccl_shares_gpus);
}

TEST(Config, DetectsTuningOfMalloc) {
  EXPECT_FALSE(read({})->malloc_is_tuned);
  EXPECT_FALSE(read({{"GLIBC_TUNABLES", "glibc.rtld.nns=4"}})->malloc_is_tuned);
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"MALLOC_TRIM_THRESHOLD_", "131072"},
           {"MALLOC_TOP_PAD_", "0"},
           {"MALLOC_MMAP_THRESHOLD_", "1048576"},
           {"MALLOC_MMAP_MAX_", "0"},
           {"GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"}}) {
    EXPECT_TRUE(read({{name, value}})->malloc_is_tuned) << name;
  }
}

TEST(Config, ReportsTheLimitOfATime) {
  const auto text_of = [](const char* name, const char* value) {
    return std::string(read({{name, value}}).status().message());
  };
  EXPECT_THAT(text_of("HOROVOD_START_TIMEOUT", "1e10"),
              HasSubstr("a number of seconds between 0 and 1000000000"));
  EXPECT_THAT(text_of("HOROVOD_CYCLE_TIME", "2147483647"),
              HasSubstr("a number of milliseconds between 0 and 60000"));
  EXPECT_EQ(read({{"HOROVOD_CYCLE_TIME", "60000"}})->cycle_time,
            std::chrono::minutes(1));
}

// As in Horovod: numbers above zero are true.
TEST(Config, FlagsAreNumbers) {
  for (const auto& [text, fuses] :
       std::map<std::string, bool>{{"0", true}, {"-1", true}, {"2", false}}) {
    EXPECT_EQ(read({{"HOROVOD_DISABLE_GROUP_FUSION", text}})->fuse_groups,
              fuses)
        << text;
  }
}

TEST(Config, DetectsATaskOfAScheduler) {
  using Variables = std::map<std::string, std::string>;
  const auto srun =
      read({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_FALSE(srun->launched);
  EXPECT_EQ(srun->expected_size, 2);
  EXPECT_EQ(srun->scheduled,
            "srun started this process as task 1 of 2 (SLURM_PROCID, "
            "SLURM_STEP_NUM_TASKS)");
  EXPECT_EQ(read({{"ALPS_APP_PE", "3"}})->scheduled,
            "aprun started this process as task 3 of several (ALPS_APP_PE)");
  for (const Variables& others :
       {Variables{{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "2"}},
        Variables{{"JSM_NAMESPACE_RANK", "0"}, {"JSM_NAMESPACE_SIZE", "2"}},
        Variables{{"ROLE_RANK", "1"}, {"ROLE_WORLD_SIZE", "2"}},
        Variables{{"PALS_RANKID", "1"}}, Variables{{"PBS_VNODENUM", "1"}}}) {
    EXPECT_NE(read(others)->scheduled, "") << others.begin()->first;
  }
}

TEST(Config, LetsTheTasksOfAnSrunStepOnOneNodeMeetByTheStep) {
  using Variables = std::map<std::string, std::string>;
  const auto with = [](Variables more) {
    more.insert({{"SLURM_PROCID", "1"},
                 {"SLURM_STEP_NUM_TASKS", "2"},
                 {"SLURM_STEP_NUM_NODES", "1"},
                 {"SLURM_JOB_ID", "17"},
                 {"SLURM_STEP_ID", "3"}});
    return *read(more);
  };
  const Config task = with({});
  EXPECT_EQ(task.rendezvous, "srun.17.3");
  EXPECT_EQ(task.rank, 1);
  EXPECT_EQ(task.expected_size, 2);
  EXPECT_FALSE(task.launched);
  // On several nodes, of a part of a heterogeneous job, or with a PMI.
  for (const Variables& other :
       {Variables{{"SLURM_STEP_NUM_NODES", "2"}},
        Variables{{"SLURM_PROCID", "2"}}, Variables{{"SLURM_JOB_ID", ""}},
        Variables{{"PMIX_RANK", "1"}}, Variables{{"HOROVOD_SIZE", "1"}}}) {
    EXPECT_EQ(with(other).rendezvous, "") << other.begin()->first;
  }
  EXPECT_NE(with({{"SLURM_PROCID", "2"}}).scheduled, "");
  const Config launched =
      with({{"HOROVODPP_RENDEZVOUS", "x"}, {"HOROVOD_RANK", "0"}});
  EXPECT_EQ(launched.rendezvous, "x");
  EXPECT_EQ(launched.rank, 0);
}

// An sbatch script, a salloc shell, a notebook or a launcher in an allocation.
TEST(Config, DoesNotTakeALoneProcessForATask) {
  using Variables = std::map<std::string, std::string>;
  for (const Variables& alone :
       {Variables{{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
        Variables{{"SLURM_NTASKS", "4"},
                  {"SLURM_PROCID", "0"},
                  {"SLURM_STEP_NUM_TASKS", "1"}},
        Variables{{"PALS_RANKID", "0"}}, Variables{{"PBS_VNODENUM", "0"}}}) {
    const auto config = read(alone);
    EXPECT_EQ(config->scheduled, "");
    EXPECT_EQ(config->expected_size, 0);
    EXPECT_FALSE(config->launched);
  }
}

TEST(Config, ALauncherOverrulesTheScheduler) {
  using Variables = std::map<std::string, std::string>;
  const auto with = [](Variables more) {
    more.insert({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
    return read(more);
  };
  const auto alone = with({{"HOROVOD_SIZE", "1"}});
  EXPECT_FALSE(alone->launched);
  EXPECT_EQ(alone->expected_size, 1);
  EXPECT_EQ(alone->scheduled, "");
  const auto of_four = with({{"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(of_four->expected_size, 4);
  EXPECT_EQ(of_four->scheduled, "");
  // These PMIs set no variable for the size, so Slurm's counts apply.
  for (const char* const pmi :
       {"PMIX_RANK", "PMI_CONTROL_PORT", "I_MPI_PMI_LIBRARY"}) {
    const auto config = with({{pmi, "1"}});
    EXPECT_TRUE(config->launched) << pmi;
    EXPECT_EQ(config->expected_size, 2) << pmi;
    EXPECT_EQ(config->scheduled, "") << pmi;
  }
}

TEST(Config, ReadsTheRendezvousWithoutMpi) {
  const auto config =
      read({{"HOROVODPP_RENDEZVOUS", "x"}, {"HOROVOD_RANK", "3"}});
  EXPECT_EQ(config->rendezvous, "x");
  EXPECT_EQ(config->rank, 3);
  // Other tools set that variable, too.
  EXPECT_EQ(read({{"HOROVOD_RANK", "first"}})->rank, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(
      read({{"HOROVODPP_RENDEZVOUS", "x"}, {"HOROVOD_RANK", "first"}})
          .status()));
}

TEST(Config, ReadsThePromisedNumberOfRanks) {
  EXPECT_EQ(read({})->expected_size, 0);
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_SIZE", "2"}})->expected_size, 2);
  EXPECT_EQ(read({{"PMI_SIZE", "3"}})->expected_size, 3);
  EXPECT_EQ(read({{"HOROVOD_SIZE", "4"}, {"PMI_SIZE", "3"}})->expected_size, 4);
}

TEST(Config, DetectsALauncher) {
  EXPECT_TRUE(read({{"OMPI_COMM_WORLD_SIZE", "2"}})->launched);
  EXPECT_TRUE(read({{"PMIX_RANK", "0"}})->launched);
  EXPECT_TRUE(read({{"PMI_SIZE", "1"}})->launched);
  EXPECT_TRUE(
      read({{"HOROVODPP_RENDEZVOUS", "x"}, {"HOROVOD_RANK", "0"}})->launched);
  EXPECT_FALSE(read({{"HOROVOD_SIZE", "1"}})->launched);
}

TEST(Config, NamesTheVariableItCannotRead) {
  const std::map<std::string, std::string> wrong = {
      {"HOROVOD_SIZE", "two"},
      {"HOROVOD_FUSION_THRESHOLD", "-1"},
      {"HOROVOD_CYCLE_TIME", "nan"},
      {"HOROVOD_CACHE_CAPACITY", "99999999999"},
      {"HOROVOD_LOG_LEVEL", "loud"},
      {"HOROVOD_THREAD_AFFINITY", "0,x"},
      {"HOROVOD_LOG_HIDE_TIME", "yes"},
      {"HOROVOD_DISABLE_GROUP_FUSION", "on"},
      {"HOROVOD_STALL_CHECK_TIME_SECONDS", "-1"},
      {"HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "later"},
      {"HOROVODPP_HEARTBEAT_SECONDS", "0"},
      {"HOROVODPP_STEPS_BEFORE_SCHEDULE", "-3"},
      {"HOROVODPP_SUMMARY_STEPS", "-1"},
      {"HOROVOD_START_TIMEOUT", "soon"},
      {"HOROVODPP_TRANSPORT", "rdma"}};
  for (const auto& [name, value] : wrong) {
    const absl::Status status = read({{name, value}}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(name + "='" + value + "'"));
  }
}

}  // namespace
}  // namespace hvd
