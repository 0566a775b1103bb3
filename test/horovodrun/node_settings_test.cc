#include "horovodrun/node_settings.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

TEST(NodeSettings, AreNoneForOneRank) {
  EXPECT_EQ(node_settings({.ranks = 1, .cores = 8}, {}), Environment());
}

TEST(NodeSettings, ShareTheCores) {
  EXPECT_EQ(node_settings({.ranks = 3, .cores = 8}, {}),
            (Environment{{"OMP_NUM_THREADS", "2"}}));
}

TEST(NodeSettings, YieldWhereRanksOutnumberCores) {
  EXPECT_EQ(node_settings({.ranks = 4, .cores = 2}, {}),
            (Environment{{"OMPI_MCA_mpi_yield_when_idle", "1"},
                         {"OMP_NUM_THREADS", "1"}}));
}

TEST(NodeSettings, AvoidDirectCopiesWhereTheyAreForbidden) {
  EXPECT_EQ(node_settings({.ranks = 1, .cores = 1, .reads_memory = false}, {}),
            (Environment{{"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                         {"OMPI_MCA_smsc", "^cma"}}));
}

TEST(NodeSettings, LeaveTheUsersAlone) {
  EXPECT_EQ(node_settings({.ranks = 4, .cores = 2},
                          {{"OMP_NUM_THREADS", "7"},
                           {"OMPI_MCA_mpi_yield_when_idle", "0"}}),
            Environment());
}

TEST(UsableCores, IsAtLeastOne) { EXPECT_GE(usable_cores(), 1); }

TEST(MayReadMemory, GivesTheSameAnswerTwice) {
  EXPECT_EQ(may_read_memory(), may_read_memory());
}

}  // namespace
}  // namespace hvd::launcher
