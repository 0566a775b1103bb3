// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/halves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "test/support/vector_targets.h"

namespace hvd::autograd {
namespace {

template <typename T>
std::vector<T> all_halves() {
  std::vector<T> halves(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    halves[i].bits = static_cast<std::uint16_t>(i);
  }
  return halves;
}

// The values of 16-bit types, their neighbors and midpoints, and random bits:
// among them subnormal numbers, ties, infinities and NaN.
std::vector<float> many_floats() {
  std::vector<float> floats;
  const auto add = [&](float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (const std::uint32_t step : {0u, 1u, 0xffffffffu, 0x1000u, 0x8000u}) {
      floats.push_back(std::bit_cast<float>(bits + step));
    }
  };
  for (const f16 half : all_halves<f16>()) add(static_cast<float>(half));
  for (const bf16 half : all_halves<bf16>()) add(static_cast<float>(half));
  std::uint32_t bits = 1;
  for (int i = 0; i < 100'000; ++i) {
    floats.push_back(std::bit_cast<float>(bits));
    bits = bits * 1664525u + 1013904223u;
  }
  return floats;
}

template <typename T>
void expect_widened() {
  const std::vector<T> halves = all_halves<T>();
  std::vector<float> wide(halves.size());
  widen(halves.data(), wide.data(), wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    const auto wanted = static_cast<float>(halves[i]);
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
                std::bit_cast<std::uint32_t>(wanted))
          << i;
    }
  }
}

template <typename T>
void expect_narrowed(const std::vector<float>& floats) {
  std::vector<T> halves(floats.size());
  narrow(floats.data(), halves.data(), halves.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(halves[i].bits, T(floats[i]).bits)
        << std::bit_cast<std::uint32_t>(floats[i]);
  }
}

TEST(Halves, AreConvertedBitForBitByEveryInstructionSet) {
  const std::vector<float> floats = many_floats();
  for_each_target([&] {
    expect_widened<f16>();
    expect_widened<bf16>();
    expect_narrowed<f16>(floats);
    expect_narrowed<bf16>(floats);
  });
}

TEST(Halves, AreConvertedInRowsOfEveryLength) {
  for_each_target([] {
    for (std::size_t n = 0; n < 70; ++n) {
      std::vector<bf16> halves(n + 1, bf16(7.0f));
      std::vector<float> floats(n + 1, -1.0f);
      widen(halves.data(), floats.data(), n);
      EXPECT_EQ(floats[n], -1.0f);
      std::fill_n(floats.begin(), n, 2.0f);
      narrow(floats.data(), halves.data(), n);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(halves[i], bf16(2.0f));
      EXPECT_EQ(halves[n], bf16(7.0f));
    }
  });
}

}  // namespace
}  // namespace hvd::autograd
