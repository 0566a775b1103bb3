// SPDX-License-Identifier: Apache-2.0
// Compares the bits of ReduceKernels, on every instruction set of this machine,
// with a reduction of one element at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "horovodpp/collective/reduce/kernel.h"
#include "test/collective/reduce/scalar_reduction.h"
#include "test/collective/reference.h"
#include "test/support/vector_targets.h"

namespace hvd::collective {
namespace {

constexpr std::int64_t kLongest = 130;
constexpr std::size_t kMaxInputs = 9;
constexpr std::byte kUnwritten{0xAB};

// A number of any size, including infinities, NaN and subnormals. `small`:
// numbers whose products do not wrap.
template <typename T>
T any_value(std::mt19937_64& random, bool small) {
  const std::uint64_t bits = random();
  if constexpr (std::is_same_v<T, bool>) {
    return bits % 3 != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!small) return static_cast<T>(bits);
    return static_cast<T>(std::is_signed_v<T> ? static_cast<int>(bits % 5) - 2
                                              : static_cast<int>(bits % 3));
  } else {
    T value;
    if (bits % 4 == 0) {
      std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
      return value;
    }
    using A = std::conditional_t<kIsHalf<T>, float, T>;
    constexpr std::array<double, 8> kSpecial = {0.0,   -0.0,  1.0,      1e-40,
                                                -6e-8, 65504, INFINITY, NAN};
    if (bits % 4 == 1) return T(static_cast<A>(kSpecial[(bits >> 8) % 8]));
    return T(static_cast<A>(static_cast<double>(bits >> 40) * 1e-3 - 8000));
  }
}

// Inputs, each at an unaligned address, and the expected results.
template <typename T>
struct Case {
  Reduction reduction;
  std::vector<std::vector<std::byte>> memory;
  std::vector<const void*> inputs;
  std::vector<T> expected;

  Case(const Reduction& r, std::size_t ranks, std::int64_t count)
      : reduction(r) {
    reduction.participants = static_cast<int>(ranks);
    std::mt19937_64 random(ranks);
    const bool small = r.prescale != 1.0 || r.postscale != 1.0 ||
                       (r.op == ReduceOp::kAverage && sizeof(T) == 8);
    const auto length = static_cast<std::size_t>(count);
    // One row per element. Not a vector of vectors, because vector<bool> has no
    // addressable elements.
    std::vector<std::array<T, kMaxInputs>> rows(length);
    for (auto& row : rows) {
      for (T& value : row) value = any_value<T>(random, small);
      expected.push_back(
          scalar_reduction<T>(reduction, std::span(row).first(ranks)));
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t skipped = (rank * 5 + 1) % 16 * sizeof(T);
      memory.emplace_back(skipped + length * sizeof(T));
      std::byte* const place = memory.back().data() + skipped;
      for (std::size_t i = 0; i < length; ++i) {
        std::memcpy(place + i * sizeof(T), &rows[i][rank], sizeof(T));
      }
      inputs.push_back(place);
    }
  }

  ReduceKernel kernel() const {
    return {reduction, static_cast<int>(inputs.size())};
  }

  // Equal bits, except that any of several NaN inputs may be returned.
  ::testing::AssertionResult matches(const void* results, std::size_t first,
                                     std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      T result;
      std::memcpy(static_cast<void*>(&result),
                  static_cast<const std::byte*>(results) + i * sizeof(T),
                  sizeof(T));
      const T wanted = expected[first + i];
      if (std::memcmp(&result, &wanted, sizeof(T)) == 0) continue;
      const double a = get(dtype_of<T>, &result, 0);
      const double b = get(dtype_of<T>, &wanted, 0);
      if (std::isnan(a) && std::isnan(b)) continue;
      return ::testing::AssertionFailure()
             << describe(reduction) << " of " << inputs.size()
             << " inputs: element " << first + i << " of " << first + count
             << " is " << a << ", not " << b;
    }
    return ::testing::AssertionSuccess();
  }
};

// Calls `test` with a Case of every dtype, op and kind of scale.
template <typename F>
void for_each_case(std::vector<std::size_t> ranks, std::int64_t count,
                   const F& test) {
  constexpr std::array<std::array<double, 2>, 5> kScales = {
      {{1, 1}, {0.5, 1}, {1, 3}, {0.3, 1.7}, {-1, -0.25}}};
  for (const DType dtype : kAllDTypes) {
    visit(dtype, [&]<typename T>(TypeTag<T>) {
      for (const ReduceOp op : kAllOps) {
        for (const auto& [prescale, postscale] : kScales) {
          const Reduction reduction = {dtype, op, prescale, postscale};
          if (!check(reduction).ok()) continue;
          for (const std::size_t n : ranks) {
            const Case<T> made(reduction, n, count);
            for_each_target([&] { test(made); });
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }
    });
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(ReduceKernelBits, AreThoseOfOneElementAtATimeForEveryLength) {
  for_each_case(
      {1, 2, 3, 4, 5, 6, 7, 8, 9}, kLongest,
      []<typename T>(const Case<T>& made) {
        const ReduceKernel kernel = made.kernel();
        std::vector<std::byte> room((kLongest + 8) * sizeof(T));
        for (std::int64_t count = 0; count <= kLongest; ++count) {
          const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
          std::byte* const output =
              &room[static_cast<std::size_t>(count % 7) * sizeof(T)];
          std::fill(room.begin(), room.end(), kUnwritten);
          kernel.reduce(made.inputs, output, count);
          ASSERT_TRUE(made.matches(output, 0, static_cast<std::size_t>(count)));
          ASSERT_TRUE(std::all_of(output + bytes, room.data() + room.size(),
                                  [](std::byte b) { return b == kUnwritten; }));
        }
      });
}

TEST(ReduceKernelBits, DoNotDependOnHowElementsAreCutIntoCalls) {
  for_each_case({2, 5}, kLongest, []<typename T>(const Case<T>& made) {
    const ReduceKernel kernel = made.kernel();
    std::vector<std::byte> output(kLongest * sizeof(T));
    for (const std::int64_t step : {1, 3, 17, 64}) {
      std::vector<const void*> inputs = made.inputs;
      for (std::int64_t at = 0; at < kLongest; at += step) {
        const std::int64_t count = std::min(step, kLongest - at);
        kernel.reduce(inputs, &output[static_cast<std::size_t>(at) * sizeof(T)],
                      count);
        for (const void*& input : inputs) {
          input = static_cast<const T*>(input) + count;
        }
      }
      ASSERT_TRUE(made.matches(output.data(), 0, kLongest));
    }
  });
}

TEST(ReduceKernelBits, AreTheSameInLoadsCombinationsAndAStore) {
  for_each_case({1, 3}, kLongest, []<typename T>(const Case<T>& made) {
    const ReduceKernel kernel = made.kernel();
    for (const std::int64_t count : {0, 1, 31, 64, 130}) {
      std::vector<std::byte> output((kLongest + 1) * sizeof(T), kUnwritten);
      std::vector<long double> memory(kLongest + 1);
      void* const accumulators = reinterpret_cast<std::byte*>(memory.data()) +
                                 kernel.accumulator_bytes();
      kernel.load(made.inputs[0], accumulators, count);
      for (std::size_t r = 1; r < made.inputs.size(); ++r) {
        kernel.combine(accumulators, made.inputs[r], count);
      }
      kernel.store(accumulators, output.data(), count);
      ASSERT_TRUE(
          made.matches(output.data(), 0, static_cast<std::size_t>(count)));
      ASSERT_EQ(output[static_cast<std::size_t>(count) * sizeof(T)],
                kUnwritten);
    }
  });
}

// Several blocks and a remainder.
constexpr std::int64_t kLong = 10'007;

TEST(ReduceKernelBits, ReachEveryOutputEvenInPlace) {
  for_each_case({1, 2, 4}, kLong, []<typename T>(const Case<T>& made) {
    const ReduceKernel kernel = made.kernel();
    const std::size_t ranks = made.inputs.size();
    // All aligned alike, or each differently.
    for (const std::size_t offset : {std::size_t{0}, sizeof(T)}) {
      std::vector<std::vector<std::byte>> memory;
      std::vector<const void*> inputs;
      std::vector<void*> outputs;
      for (std::size_t r = 0; r <= ranks; ++r) {
        memory.emplace_back(kLong * sizeof(T) + 128, kUnwritten);
        std::byte* place = memory.back().data();
        const auto unaligned = reinterpret_cast<std::uintptr_t>(place) % 64;
        place += (64 - unaligned) % 64 + 8 + r * offset;
        outputs.push_back(place);
        if (r == ranks) continue;  // This output is not an input.
        std::memcpy(place, made.inputs[r], kLong * sizeof(T));
        inputs.push_back(place);
      }
      kernel.reduce(inputs, outputs, kLong);
      for (void* output : outputs) {
        ASSERT_TRUE(made.matches(output, 0, kLong));
        ASSERT_EQ(static_cast<std::byte*>(output)[kLong * sizeof(T)],
                  kUnwritten);
      }
    }
  });
}

// Every 16-bit number, unscaled and scaled so that it needs rounding.
TEST(ReduceKernelBits, ConvertHalvesAsTheirTypesDo) {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::uint16_t>(i);
  }
  const void* const inputs[] = {all.data()};
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    for (const double scale : {1.0, 0.99609375, 0x1p-15, 1.00390625}) {
      for_each_target([&] {
        std::vector<std::uint16_t> results(all.size());
        ReduceKernel({.dtype = dtype, .prescale = scale}, 1)
            .reduce(inputs, results.data(), 1 << 16);
        visit(dtype, [&]<typename T>(TypeTag<T>) {
          if constexpr (kIsHalf<T>) {
            for (std::size_t i = 0; i < all.size(); ++i) {
              T value;
              value.bits = all[i];
              const float scaled = static_cast<float>(value);
              const T wanted(scale == 1.0 ? scaled
                                          : scaled * static_cast<float>(scale));
              ASSERT_EQ(results[i], wanted.bits) << i << " times " << scale;
            }
          }
        });
      });
    }
  }
}

}  // namespace
}  // namespace hvd::collective
