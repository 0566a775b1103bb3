// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hvd {
namespace {

// A 16-bit format by its definition: sign, `exponent_bits`, `mantissa_bits`.
template <typename Half>
struct Format;
template <>
struct Format<f16> {
  static constexpr int kExponentBits = 5;
  static constexpr int kMantissaBits = 10;
};
template <>
struct Format<bf16> {
  static constexpr int kExponentBits = 8;
  static constexpr int kMantissaBits = 7;
};

template <typename Half>
Half from_bits(unsigned bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

template <typename Half>
double by_definition(unsigned bits) {
  using F = Format<Half>;
  const int bias = (1 << (F::kExponentBits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> F::kMantissaBits) &
                       ((1 << F::kExponentBits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << F::kMantissaBits) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << F::kExponentBits) - 1) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  const int implicit = exponent == 0 ? 0 : 1 << F::kMantissaBits;
  return sign * std::ldexp(implicit + mantissa, (exponent == 0 ? 1 : exponent) -
                                                    bias - F::kMantissaBits);
}

template <typename Half>
class HalfTest : public testing::Test {
 protected:
  static constexpr unsigned kInfinity =
      ((1u << Format<Half>::kExponentBits) - 1) << Format<Half>::kMantissaBits;
};
using Halves = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryPatternHasTheValueOfItsDefinition) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const auto value = static_cast<float>(from_bits<TypeParam>(bits));
    const double expected = by_definition<TypeParam>(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

TYPED_TEST(HalfTest, EveryPatternSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits < 0x10000u; ++bits) {
    const auto value = static_cast<float>(from_bits<TypeParam>(bits));
    const TypeParam back(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
      ASSERT_EQ(back.bits & 0x8000u, bits & 0x8000u) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

TYPED_TEST(HalfTest, RoundsToTheNearestAndTiesToEven) {
  for (unsigned low = 0; low + 1 < TestFixture::kInfinity; ++low) {
    const double below = by_definition<TypeParam>(low);
    const double above = by_definition<TypeParam>(low + 1);
    const auto middle = static_cast<float>((below + above) / 2);
    const unsigned even = (low & 1u) == 0 ? low : low + 1;
    const float infinity = std::numeric_limits<float>::infinity();
    for (const unsigned sign : {0u, 0x8000u}) {
      const float s = sign == 0 ? 1.0f : -1.0f;
      ASSERT_EQ(TypeParam(s * middle).bits, sign | even) << low;
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, 0.0f)).bits, sign | low);
      ASSERT_EQ(TypeParam(s * std::nextafter(middle, infinity)).bits,
                sign | (low + 1));
    }
  }
}

TYPED_TEST(HalfTest, RoundsToInfinityFromHalfAStepPastTheLargest) {
  using F = Format<TypeParam>;
  const unsigned largest = TestFixture::kInfinity - 1;
  const double top = by_definition<TypeParam>(largest);
  const double step = top - by_definition<TypeParam>(largest - 1);
  const auto border = static_cast<float>(top + step / 2);
  EXPECT_EQ(TypeParam(std::nextafter(border, 0.0f)).bits, largest);
  EXPECT_EQ(TypeParam(border).bits, TestFixture::kInfinity);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::max()).bits,
            TestFixture::kInfinity);
  EXPECT_EQ(TypeParam(-std::numeric_limits<float>::infinity()).bits,
            0x8000u | TestFixture::kInfinity);
  EXPECT_EQ(F::kExponentBits + F::kMantissaBits, 15);
}

TYPED_TEST(HalfTest, NanStaysNanWithAnyPayload) {
  for (const std::uint32_t payload : {1u, 0x1000u, 0x2000u, 0x3fffffu}) {
    for (const std::uint32_t top : {0x7f800000u, 0xff800000u}) {
      const auto nan = std::bit_cast<float>(top | payload);
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(nan)))) << payload;
    }
  }
}

TYPED_TEST(HalfTest, ComparesAsNumbersDo) {
  EXPECT_EQ(TypeParam(0.0f), TypeParam(-0.0f));
  EXPECT_FALSE(TypeParam(1.0f) == TypeParam(1.5f));
  const TypeParam nan(std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(nan == nan);
  EXPECT_EQ(TypeParam().bits, 0u);
}

}  // namespace
}  // namespace hvd
