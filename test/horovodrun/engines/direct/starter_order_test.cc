// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/engines/direct/starter_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hvd::launcher {
namespace {

TEST(StarterOrder, IsReadFromItsWords) {
  for (const StarterOrder& order :
       {StarterOrder{.hosts = {{"localhost", 4}}, .agent = {"a", "--agent"}},
        StarterOrder{.hosts = {{"a", 1}, {"b", 2}},
        .shell = {"ssh", "-p", "22"},
        .agent = {"a", "--agent", "--", "3"}}}) {
    EXPECT_EQ(parse_order(to_words(order)), order);
  }
}

TEST(StarterOrder, IsNotReadFromOtherWords) {
  using Order = std::vector<std::string>;
  for (const Order& words :
       {Order{}, Order{"a:1"}, Order{"a:1", "0"}, Order{"a:1", "1", "ssh"},
        Order{"a:1", "-1", "agent"}, Order{"a:1", "x", "agent"},
        Order{"a", "0", "agent"}, Order{"", "0", "agent"},
        Order{"a:1", "18446744073709551615", "agent"}}) {
    EXPECT_FALSE(parse_order(words)) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace hvd::launcher
