// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/job/job_tuning.h"

#include <gtest/gtest.h>

#include "test/support/temporary_folder.h"

namespace hvd::runtime {
namespace {

TEST(JobTuning, KeepsWhatWasFoundAlsoIfTheJobIsKilled) {
  const TemporaryFolder folder;
  Config config;
  config.autotune = true;
  config.tuning_cache = folder.path();
  const auto topology = Topology::from_peers(0, {{"a", 1, "a"}, {"a", 2, "a"}});
  ASSERT_TRUE(topology.ok());
  telemetry::Log log(0, {});
  coordinator::TuningMemory memory;
  memory.paths.resize(2);
  memory.remember({.hash = 7, .best = {.order = {1, 0}, .cuts = {1, 2}}});
  JobTuning killed(config, *topology, log);
  killed.options().on_found(memory);
  JobTuning later(config, *topology, log);
  EXPECT_EQ(later.options().memory, memory);
}

}  // namespace
}  // namespace hvd::runtime
