// SPDX-License-Identifier: Apache-2.0
// The table of options, and a try of each option of Horovod's launch.py and of
// torchrun.
#include "horovodrun/options/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "horovodrun/command_line/arguments.h"
#include "horovodrun/command_line/words.h"

namespace hvd::launcher {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Words = std::vector<std::string>;

// The outcome of an option, alone in front of a command.
struct Try {
  Words option;
  const char* variable = "";  // The rank's, as NAME=VALUE; "": none.
  const char* note = "";      // A part of the line that says: no effect.
  const char* refusal = "";   // A part of the error.
};

// Every spelling of horovod/runner/launch.py, 0.28.
const Try kHorovod[] = {
    {{"-v"}},
    {{"--version"}},
    {{"-np", "2"}},
    {{"--num-proc", "2"}},
    {{"-cb"}},
    {{"--check-build"}},
    {.option = {"--disable-cache"}, .note = "keeps no results"},
    {{"--start-timeout", "40"}, "HOROVOD_START_TIMEOUT=40"},
    {{"--network-interfaces", "eth0,eth1"}},
    {{"--network-interface", "eth0"}},
    {{"--output-filename", "logs"}},
    {{"--verbose"}},
    {.option = {"--config-file", "/nonexistent"}, .refusal = "No such file"},
    {{"-p", "2222"}, "OMPI_MCA_plm_rsh_args=-p 2222"},
    {{"--ssh-port", "2222"}, "OMPI_MCA_plm_rsh_args=-p 2222"},
    {{"-i", "key"}, "OMPI_MCA_plm_rsh_args=-i key"},
    {{"--ssh-identity-file", "key"}, "OMPI_MCA_plm_rsh_args=-i key"},
    {{"--fusion-threshold-mb", "32"}, "HOROVOD_FUSION_THRESHOLD=33554432"},
    {{"--cycle-time-ms", "3.5"}, "HOROVOD_CYCLE_TIME=3.5"},
    {{"--cache-capacity", "2048"}, "HOROVOD_CACHE_CAPACITY=2048"},
    {{"--hierarchical-allreduce"}, "HOROVOD_HIERARCHICAL_ALLREDUCE=1"},
    {{"--no-hierarchical-allreduce"}, "HOROVOD_HIERARCHICAL_ALLREDUCE=0"},
    {{"--hierarchical-allgather"}, "HOROVOD_HIERARCHICAL_ALLGATHER=1"},
    {{"--no-hierarchical-allgather"}, "HOROVOD_HIERARCHICAL_ALLGATHER=0"},
    {{"--torus-allreduce"}, "HOROVOD_TORUS_ALLREDUCE=1", "no torus"},
    {{"--no-torus-allreduce"}, "HOROVOD_TORUS_ALLREDUCE=0", "no torus"},
    {{"--autotune"}, "HOROVOD_AUTOTUNE=1", "no autotuner"},
    {{"--no-autotune"}, "HOROVOD_AUTOTUNE=0"},
    {{"--autotune-log-file", "f"}, "HOROVOD_AUTOTUNE_LOG=f", "no autotuner"},
    {{"--autotune-warmup-samples", "1"},
     "HOROVOD_AUTOTUNE_WARMUP_SAMPLES=1",
     "no autotuner"},
    {{"--autotune-steps-per-sample", "2"},
     "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=2",
     "no autotuner"},
    {{"--autotune-bayes-opt-max-samples", "3"},
     "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=3",
     "no autotuner"},
    {{"--autotune-gaussian-process-noise", "0.2"},
     "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.2",
     "no autotuner"},
    {.option = {"--min-np", "1"}, .refusal = "--max-restarts"},
    {.option = {"--min-num-proc", "1"}, .refusal = "--max-restarts"},
    {.option = {"--max-np", "4"}, .refusal = "--max-restarts"},
    {.option = {"--max-num-proc", "4"}, .refusal = "--max-restarts"},
    {.option = {"--slots-per-host", "1"}, .refusal = "--max-restarts"},
    {.option = {"--elastic-timeout", "9"}, .refusal = "--max-restarts"},
    {.option = {"--reset-limit", "9"}, .refusal = "--max-restarts"},
    {.option = {"--blacklist-cooldown-range", "1", "9"},
     .refusal = "--max-restarts"},
    {{"--timeline-filename", "t.json"}, "HOROVOD_TIMELINE=t.json"},
    {{"--timeline-mark-cycles"},
     "HOROVOD_TIMELINE_MARK_CYCLES=1",
     "has no cycles"},
    {{"--no-timeline-mark-cycles"}, "HOROVOD_TIMELINE_MARK_CYCLES=0"},
    {{"--no-stall-check"}, "HOROVOD_STALL_CHECK_DISABLE=1"},
    {{"--stall-check"}, "HOROVOD_STALL_CHECK_DISABLE=0"},
    {{"--stall-check-warning-time-seconds", "10"},
     "HOROVOD_STALL_CHECK_TIME_SECONDS=10"},
    {{"--stall-check-shutdown-time-seconds", "20"},
     "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=20"},
    {{"--mpi-threads-disable"},
     "HOROVOD_MPI_THREADS_DISABLE=1",
     "MPI_THREAD_SERIALIZED"},
    {{"--no-mpi-threads-disable"}, "HOROVOD_MPI_THREADS_DISABLE=0"},
    {{"--mpi-args", "-x A"}},
    {{"--tcp"}, "NCCL_IB_DISABLE=1"},
    {{"--binding-args", "--bind-to core"}},
    {{"--num-nccl-streams", "2"}, "HOROVOD_NUM_NCCL_STREAMS=2", "one stream"},
    {{"--thread-affinity", "1"}, "HOROVOD_THREAD_AFFINITY=1"},
    {{"--gloo-timeout-seconds", "9"},
     "HOROVOD_GLOO_TIMEOUT_SECONDS=9",
     "do not use Gloo"},
    {{"--log-level", "DEBUG"}, "HOROVOD_LOG_LEVEL=DEBUG"},
    {{"--log-with-timestamp"}, "HOROVOD_LOG_HIDE_TIME=0"},
    {{"--log-without-timestamp"}, "HOROVOD_LOG_HIDE_TIME=1"},
    {{"-prefix-timestamp"}},
    {{"--prefix-output-with-timestamp"}},
    {{"--log-hide-timestamp"}, "HOROVOD_LOG_HIDE_TIME=1"},
    {{"--no-log-hide-timestamp"}, "HOROVOD_LOG_HIDE_TIME=0"},
    {{"-H", "a:2"}},
    {{"--hosts", "a:2"}},
    {.option = {"-hostfile", "/nonexistent"}, .refusal = "No such file"},
    {.option = {"--hostfile", "/nonexistent"}, .refusal = "No such file"},
    {.option = {"--host-discovery-script", "f"}, .refusal = "--hostfile"},
    {{"--gloo"}},
    {{"--mpi"}},
    {.option = {"--jsrun"}, .refusal = "use --mpi"},
};

// Every option of torch/distributed/run.py, 2.9.
const Try kTorchrun[] = {
    {{"--nnodes", "1"}},
    {{"--nnodes", "1:1"}},
    {.option = {"--nnodes", "2"}, .refusal = "--hosts"},
    {{"--nproc-per-node", "2"}},
    {{"--nproc_per_node", "auto"}},
    {.option = {"--rdzv-backend", "c10d"}, .note = "no rendezvous"},
    {.option = {"--rdzv-endpoint", "a:1"}, .note = "no rendezvous"},
    {.option = {"--rdzv-id", "1"}, .note = "no rendezvous"},
    {.option = {"--rdzv-conf", "a=1"}, .note = "no rendezvous"},
    {{"--standalone"}},
    {{"--max-restarts", "3"}},
    {.option = {"--monitor-interval", "5"}, .note = "at once"},
    {.option = {"--start-method", "fork"}, .note = "a process of its own"},
    {.option = {"--event-log-handler", "null"}, .note = "no such part"},
    {.option = {"--role", "trainer"}, .note = "no such part"},
    {{"-m"}},
    {{"--module"}},
    {.option = {"--no-python"}, .note = "python3 train.py"},
    {.option = {"--run-path"}, .refusal = "python3"},
    {{"--log-dir", "logs"}},
    {{"--log-dir", "logs", "-r", "3"}},
    {{"--log-dir", "logs", "--redirects", "0:1,1:2"}},
    {.option = {"-t", "3"}, .note = "--log-dir writes all"},
    {.option = {"--tee", "3"}, .note = "--log-dir writes all"},
    {{"--local-ranks-filter", "0,1"}},
    {{"--node-rank", "0"}},
    {.option = {"--node-rank", "1"}, .refusal = "--hosts"},
    {.option = {"--master-addr", "a"}, .note = "no rendezvous"},
    {.option = {"--master-port", "29500"}, .note = "no rendezvous"},
    {.option = {"--local-addr", "a"}, .note = "--network-interfaces"},
    {.option = {"--logs-specs", "a"}, .refusal = "--log-dir"},
    {.option = {"--numa-binding", "node"}, .refusal = "--binding-args"},
    {.option = {"--signals-to-handle", "SIGTERM"}, .note = "SIGUSR1"},
    {.option = {"--shutdown-timeout", "30"}, .note = "5 s"},
    {.option = {"--duplicate-stdout-filters", "a"}, .note = "no such part"},
    {.option = {"--duplicate-stderr-filters", "a"}, .note = "no such part"},
    {.option = {"--virtual-local-rank"}, .refusal = "hvd.local_rank()"},
};

bool gives_ranks(const Words& option) {
  return option[0] == "-np" || option[0] == "--num-proc" ||
         absl::StrContains(option[0], "nproc");
}

void expect_outcome(const Try& one) {
  SCOPED_TRACE(one.option[0]);
  Words words = one.option;
  if (!gives_ranks(words)) words.insert(words.begin(), {"-np", "2"});
  words.push_back("./train");
  const auto arguments = parse_arguments(words, {});
  if (*one.refusal != '\0') {
    EXPECT_EQ(arguments.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(arguments.status().message()),
                HasSubstr(one.refusal));
    return;
  }
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  if (*one.note == '\0') {
    EXPECT_THAT(arguments->notes, IsEmpty());
  } else {
    ASSERT_EQ(arguments->notes.size(), 1u);
    EXPECT_THAT(arguments->notes[0], HasSubstr(one.note));
  }
  const std::string setting = one.variable;
  if (setting.empty()) return;
  const std::size_t equals = setting.find('=');
  EXPECT_THAT(arguments->settings, Contains(Pair(setting.substr(0, equals),
                                                 setting.substr(equals + 1))));
}

TEST(Options, HaveTheOutcomeOfHorovod) {
  for (const Try& one : kHorovod) expect_outcome(one);
}

TEST(Options, HaveTheOutcomeOfTorchrun) {
  for (const Try& one : kTorchrun) expect_outcome(one);
}

// A new option needs a try above, unless it is only of this project.
TEST(Options, AreAllTried) {
  std::set<std::string> tried = {"-n", "--no-mpi",     "--help",
                                 "-h", "--completion", "--print"};
  for (const Try& one : kHorovod) tried.insert(one.option[0]);
  for (const Try& one : kTorchrun) {
    for (const std::string& word : one.option) tried.insert(word);
  }
  const std::set<absl::string_view> ours = {"--launcher",       "--tag-output",
                                            "--log-max-size",   "--log-files",
                                            "--debug-on-crash", "--watch"};
  for (const Option* option : all_options()) {
    for (const absl::string_view name : names_of(*option)) {
      EXPECT_TRUE(ours.contains(name) || tried.contains(std::string(name)) ||
                  tried.contains(std::string(
                      name == "--nproc-per-node" ? "--nproc_per_node" : name)))
          << name;
    }
  }
}

TEST(Options, HaveSoundRows) {
  std::set<std::string> names;
  std::set<std::string> keys;
  for (const Option* option : all_options()) {
    SCOPED_TRACE(option->names);
    for (const absl::string_view name : names_of(*option)) {
      EXPECT_TRUE(absl::StartsWith(name, "-"));
      EXPECT_TRUE(names.insert(std::string(name)).second) << name;
    }
    EXPECT_TRUE(absl::StartsWith(main_name(*option), "--"));
    EXPECT_NE(*option->help, '\0');
    EXPECT_NE(std::string(option->help).back(), '.');
    const bool is_flag = option->type == ValueType::kFlag;
    EXPECT_EQ(is_flag, *option->value == '\0');
    EXPECT_EQ(option->type == ValueType::kChoice, *option->choices != '\0');
    EXPECT_EQ(option->effect == Effect::kWorks, *option->words == '\0');
    const auto sets = [&](const std::string& text) {
      return text.empty() || is_flag == absl::StrContains(text, "=");
    };
    EXPECT_TRUE(sets(option->key));
    EXPECT_TRUE(sets(option->variable));
    EXPECT_TRUE(keys.insert(option->key).second || *option->key == '\0');
  }
  keys.erase("");
  // As many as Horovod has.
  std::set<std::string> distinct;
  for (const std::string& key : keys)
    distinct.insert(key.substr(0, key.find('=')));
  EXPECT_EQ(distinct.size(), 24u);
}

}  // namespace
}  // namespace hvd::launcher
