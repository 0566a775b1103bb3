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
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{}, Words{"a:1"}, Words{"a:1", "0"}, Words{"a:1", "1", "ssh"},
        Words{"a:1", "-1", "agent"}, Words{"a:1", "x", "agent"},
        Words{"a", "0", "agent"}, Words{"", "0", "agent"},
        Words{"a:1", "18446744073709551615", "agent"}}) {
    EXPECT_FALSE(parse_order(words)) << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace hvd::launcher
