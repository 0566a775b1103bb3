// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/options/nearest.h"

#include <gtest/gtest.h>

#include "horovodrun/options/option.h"

namespace hvd::launcher {
namespace {

TEST(Nearest, IsTheNameWithTheFewestEdits) {
  EXPECT_EQ(nearest("cycle_time", {"cache", "cycle_time_ms"}), "cycle_time_ms");
  EXPECT_EQ(nearest("abc", {"abd", "abe"}), "abd");
  EXPECT_EQ(nearest("abc", {"xyz"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), {"a"}), "");
}

TEST(Nearest, FindsTheOptionThatWasMeant) {
  EXPECT_EQ(nearest_option("--fusion-treshold-mb"), "--fusion-threshold-mb");
  EXPECT_EQ(nearest_option("--hostflie"), "--hostfile");
  EXPECT_EQ(nearest_option("--nproc-per-nod"), "--nproc-per-node");
  EXPECT_EQ(nearest_option("--xyzzy"), "");
  // Refused: it would not help.
  EXPECT_NE(nearest_option("--jsrunn"), "--jsrun");
}

TEST(Nearest, IsSuggestedIfThereIsOne) {
  EXPECT_EQ(suggestion("--hosts", "the page"),
            "; did you mean '--hosts'? See the page. ");
  EXPECT_EQ(suggestion("", "the page"), "; see the page. ");
}

}  // namespace
}  // namespace hvd::launcher
