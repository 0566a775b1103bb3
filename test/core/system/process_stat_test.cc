// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/system/process_stat.h"

#include <gtest/gtest.h>

#include <string>

namespace hvd {
namespace {

// Field 4 is the parent, 14 and 15 are processor time, 20 is the number of threads.
std::string stat_of(const std::string& name, const std::string& state,
                    const std::string& threads) {
  return "4711 (" + name + ") " + state +
         " 815 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 " + threads + " 0 99\n";
}

TEST(ProcessStat, ParsesStateParentAndThreadsWithAnyName) {
  for (const char* name : {"python3", "a b", ") Z 1 (", ""}) {
    const auto stat = parse_process_stat(stat_of(name, "T", "12"));
    ASSERT_TRUE(stat.has_value()) << name;
    EXPECT_EQ(stat->state, 'T');
    EXPECT_EQ(stat->parent, 815);
    EXPECT_EQ(stat->threads, 12);
    EXPECT_EQ(stat->ticks, 11 + 12);
  }
}

TEST(ProcessStat, AZombieWithThreadsIsAlive) {
  EXPECT_TRUE(parse_process_stat(stat_of("sh", "D", "1"))->is_alive());
  EXPECT_TRUE(parse_process_stat(stat_of("sh", "Z", "2"))->is_alive());
  EXPECT_FALSE(parse_process_stat(stat_of("sh", "Z", "1"))->is_alive());
  EXPECT_FALSE(parse_process_stat(stat_of("sh", "X", "1"))->is_alive());
}

TEST(ProcessStat, RefusesMalformedTexts) {
  const std::string good = stat_of("sh", "S", "1");
  for (const std::string& text :
       {std::string(), std::string("4711 (sh"), std::string("4711 (sh) S 1"),
        stat_of("sh", "SS", "1"), stat_of("sh", "S", "many")}) {
    EXPECT_FALSE(parse_process_stat(text).has_value()) << text;
  }
  EXPECT_TRUE(parse_process_stat(good).has_value());
}

}  // namespace
}  // namespace hvd
