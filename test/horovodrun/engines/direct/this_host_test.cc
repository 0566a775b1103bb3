// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/this_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "horovodpp/core/job/host_name.h"

namespace hvd::launcher {
namespace {

using ::testing::HasSubstr;

TEST(ThisHost, IsFoundAmongTheHostsOfTheStart) {
  ThisHost host;
  EXPECT_EQ(host.find({{"192.0.2.1", 1}, {host_name(), 1}}).value(), 1u);
  EXPECT_TRUE(host.has_name(host_name()));
  EXPECT_FALSE(host.has_name("192.0.2.1"));
  EXPECT_EQ(ThisHost().find({{"192.0.2.1", 1}}).value(), 1u);
}

TEST(ThisHost, HasTwoNamesByMistake) {
  const auto place = ThisHost().find({{"localhost", 1}, {"127.0.0.1", 1}});
  EXPECT_TRUE(absl::IsInvalidArgument(place.status()));
  EXPECT_THAT(
      std::string(place.status().message()),
      HasSubstr("hosts 'localhost' and '127.0.0.1' are both this host"));
}

TEST(ThisHost, IsAlsoKnownByNamesThatComeLater) {
  ThisHost host;
  EXPECT_EQ(host.find({{"localhost", 1}}).value(), 0u);
  EXPECT_TRUE(host.has_name(""));
  EXPECT_TRUE(host.has_name("127.0.0.1"));
  EXPECT_FALSE(host.has_name("192.0.2.1"));
}

}  // namespace
}  // namespace hvd::launcher
