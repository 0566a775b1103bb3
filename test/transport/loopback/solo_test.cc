// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/loopback/solo.h"

#include <gtest/gtest.h>

namespace hvd::transport {
namespace {

TEST(SoloCommunicator, IsAJobOfOne) {
  const auto solo = make_solo_communicator();
  EXPECT_EQ(solo->rank(), 0);
  EXPECT_EQ(solo->size(), 1);
}

}  // namespace
}  // namespace hvd::transport
