// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/settings/config.h"
#include "horovodpp/transport/mpi/group.h"
#include "test/runtime/runtime_suite.h"

namespace hvd {
namespace {

class RuntimeSuite : public ::testing::TestWithParam<suite::Case> {};

INSTANTIATE_TEST_SUITE_P(Processes, RuntimeSuite,
                         ::testing::ValuesIn(suite::all_cases()),
                         [](const auto& chosen) {
                           return std::string(chosen.param.name);
                         });

TEST_P(RuntimeSuite, HoldsOnOneNode) {
  ASSERT_EQ(init(), absl::OkStatus());
  GetParam().run(current_runtime());
  // Who is in few sets is through early.
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST_P(RuntimeSuite, HoldsOnNodesOfTwoRanks) {
  absl::StatusOr<Config> config = Config::from_env();
  ASSERT_EQ(config.status(), absl::OkStatus());
  config->ranks_per_node = 2;
  ASSERT_EQ(init(*config), absl::OkStatus());
  EXPECT_EQ(cross_size(), (size() + 1 - local_rank()) / 2);
  GetParam().run(current_runtime());
  // Who is in few sets is through early.
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(Global, StartsAndStopsManyTimes) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(init(), absl::OkStatus());
    EXPECT_TRUE(is_initialized());
    float value = 1;
    ASSERT_EQ(allreduce_(TensorView::of(&value, {}), {.op = ReduceOp::kSum}),
              absl::OkStatus());
    EXPECT_EQ(value, static_cast<float>(size()));
    ASSERT_EQ(shutdown(), absl::OkStatus());
    EXPECT_FALSE(is_initialized());
  }
}

TEST(Global, RefusesAWorldOfAnotherSizeThanPromised) {
  absl::StatusOr<Config> config = Config::from_env();
  ASSERT_EQ(config.status(), absl::OkStatus());
  config->expected_size = 1000;
  const absl::Status status = init(*config);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("1000"));
}

// The halves of the job, by the parity of ranks.
class Halves {
 public:
  Halves() { MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half_); }
  ~Halves() { MPI_Comm_free(&half_); }
  MPI_Comm mine() const { return half_; }

 private:
  MPI_Comm half_ = MPI_COMM_NULL;
};

TEST(MpiGroup, MakesProcessSetsOfCommunicators) {
  ASSERT_EQ(init(), absl::OkStatus());
  {
    const Halves halves;
    const auto mine = ranks_of(halves.mine());
    ASSERT_EQ(mine.status(), absl::OkStatus());
    const auto groups = groups_of(halves.mine());
    ASSERT_EQ(groups.status(), absl::OkStatus());
    ASSERT_EQ(groups->size(), size() > 1 ? 2u : 1u);
    EXPECT_EQ((*groups)[static_cast<std::size_t>(rank() % 2)], *mine);
    for (const std::vector<int>& group : *groups) {
      if (static_cast<int>(group.size()) == size()) continue;
      const auto set = add_process_set(group);
      ASSERT_EQ(set.status(), absl::OkStatus());
      EXPECT_EQ(process_set_ranks(*set), group);
      EXPECT_EQ(process_set_included(*set), group == *mine);
      if (!process_set_included(*set)) continue;
      float one = 1;
      ASSERT_EQ(allreduce_(TensorView::of(&one, {}),
                           {.op = ReduceOp::kSum, .process_set = *set}),
                absl::OkStatus());
      EXPECT_EQ(one, static_cast<float>(process_set_size(*set)));
    }
  }
  EXPECT_EQ(barrier(), absl::OkStatus());
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(MpiGroup, SetsOfTheStartMayComeFromASplit) {
  // MPI runs from here on.
  ASSERT_EQ(init(), absl::OkStatus());
  absl::StatusOr<Config> config = Config::from_env();
  ASSERT_EQ(config.status(), absl::OkStatus());
  const Halves halves;
  const auto groups = groups_of(halves.mine());
  ASSERT_EQ(groups.status(), absl::OkStatus());
  ASSERT_EQ(shutdown(), absl::OkStatus());
  if (groups->size() > 1) config->process_sets = *groups;
  ASSERT_EQ(init(*config), absl::OkStatus());
  EXPECT_EQ(current_runtime().process_sets().size(),
            groups->size() > 1 ? 3u : 1u);
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

TEST(MpiGroup, RefusesWhatIsNoProcessSetOnEveryRank) {
  ASSERT_EQ(init(), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(ranks_of(MPI_COMM_NULL).status()));
  const auto nobodys = groups_of(MPI_COMM_NULL);
  ASSERT_EQ(nobodys.status(), absl::OkStatus());
  EXPECT_TRUE(nobodys->empty());
  if (size() > 1) {
    const Halves halves;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Intercomm_create(halves.mine(), 0, MPI_COMM_WORLD, 1 - rank() % 2, 5,
                         &between);
    EXPECT_TRUE(absl::IsInvalidArgument(ranks_of(between).status()));
    // One rank's alone.
    EXPECT_TRUE(absl::IsInvalidArgument(
        groups_of(rank() == 0 ? between : MPI_COMM_SELF).status()));
    MPI_Comm_free(&between);
  }
  EXPECT_EQ(shutdown(), absl::OkStatus());
}

}  // namespace
}  // namespace hvd
