// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/thread/threads.h"

#include <gtest/gtest.h>

namespace hvd {
namespace {

TEST(Threads, AreTheChosenElseTheDefaultNumberElseTheCores) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_EQ(chosen_num_threads(), 0);
  EXPECT_EQ(get_num_threads(), usable_cores());
  set_default_num_threads(3);
  EXPECT_EQ(get_num_threads(), 3);
  set_num_threads(5);
  set_default_num_threads(2);
  EXPECT_EQ(get_num_threads(), 5);
  EXPECT_EQ(chosen_num_threads(), 5);
  set_num_threads(-1);
  EXPECT_EQ(get_num_threads(), 1);
}

}  // namespace
}  // namespace hvd
