// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "test/collective/reference.h"
#include "test/support/vector_targets.h"

namespace hvd::collective {
namespace {

constexpr std::array kExtraFloats = {DType::kF16, DType::kBF16, DType::kF32,
                                     DType::kF64};
constexpr double kExtraInfinity = std::numeric_limits<double>::infinity();

// What is found in the sum of `numbers` and zeros.
Findings findings_of(DType dtype, const std::vector<double>& numbers,
                     Findings findings = {}) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<double> first(numbers.size() + 1);
  std::vector<double> second(numbers.size() + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    put(dtype, first.data(), i, numbers[static_cast<std::size_t>(i)]);
    put(dtype, second.data(), i, 0);
  }
  const void* const inputs[] = {first.data(), second.data()};
  void* const outputs[] = {first.data()};
  ReduceKernel({.dtype = dtype}, 2)
      .reduce(inputs, outputs, count, {.findings = &findings});
  return findings;
}

TEST(Findings, AreTheSquaredNormOfEveryLength) {
  for_each_target([] {
    for (const DType dtype : kExtraFloats) {
      for (const std::size_t count : {0, 1, 31, 32, 33, 511, 1024, 5000}) {
        std::vector<double> numbers(count);
        double norm = 0;
        for (std::size_t i = 0; i < count; ++i) {
          numbers[i] = static_cast<double>(i % 13) - 6;
          norm += numbers[i] * numbers[i];
        }
        const Findings findings = findings_of(dtype, numbers);
        ASSERT_EQ(findings.squared_norm, norm) << name_of(dtype);
        ASSERT_TRUE(findings.finite);
      }
    }
  });
}

TEST(Findings, HaveTheSameBitsOnEveryInstructionSet) {
  std::vector<double> numbers(3001);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<double>(i));
  }
  for (const DType dtype : kExtraFloats) {
    const double norm = findings_of(dtype, numbers).squared_norm;
    EXPECT_NEAR(norm, 1500, 10);
    for_each_target(
        [&] { ASSERT_EQ(findings_of(dtype, numbers).squared_norm, norm); });
  }
}

TEST(Findings, TellInfinityAndNaNWhereverTheyAre) {
  for_each_target([] {
    for (const DType dtype : kExtraFloats) {
      for (const double bad : {kExtraInfinity, -kExtraInfinity, std::nan("")}) {
        for (const std::size_t place : {0, 1, 63, 128, 129}) {
          std::vector<double> numbers(130, 1.0);
          numbers[place] = bad;
          ASSERT_FALSE(findings_of(dtype, numbers).finite)
              << name_of(dtype) << " at " << place;
        }
      }
    }
  });
}

TEST(Findings, OfNumbersWhoseSquaresOverflowAreFinite) {
  for_each_target([] {
    std::vector<double> numbers(5000, 1e200);
    const Findings findings = findings_of(DType::kF64, numbers);
    ASSERT_TRUE(findings.finite);
    ASSERT_EQ(findings.squared_norm, kExtraInfinity);
    numbers[4999] = kExtraInfinity;
    ASSERT_FALSE(findings_of(DType::kF64, numbers).finite);
  });
}

TEST(Findings, AreOfWhatIsStoredNotOfWhatWasAdded) {
  // 60000 + 60000 is beyond float16.
  const f16 big(60000.0f);
  const void* const inputs[] = {&big, &big};
  f16 sum;
  void* const outputs[] = {&sum};
  Findings findings;
  ReduceKernel({.dtype = DType::kF16}, 2)
      .reduce(inputs, outputs, 1, {.findings = &findings});
  EXPECT_FALSE(findings.finite);
}

TEST(Findings, AddUpOverCalls) {
  Findings findings = findings_of(DType::kF32, {3, 4});
  findings = findings_of(DType::kF32, {1, kExtraInfinity}, findings);
  EXPECT_FALSE(findings.finite);
  findings =
      findings_of(DType::kF32, {3, 4}, {.finite = false, .squared_norm = 2});
  EXPECT_FALSE(findings.finite);
  EXPECT_EQ(findings.squared_norm, 27);
}

TEST(Findings, AreNotMadeOfIntegers) {
  const std::vector<std::int32_t> numbers = {1, 2, 3};
  const void* const inputs[] = {numbers.data()};
  std::vector<std::int32_t> result(3);
  void* const outputs[] = {result.data()};
  Findings findings;
  ReduceKernel({.dtype = DType::kI32}, 1)
      .reduce(inputs, outputs, 3, {.findings = &findings});
  EXPECT_EQ(result, numbers);
  EXPECT_EQ(findings.squared_norm, 0);
  EXPECT_TRUE(findings.finite);
}

TEST(Update, SeesEveryElementOnceAndInOrderAndItsChangesAreStored) {
  for (const DType dtype : kAllDTypes) {
    visit(dtype, [&]<typename T>(TypeTag<T>) {
      if constexpr (!std::is_same_v<T, bool>) {
        constexpr std::int64_t kCount = 9001;
        std::vector<T> input(kCount);
        for (std::int64_t i = 0; i < kCount; ++i) {
          put(dtype, input.data(), i, static_cast<double>(i % 5));
        }
        std::int64_t seen = 0;
        const Update update = [&](void* elements, std::int64_t count,
                                  std::int64_t offset) {
          ASSERT_EQ(offset, seen);
          ASSERT_GT(count, 0);
          seen += count;
          for (std::int64_t i = 0; i < count; ++i) {
            const double was = get(dtype, elements, i);
            ASSERT_EQ(was, static_cast<double>(2 * ((offset + i) % 5)));
            put(dtype, elements, i, was + 1);
          }
        };
        std::vector<T> first(kCount);
        std::vector<T> second = input;
        const void* const inputs[] = {input.data(), second.data()};
        void* const outputs[] = {first.data(), second.data()};
        Findings findings;
        seen = 0;
        ReduceKernel({.dtype = dtype}, 2)
            .reduce(inputs, outputs, kCount,
                    {.findings = &findings, .update = &update});
        EXPECT_EQ(seen, kCount);
        for (std::int64_t i = 0; i < kCount; ++i) {
          const auto wanted = static_cast<double>(2 * (i % 5) + 1);
          ASSERT_EQ(get(dtype, first.data(), i), wanted) << name_of(dtype);
          ASSERT_EQ(get(dtype, second.data(), i), wanted);
        }
        // Found before they were changed: squares of 0, 2, 4, 6, 8.
        if (is_floating_point(dtype)) {
          EXPECT_EQ(findings.squared_norm, 1800 * 120 + 0);
        }
      }
    });
  }
}

TEST(Update, OfNothingIsNotCalled) {
  const Update update = [](void*, std::int64_t, std::int64_t) { FAIL(); };
  const void* const inputs[] = {nullptr};
  void* const outputs[] = {nullptr};
  ReduceKernel({.dtype = DType::kF32}, 1)
      .reduce(inputs, outputs, 0, {.update = &update});
}

}  // namespace
}  // namespace hvd::collective
