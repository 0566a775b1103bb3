// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/reduce/kernel.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "test/collective/reference.h"

namespace hvd::collective {
namespace {

using RawBytes = std::vector<std::byte>;
constexpr double kKernelInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

// Reduces one element; `values` has one value per rank.
template <typename T>
T reduce_one(const Reduction& reduction, const std::vector<T>& values) {
  const ReduceKernel kernel(reduction, static_cast<int>(values.size()));
  std::vector<const void*> inputs;
  for (const T& value : values) inputs.push_back(&value);
  T result{};
  kernel.reduce(inputs, &result, 1);
  return result;
}

// The same for any floating-point dtype, converted from double.
double reduce_floats(DType dtype, ReduceOp op,
                     const std::vector<double>& values) {
  return visit(dtype, [&]<typename T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      return 0.0;
    } else {
      std::vector<T> typed(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        put(dtype, &typed[i], 0, values[i]);
      }
      const T result = reduce_one<T>({.dtype = dtype, .op = op}, typed);
      return get(dtype, &result, 0);
    }
  });
}

constexpr std::array kFloats = {DType::kF16, DType::kBF16, DType::kF32,
                                DType::kF64};

TEST(ReduceKernel, EqualsTheReferenceForEveryTypeOpScaleAndLength) {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllOps) {
      for (const double scale : {1.0, 0.5, 2.0}) {
        const Reduction reduction = {dtype, op, scale, 1.0 / scale};
        if (!check(reduction).ok()) continue;
        for (const std::int64_t count : {0, 1, 31, 32, 33, 511, 512, 1100}) {
          for (const int ranks : {1, 2, 4}) {
            const ReduceKernel kernel(reduction, ranks);
            const std::size_t bytes =
                static_cast<std::size_t>(count) * size_of(dtype);
            std::vector<RawBytes> data;
            std::vector<const void*> inputs;
            for (int r = 0; r < ranks; ++r) {
              data.emplace_back(bytes);
              for (std::int64_t i = 0; i < count; ++i) {
                put(dtype, data.back().data(), i, small_value(dtype, op, r, i));
              }
            }
            for (const RawBytes& input : data) inputs.push_back(input.data());

            RawBytes result(bytes);
            kernel.reduce(inputs, result.data(), count);
            for (std::int64_t i = 0; i < count; ++i) {
              std::vector<double> values;
              for (const RawBytes& input : data) {
                values.push_back(get(dtype, input.data(), i));
              }
              ASSERT_EQ(get(dtype, result.data(), i),
                        reference(reduction, values))
                  << describe(reduction) << ", element " << i << " of " << count
                  << ", " << ranks << " ranks";
            }

            std::vector<long double> accumulators(
                static_cast<std::size_t>(count) + 1);
            RawBytes merged(bytes);
            // Reduces each half alone, then merges.
            const int half = ranks / 2;
            std::vector<long double> others(accumulators.size());
            kernel.load(inputs[static_cast<std::size_t>(half)], others.data(),
                        count);
            for (int r = half + 1; r < ranks; ++r) {
              kernel.combine(others.data(), inputs[static_cast<std::size_t>(r)],
                             count);
            }
            if (half > 0) {
              kernel.load(inputs[0], accumulators.data(), count);
              for (int r = 1; r < half; ++r) {
                kernel.combine(accumulators.data(),
                               inputs[static_cast<std::size_t>(r)], count);
              }
              kernel.merge(accumulators.data(), others.data(), count);
              kernel.store(accumulators.data(), merged.data(), count);
              ASSERT_EQ(merged, result) << describe(reduction);
            }

            // The output is the last input.
            kernel.reduce(inputs, data.back().data(), count);
            ASSERT_EQ(data.back(), result) << describe(reduction);
          }
        }
      }
    }
  }
}

TEST(ReduceKernel, AccumulatorsAreAtLeastAsLongAsElements) {
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllOps) {
      const Reduction reduction = {.dtype = dtype, .op = op};
      if (!check(reduction).ok()) continue;
      const ReduceKernel kernel(reduction, 2);
      EXPECT_EQ(kernel.element_bytes(), size_of(dtype));
      EXPECT_GE(kernel.accumulator_bytes(), kernel.element_bytes());
      EXPECT_LE(kernel.accumulator_bytes(), sizeof(long double));
    }
  }
}

TEST(ReduceKernel, AddsInRankOrder) {
  // Any other order of these four gives another sum.
  const std::vector<float> values = {1e8f, 1.0f, -1e8f, 0.5f};
  EXPECT_EQ(reduce_one<float>({.dtype = DType::kF32}, values),
            ((values[0] + values[1]) + values[2]) + values[3]);
}

TEST(ReduceKernel, PropagatesNaNOfAnyInput) {
  for (const DType dtype : kFloats) {
    for (const ReduceOp op : kAllOps) {
      if (!describe(op).of_floats) continue;
      for (std::size_t place = 0; place < 3; ++place) {
        std::vector<double> values = {1, -2, 3};
        values[place] = kNaN;
        EXPECT_TRUE(std::isnan(reduce_floats(dtype, op, values)))
            << name_of(op) << " of " << name_of(dtype) << " at " << place;
      }
    }
  }
}

TEST(ReduceKernel, TreatsInfinitiesAsNumbersDo) {
  for (const DType dtype : kFloats) {
    EXPECT_EQ(reduce_floats(dtype, ReduceOp::kSum, {1, kKernelInfinity}),
              kKernelInfinity);
    EXPECT_TRUE(std::isnan(reduce_floats(dtype, ReduceOp::kSum,
                                         {-kKernelInfinity, kKernelInfinity})));
    EXPECT_EQ(reduce_floats(dtype, ReduceOp::kMin, {1, -kKernelInfinity}),
              -kKernelInfinity);
    EXPECT_EQ(reduce_floats(dtype, ReduceOp::kMax, {1, -kKernelInfinity}), 1);
    EXPECT_EQ(reduce_floats(dtype, ReduceOp::kProduct, {-2, kKernelInfinity}),
              -kKernelInfinity);
  }
}

TEST(ReduceKernel, OverflowsToInfinityOnlyInTheResult) {
  // 60000 + 60000 overflows float16, but not its accumulator.
  EXPECT_EQ(reduce_floats(DType::kF16, ReduceOp::kSum, {60000, 60000}),
            kKernelInfinity);
  EXPECT_EQ(reduce_floats(DType::kF16, ReduceOp::kSum, {60000, 60000, -60000}),
            60000);
  EXPECT_EQ(reduce_floats(DType::kF16, ReduceOp::kAverage, {60000, 60000}),
            60000);
}

TEST(ReduceKernel, AccumulatesHalvesInFloat) {
  // 2048 + 1 rounds to 2048 in float16, and 256 + 1 to 256 in bfloat16.
  EXPECT_EQ(reduce_floats(DType::kF16, ReduceOp::kSum, {2048, 1, 1}), 2050);
  EXPECT_EQ(reduce_floats(DType::kBF16, ReduceOp::kSum, {256, 1, 1}), 258);
}

TEST(ReduceKernel, DividesByThreeAsDivisionDoes) {
  EXPECT_EQ(reduce_one<float>({.dtype = DType::kF32, .op = ReduceOp::kAverage},
                              {1, 3, 6}),
            10.0f / 3.0f);
  EXPECT_EQ(reduce_one<double>({.dtype = DType::kF64, .op = ReduceOp::kAverage},
                               {1, 3, 6}),
            10.0 / 3.0);
}

template <typename T>
class ReduceKernelOfIntegers : public ::testing::Test {};
using Integers = ::testing::Types<std::uint8_t, std::int8_t, std::int16_t,
                                  std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(ReduceKernelOfIntegers, Integers);

TYPED_TEST(ReduceKernelOfIntegers, AverageIsTheExactSumDividedTowardZero) {
  using T = TypeParam;
  const Reduction average = {.dtype = dtype_of<T>, .op = ReduceOp::kAverage};
  const T least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max();
  EXPECT_EQ(reduce_one<T>(average, {most, most, most}), most);
  EXPECT_EQ(reduce_one<T>(average, {least, least, least}), least);
  EXPECT_EQ(reduce_one<T>(average, {1, 1, 3}), 1);
  if (std::is_signed_v<T>) {
    EXPECT_EQ(reduce_one<T>(average, {static_cast<T>(-1), 0}), 0);
    EXPECT_EQ(reduce_one<T>(average, {static_cast<T>(-1), static_cast<T>(-2)}),
              static_cast<T>(-1));
    EXPECT_EQ(reduce_one<T>(average, {least, most}), 0);
  }
}

TYPED_TEST(ReduceKernelOfIntegers, AverageIsExactForTheMostRanks) {
  using T = TypeParam;
  const int ranks = 1 << 16;
  const ReduceKernel kernel({.dtype = dtype_of<T>, .op = ReduceOp::kAverage},
                            ranks);
  for (const T value :
       {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
    const std::vector<const void*> inputs(ranks, &value);
    T result{};
    kernel.reduce(inputs, &result, 1);
    EXPECT_EQ(result, value);
  }
}

// A float reciprocal would be inexact: 49 * (1.0 / 49) is not 1.
TYPED_TEST(ReduceKernelOfIntegers, AverageIsExactForOddNumbersOfRanks) {
  using T = TypeParam;
  for (const int ranks : {3, 7, 49, 98, 103, 1000}) {
    for (const int least : {0, std::is_signed_v<T> ? -100 : 1}) {
      std::vector<T> values;
      std::int64_t sum = 0;
      for (int r = 0; r < ranks; ++r) {
        values.push_back(static_cast<T>(r * 37 % 101 + least));
        sum += values.back();
      }
      Reduction average = {.dtype = dtype_of<T>, .op = ReduceOp::kAverage};
      EXPECT_EQ(reduce_one<T>(average, values), static_cast<T>(sum / ranks));
      // One rank does not participate; the others have equal values.
      average.participants = ranks - 1;
      std::vector<T> ones(static_cast<std::size_t>(ranks), T(1));
      ones[0] = 0;
      EXPECT_EQ(reduce_one<T>(average, ones), T(1));
    }
  }
}

TYPED_TEST(ReduceKernelOfIntegers, SumsAndProductsWrap) {
  using T = TypeParam;
  const T least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max();
  EXPECT_EQ(reduce_one<T>({.dtype = dtype_of<T>}, {most, 1}), least);
  EXPECT_EQ(reduce_one<T>({.dtype = dtype_of<T>, .op = ReduceOp::kProduct},
                          {most, most}),
            1);
  EXPECT_EQ(reduce_one<T>({.dtype = dtype_of<T>, .op = ReduceOp::kMin},
                          {most, least}),
            least);
  EXPECT_EQ(reduce_one<T>({.dtype = dtype_of<T>, .op = ReduceOp::kMax},
                          {least, most}),
            most);
}

TYPED_TEST(ReduceKernelOfIntegers, ASumIsExactBeforeItIsScaled) {
  using T = TypeParam;
  const T big = std::numeric_limits<T>::max() / 2 + 1;  // A power of two.
  EXPECT_EQ(
      reduce_one<T>({.dtype = dtype_of<T>, .postscale = 0.25}, {big, big}),
      big / 2);
}

TYPED_TEST(ReduceKernelOfIntegers, ScalesStayWithinTheType) {
  using T = TypeParam;
  const T least = std::numeric_limits<T>::min();
  const T most = std::numeric_limits<T>::max();
  const auto scaled = [](T value, double prescale, double postscale) {
    return reduce_one<T>({dtype_of<T>, ReduceOp::kMax, prescale, postscale},
                         {value});
  };
  EXPECT_EQ(scaled(most, 2, 1), most);
  EXPECT_EQ(scaled(most, -2, 1), least);
  EXPECT_EQ(scaled(most, 1, kKernelInfinity), most);
  EXPECT_EQ(scaled(most, 1, -kKernelInfinity), least);
  EXPECT_EQ(scaled(most, kNaN, 1), 0);
  EXPECT_EQ(scaled(most, 1, kNaN), 0);
  EXPECT_EQ(scaled(7, 0.5, 1), 3);
  EXPECT_EQ(scaled(7, 1, 0.5), 3);
  if (std::is_signed_v<T>) {
    EXPECT_EQ(scaled(static_cast<T>(-7), 0.5, 1), static_cast<T>(-3));
    EXPECT_EQ(scaled(static_cast<T>(-7), 1, 0.5), static_cast<T>(-3));
  }
}

TEST(ReduceKernel, TakesAnyByteButZeroForTrue) {
  const std::array<std::uint8_t, 3> a = {0, 2, 255};
  const std::array<std::uint8_t, 3> b = {0, 1, 0};
  const std::array<const void*, 2> inputs = {a.data(), b.data()};
  const auto reduce = [&](ReduceOp op) {
    std::array<std::uint8_t, 3> result = {9, 9, 9};
    ReduceKernel({.dtype = DType::kBool, .op = op}, 2)
        .reduce(inputs, result.data(), 3);
    return result;
  };
  using Result = std::array<std::uint8_t, 3>;
  EXPECT_EQ(reduce(ReduceOp::kSum), (Result{0, 1, 1}));
  EXPECT_EQ(reduce(ReduceOp::kMax), (Result{0, 1, 1}));
  EXPECT_EQ(reduce(ReduceOp::kProduct), (Result{0, 1, 0}));
  EXPECT_EQ(reduce(ReduceOp::kMin), (Result{0, 1, 0}));
}

}  // namespace
}  // namespace hvd::collective
