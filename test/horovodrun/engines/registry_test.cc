// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "horovodrun/engines/engine.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

const Environment kLocalRank = {{"HOROVODPP_RENDEZVOUS", "y"},
                                {"HOROVOD_LOCAL_RANK", "1"},
                                {"HOROVOD_LOCAL_SIZE", "2"},
                                {"HOROVOD_RANK", "1"}};
const Environment kMpirunRank = {{"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                 {"OMPI_COMM_WORLD_RANK", "5"}};

std::string engine_of(const Environment& environment) {
  const Engine* engine = engine_of_rank(environment);
  return engine == nullptr ? "none" : engine->name();
}

TEST(Engines, RecognizeTheirRanks) {
  EXPECT_EQ(engine_of(kLocalRank), "direct");
  EXPECT_EQ(engine_of(kMpirunRank), "mpirun");
  EXPECT_EQ(engine_of({{"PMI_RANK", "0"}}), "mpirun");
  EXPECT_EQ(engine_of({{"HOROVOD_RANK", "0"}}), "none");
  // A script of sbatch, and a task that srun started for its user.
  EXPECT_EQ(engine_of({{"SLURM_PROCID", "0"}}), "none");
  Environment step = kLocalRank;
  step.insert({{"HOROVODRUN_STEP", "sockets"}, {"SLURM_PROCID", "1"}});
  EXPECT_EQ(engine_of(step), "srun");
  // Started from a rank of an MPI.
  Environment both = kLocalRank;
  both["PMI_RANK"] = "0";
  EXPECT_EQ(engine_of(both), "direct");
}

TEST(Engines, TellTheRanksPlace) {
  const auto place = engine_of_rank(kMpirunRank)->place(kMpirunRank);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->local_rank, 0);
  EXPECT_EQ(place->local_size, 4);
  const auto local = engine_of_rank(kLocalRank)->place(kLocalRank);
  EXPECT_EQ(local->rank, 1);
  EXPECT_EQ(local->local_rank, 1);
  EXPECT_EQ(local->local_size, 2);
}

TEST(Engines, RemoveTheVariablesOfTheirRanks) {
  Environment rank = {
      {"HOROVODPP_LAUNCHER", "x"},           {"OMPI_COMM_WORLD_RANK", "0"},
      {"OMPI_MCA_btl", "self,vader"},        {"OMPI_MCA_ess_base_vpid", "0"},
      {"OMPI_MCA_oob_tcp_if_include", "lo"}, {"PMIX_RANK", "0"}};
  const Environment outside = {{"OMPI_MCA_btl", "self,vader"}};
  EXPECT_EQ(outside_of_jobs(rank), outside);
  rank = kLocalRank;
  rank.insert({{"HOROVODPP_LAUNCHER", "x"},
               {"HOROVODPP_JOB_KEY", "secret"},
               {"OMPI_MCA_btl", "self,vader"}});
  EXPECT_EQ(outside_of_jobs(rank), outside);
  rank = kLocalRank;
  rank.insert({{"HOROVODRUN_STEP", "sockets"},
               {"OMPI_MCA_btl", "self,vader"},
               {"SLURM_PROCID", "1"},
               {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(outside_of_jobs(rank), outside);
  const Environment task = {{"SLURM_PROCID", "1"},
                            {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(outside_of_jobs(task), task);
  const Environment shell = {{"OMPI_MCA_orte_tmpdir_base", "/x"}};
  EXPECT_EQ(outside_of_jobs(shell), shell);
}

TEST(Engines, AreChosenByName) {
  Arguments arguments;
  arguments.ranks = 2;
  arguments.command = {"./train"};
  arguments.engine = "direct";
  const auto plan = plan_start(arguments, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(std::string(plan->engine->name()), "direct");
  arguments.engine = "nothing";
  EXPECT_THAT(
      plan_start(arguments, {}).status().ToString(),
      HasSubstr(
          "there is no engine 'nothing'; there are mpirun, direct, srun"));
}

TEST(Engines, PassSignalsThroughStarters) {
  const Engine& engine = *engines()[0];
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2}) {
    EXPECT_EQ(engine.signal_for_command(disguised_signal(signal), {}), signal);
  }
  EXPECT_EQ(disguised_signal(SIGINT), SIGALRM);
  EXPECT_EQ(disguised_signal(SIGTERM), SIGABRT);
  EXPECT_EQ(disguised_signal(SIGHUP), SIGABRT);
  // Hydra sends SIGUSR1 itself.
  EXPECT_EQ(engine.signal_for_command(SIGUSR1, {{"HYDI_CONTROL_FD", "3"}}), 0);
}

}  // namespace
}  // namespace hvd::launcher
