// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Every key that Horovod has.
constexpr char kAllKeys[] = R"(
controller: gloo
params:
  fusion_threshold_mb: 32
  cycle_time_ms: 5.5
  cache_capacity: 512
  hierarchical_allreduce: true
  hierarchical_allgather: no
  torus_allreduce: false
autotune:
  enabled: true
  log_file: autotune.csv
  warmup_samples: 5
  steps_per_sample: 20
  bayes_opt_max_samples: 50
  gaussian_process_noise: 0.9
timeline:
  filename: timeline.json
  mark_cycles: true
stall_check:
  enabled: false
  warning_time_seconds: 120
  shutdown_time_seconds: 240
library_options:
  mpi_threads_disable: true
  num_nccl_streams: 2
  thread_affinity: 0,1
  gloo_timeout_seconds: 60
logging:
  level: info
  with_timestamp: on
)";

std::string refused_text(const std::string& text) {
  const auto values = parse_config(text);
  EXPECT_FALSE(values.ok()) << text;
  return std::string(values.status().message());
}

TEST(ConfigFile, HasTheEffectOfTheOptions) {
  const auto values = parse_config(kAllKeys);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_TRUE(values->has("--no-mpi"));
  EXPECT_THAT(
      values->variables(),
      UnorderedElementsAre(
          Pair("HOROVOD_FUSION_THRESHOLD", "33554432"),
          Pair("HOROVOD_CYCLE_TIME", "5.5"),
          Pair("HOROVOD_CACHE_CAPACITY", "512"),
          Pair("HOROVOD_HIERARCHICAL_ALLREDUCE", "1"),
          Pair("HOROVOD_HIERARCHICAL_ALLGATHER", "0"),
          Pair("HOROVOD_TORUS_ALLREDUCE", "0"), Pair("HOROVOD_AUTOTUNE", "1"),
          Pair("HOROVOD_AUTOTUNE_LOG", "autotune.csv"),
          Pair("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "5"),
          Pair("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "20"),
          Pair("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "50"),
          Pair("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", "0.9"),
          Pair("HOROVOD_TIMELINE", "timeline.json"),
          Pair("HOROVOD_TIMELINE_MARK_CYCLES", "1"),
          Pair("HOROVOD_STALL_CHECK_DISABLE", "1"),
          Pair("HOROVOD_STALL_CHECK_TIME_SECONDS", "120"),
          Pair("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "240"),
          Pair("HOROVOD_MPI_THREADS_DISABLE", "1"),
          Pair("HOROVOD_NUM_NCCL_STREAMS", "2"),
          Pair("HOROVOD_THREAD_AFFINITY", "0,1"),
          Pair("HOROVOD_GLOO_TIMEOUT_SECONDS", "60"),
          Pair("HOROVOD_LOG_LEVEL", "info"),
          Pair("HOROVOD_LOG_HIDE_TIME", "0")));
}

TEST(ConfigFile, MayLeaveValuesOut) {
  for (const char* text : {"", "# none\n", "params:\n", "params: {}\n",
                           "params: {cycle_time_ms: }\ncontroller: ~\n"}) {
    const auto values = parse_config(text);
    ASSERT_TRUE(values.ok()) << text << values.status();
    EXPECT_TRUE(values->variables().empty());
  }
}

TEST(ConfigFile, NamesTheMistake) {
  for (const auto& [text, reason] :
       std::vector<std::pair<const char*, const char*>>{
           {"controler: mpi",
            "unknown key 'controler'; did you mean 'controller'?"},
           {"controller: ddl", "controller is 'ddl'; write mpi or gloo"},
           {"logging: {hide_timestamp: true}",
            "did you mean 'logging.with_timestamp'?"},
           {"params: {cycle_time_ms: -1}", "params.cycle_time_ms is '-1'"},
           {"params: {cycle_time_ms: [1, 2]}", "has several values"},
           {"params: 3", "params is a section"},
           {"stall_check: {enabled: 2}", "stall_check.enabled is '2'"},
           {"autotune: {gaussian_process_noise: 1.5}", "from 0 to 1"},
           {"- a\n- b\n", "no keys are found"},
           {"params: {a: b", "line 1: "},
           {"a: 'b", "line "},
           {"? [a, b]\n: c\n", "line 1: "}}) {
    EXPECT_THAT(refused_text(text), HasSubstr(reason)) << text;
  }
}

// Damaged files are read or refused; none ends the launcher.
TEST(ConfigFile, ReadsOrRefusesDamagedText) {
  std::mt19937 random(1);
  const std::string marks = "{}[]:,-?&*!|>'\"%@`#\n\t ";
  for (int round = 0; round < 2000; ++round) {
    std::string text = kAllKeys;
    for (auto count = random() % 4; count > 0; --count) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = marks[random() % marks.size()];
          break;
        case 1:
          text.erase(at, random() % 20);
          break;
        default:
          text.insert(at, 1, static_cast<char>(random() % 256));
          break;
      }
    }
    const auto values = parse_config(text);
    EXPECT_TRUE(values.ok() || !values.status().message().empty());
  }
}

TEST(ConfigFile, RefusesDeepNesting) {
  EXPECT_FALSE(parse_config(std::string(100000, '[')).ok());
  EXPECT_FALSE(parse_config("params: " + std::string(100000, '{')).ok());
}

}  // namespace
}  // namespace hvd::launcher
