// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/node/node_settings.h"

#include <gtest/gtest.h>

namespace hvd::launcher {
namespace {

// For any number of ranks on a node.
const Environment kNotBound = {{"OMPI_MCA_orte_bound_at_launch", "1"}};

// For several ranks on a node.
Environment with_no_direct_copies(Environment settings) {
  settings.insert(kNotBound.begin(), kNotBound.end());
  settings["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
  settings["OMPI_MCA_smsc"] = "^cma";
  return settings;
}

TEST(NodeSettings, OfOneRankSayOnlyThatItsCoresAreSeenTo) {
  EXPECT_EQ(node_settings({.ranks = 1, .cores = 8}, {}), kNotBound);
}

TEST(NodeSettings, ShareTheCoresAndDisableDirectCopies) {
  EXPECT_EQ(node_settings({.ranks = 3, .cores = 8}, {}),
            with_no_direct_copies({{"OMP_NUM_THREADS", "2"}}));
}

TEST(NodeSettings, YieldIfRanksOutnumberCores) {
  EXPECT_EQ(node_settings({.ranks = 4, .cores = 2}, {}),
            with_no_direct_copies({{"OMPI_MCA_mpi_yield_when_idle", "1"},
                                   {"OMP_NUM_THREADS", "1"}}));
  EXPECT_EQ(node_settings({.ranks = 2, .cores = 2}, {}),
            with_no_direct_copies({{"OMP_NUM_THREADS", "1"}}));
}

TEST(NodeSettings, LeaveTheUsersAlone) {
  EXPECT_EQ(node_settings({.ranks = 4, .cores = 2},
                          {{"OMP_NUM_THREADS", "7"},
                           {"OMPI_MCA_btl_vader_single_copy_mechanism", "cma"},
                           {"OMPI_MCA_mpi_yield_when_idle", "0"},
                           {"OMPI_MCA_orte_bound_at_launch", "0"},
                           {"OMPI_MCA_smsc", "cma"}}),
            Environment());
}

}  // namespace
}  // namespace hvd::launcher
