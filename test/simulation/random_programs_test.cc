// SPDX-License-Identifier: Apache-2.0
// Random programs on simulated jobs. A failure names its seed and the command
// that traces the program, event by event.
#include <gtest/gtest.h>

#include <cstdint>

#include "test/simulation/sweep.h"

namespace hvd::simulation {
namespace {

Statistics run_all(const SweepOptions& options) {
  const SweepResult result = sweep(options);
  for (const Failed& failed : result.failures) {
    ADD_FAILURE() << "seed " << failed.seed << ": " << failed.fault << "\n  "
                  << replay_command(failed.seed, options.limits);
  }
  return result.statistics;
}

class RandomPrograms : public testing::TestWithParam<int> {
 protected:
  // Seeds that no other case uses.
  std::uint64_t first_seed(std::uint64_t kind) const {
    return 1'000'000 * kind + 10'000 * static_cast<std::uint64_t>(GetParam());
  }
};

TEST_P(RandomPrograms, OfTwoRanksEndCorrectly) {
  run_all({.first_seed = first_seed(1),
           .count = 400,
           .limits = {.max_ranks = 2, .max_phases = 4, .max_names = 3}});
}

TEST_P(RandomPrograms, OfUpToEightRanksEndCorrectly) {
  run_all({.first_seed = first_seed(2), .count = 1600});
}

TEST_P(RandomPrograms, OfUpToSixteenRanksEndCorrectly) {
  run_all({.first_seed = first_seed(3),
           .count = 100,
           .limits = {.min_ranks = 9, .max_ranks = 16}});
}

TEST_P(RandomPrograms, OfUpToSixtyFourRanksEndCorrectly) {
  run_all({.first_seed = first_seed(4),
           .count = 20,
           .limits = {.min_ranks = 17, .max_ranks = 64, .max_phases = 4}});
}

TEST_P(RandomPrograms, EndWhenARankDies) {
  run_all({.first_seed = first_seed(5),
           .count = 150,
           .limits = {.min_ranks = 2,
                      .max_ranks = 12,
                      .early_leaves = 0,
                      .deaths = 100,
                      .stalls = 0}});
}

TEST_P(RandomPrograms, EndWhenARankLeavesBeforeTheOthers) {
  run_all({.first_seed = first_seed(6),
           .count = 150,
           .limits = {.min_ranks = 2, .early_leaves = 100, .stalls = 0}});
}

TEST_P(RandomPrograms, AreGivenUpWhenARankStalls) {
  run_all({.first_seed = first_seed(7),
           .count = 100,
           .limits = {.min_ranks = 2, .stalls = 100}});
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Values(0, 1, 2, 3));

// Guards against a sweep that never reaches the interesting parts.
TEST(RandomProgramsTogether, ReachEveryPartOfTheProtocol) {
  const Statistics seen = run_all({.first_seed = 9'000'000, .count = 400});
  EXPECT_GT(seen.cycled, 0u);
  EXPECT_GT(seen.early, 0u);
  EXPECT_GT(seen.abandoned, 0u);
  EXPECT_GT(seen.absent, 0u);
  EXPECT_GT(seen.mismatches, 0u);
  EXPECT_GT(seen.cancelled, 0u);
  EXPECT_GT(seen.refused, 0u);
  EXPECT_GT(seen.broken, 0u);
  EXPECT_GT(seen.warnings, 0u);
  EXPECT_GT(seen.measured, 0u);
  EXPECT_GT(seen.most_epochs, 3u);
}

TEST(RandomProgramsTogether, AreTheSameForTheSameSeed) {
  const Program once = generate(77, {});
  const Program again = generate(77, {});
  EXPECT_EQ(once.describe(), again.describe());
  EXPECT_EQ(run(once).statistics.describe(), run(again).statistics.describe());
}

}  // namespace
}  // namespace hvd::simulation
