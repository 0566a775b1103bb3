// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/largest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace hvd::compression {
namespace {

using Places = std::vector<std::uint32_t>;

Places by_sorting(const std::vector<float>& numbers, std::size_t count) {
  const auto size = [&](std::uint32_t i) {
    return std::isnan(numbers[i]) ? std::numeric_limits<float>::infinity()
                                  : std::abs(numbers[i]);
  };
  Places places(numbers.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(),
                   [&](auto a, auto b) { return size(a) > size(b); });
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

void expect_same(const std::vector<float>& numbers) {
  const std::size_t all = numbers.size();
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, all / 100, all / 3, all - 1, all}) {
    EXPECT_EQ(largest(numbers, count), by_sorting(numbers, count)) << count;
  }
}

TEST(Largest, IsAsOfSorting) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const std::size_t all : {1U, 5U, 16U, 1000U, 100'003U}) {
    std::vector<float> numbers(all);
    for (float& x : numbers) x = normal(random);
    expect_same(numbers);
  }
}

TEST(Largest, TakesTheFirstOfEqualOnes) {
  std::vector<float> numbers(20'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i % 3 == 0 ? -2.0f : static_cast<float>(i % 3);
  }
  expect_same(numbers);
  expect_same(std::vector<float>(20'000, 0.0f));
}

TEST(Largest, CountsNanAsInfinite) {
  std::vector<float> numbers(20'000, 1.0f);
  numbers[7] = std::numeric_limits<float>::quiet_NaN();
  numbers[5] = -numbers[7];
  numbers[19'000] = -std::numeric_limits<float>::infinity();
  numbers[3] = std::numeric_limits<float>::max();
  EXPECT_EQ(largest(numbers, 4), (Places{3, 5, 7, 19'000}));
}

// A regular sample meets only elements that are larger, or smaller, than the
// rest.
TEST(Largest, IsNotMisledByItsSample) {
  for (const float met : {100.0f, 1e-6f}) {
    std::vector<float> numbers(100'000, 1.0f);
    for (std::size_t i = 0; i < numbers.size(); i += 61) numbers[i] = met;
    expect_same(numbers);
  }
}

}  // namespace
}  // namespace hvd::compression
