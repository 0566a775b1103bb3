// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/intervals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace hvd::launcher::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Intervals, AreUnited) {
  EXPECT_THAT(united({{5, 6}, {1, 2}, {2, 3}, {1, 1}, {5, 5.5}, {9, 9}}),
              ElementsAre(Interval{1, 3}, Interval{5, 6}));
  EXPECT_THAT(united({}), IsEmpty());
}

TEST(Intervals, GrowByTheLastOne) {
  Intervals set = {{1, 2}, {3, 4}};
  add_last(set, {3.5, 5});
  EXPECT_THAT(set, ElementsAre(Interval{1, 2}, Interval{3, 5}));
  add_last(set, {0, 6});
  EXPECT_THAT(set, ElementsAre(Interval{0, 6}));
}

TEST(Intervals, IntersectAndDiffer) {
  const Intervals a = {{0, 10}, {20, 30}};
  const Intervals b = {{2, 4}, {8, 22}, {40, 50}};
  EXPECT_THAT(both(a, b),
              ElementsAre(Interval{2, 4}, Interval{8, 10}, Interval{20, 22}));
  EXPECT_THAT(without(a, b),
              ElementsAre(Interval{0, 2}, Interval{4, 8}, Interval{22, 30}));
  EXPECT_EQ(total_length(a), 20);
}

// Compares with sets of whole numbers.
TEST(Intervals, AreSetsOfPoints) {
  std::mt19937 generator(1);
  const auto random = [&generator](int below) {
    return std::uniform_int_distribution<int>(0, below - 1)(generator);
  };
  const auto any = [&] {
    Intervals set;
    for (int i = 0; i < 6; ++i) {
      const double begin = random(40);
      set.push_back({begin, begin + random(8)});
    }
    return united(set);
  };
  const auto has = [](const Intervals& set, int point) {
    for (const Interval& one : set) {
      if (one.begin <= point && point < one.end) return true;
    }
    return false;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const Intervals a = any();
    const Intervals b = any();
    for (int point = 0; point < 50; ++point) {
      ASSERT_EQ(has(both(a, b), point), has(a, point) && has(b, point));
      ASSERT_EQ(has(without(a, b), point), has(a, point) && !has(b, point));
    }
  }
}

}  // namespace
}  // namespace hvd::launcher::report
