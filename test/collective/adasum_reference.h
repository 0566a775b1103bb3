// SPDX-License-Identifier: Apache-2.0
// A slow reference for Adasum in long double, and plane calls checked against
// it. For tests.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/collective/conforming_calls.h"

namespace hvd::collective {

using Vector = std::vector<long double>;

inline constexpr DType kFloatingTypes[] = {DType::kF16, DType::kBF16,
                                           DType::kF32, DType::kF64};

inline Vector adasum_of_two(const Vector& a, const Vector& b) {
  long double ab = 0;
  long double aa = 0;
  long double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  const long double of_a = aa == 0 ? 1 : 1 - ab / (2 * aa);
  const long double of_b = bb == 0 ? 1 : 1 - ab / (2 * bb);
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] = of_a * a[i] + of_b * b[i];
  }
  return result;
}

// The Adasum of the ranks' vectors, in the tree that AdasumRound describes.
inline Vector adasum_of(std::vector<Vector> vectors) {
  const std::size_t core = std::bit_floor(vectors.size());
  for (std::size_t r = core; r < vectors.size(); ++r) {
    vectors[r - core] = adasum_of_two(vectors[r - core], vectors[r]);
  }
  for (std::size_t distance = 1; distance < core; distance *= 2) {
    for (std::size_t r = 0; r < core; r += 2 * distance) {
      vectors[r] = adasum_of_two(vectors[r], vectors[r + distance]);
    }
  }
  return vectors[0];
}

// The smallest positive number of a floating-point type.
inline double least(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 0x1p-24;
    case DType::kBF16:
      return 0x1p-133;
    case DType::kF32:
      return 0x1p-149;
    default:
      return 0x1p-1074;
  }
}

// Element i of tensor p of a rank, unrounded; the user rounds it to the dtype.
using Values = std::function<double(int rank, std::size_t p, std::int64_t i)>;

// Positive and negative numbers whose mean is not zero, so that vectors
// correlate.
inline double mixed_value(int rank, std::size_t p, std::int64_t i) {
  std::minstd_rand random(static_cast<unsigned>(
      1 + rank * 7919 + static_cast<int>(p) * 104729 + i * 31));
  random.discard(3);
  return static_cast<double>(random() % 20001) / 10000 - 0.7;
}

struct AdasumCase {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> counts = {};
  Values values = mixed_value;
  bool in_place = false;
  double prescale = 1;
  double postscale = 1;

  Reduction reduction() const {
    return {dtype, ReduceOp::kAdasum, prescale, postscale};
  }

  double rounded(int rank, std::size_t p, std::int64_t i) const {
    double memory = 0;
    put(dtype, &memory, 0, values(rank, p, i));
    return get(dtype, &memory, 0);
  }
};

// The expected elements of tensor p, and their allowed errors. The error covers
// one rounding of the result, and the rounding of accumulators as large as the
// sum of magnitudes.
struct Expected {
  Vector values;
  Vector slack;
};

inline Expected expected_of(const AdasumCase& test, int ranks, std::size_t p) {
  const auto count = static_cast<std::size_t>(test.counts[p]);
  std::vector<Vector> vectors(static_cast<std::size_t>(ranks), Vector(count));
  Expected expected = {{}, Vector(count)};
  for (int r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < count; ++i) {
      const long double value =
          test.rounded(r, p, static_cast<std::int64_t>(i)) *
          static_cast<long double>(test.prescale);
      vectors[static_cast<std::size_t>(r)][i] = value;
      expected.slack[i] += std::abs(value);
    }
  }
  expected.values = adasum_of(std::move(vectors));
  const DType accumulator =
      test.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  for (std::size_t i = 0; i < count; ++i) {
    expected.values[i] *= test.postscale;
    const long double all = expected.slack[i];
    expected.slack[i] = 16 * (all * epsilon(accumulator) + least(accumulator)) *
                            std::abs(test.postscale) +
                        std::abs(expected.values[i]) * epsilon(test.dtype) +
                        least(test.dtype);
  }
  return expected;
}

inline std::string describe(const AdasumCase& test) {
  std::string text = absl::StrCat(describe(test.reduction()),
                                  test.in_place ? ", in place" : "", ", of");
  for (const std::int64_t count : test.counts)
    absl::StrAppend(&text, " ", count);
  return text;
}

// Runs the case and returns its results. An error fails the test.
inline std::vector<Bytes> adasum_results(Member& member,
                                         const AdasumCase& test) {
  Tensors tensors(test.dtype, test.counts);
  tensors.for_each([&](std::size_t p, std::int64_t i, std::int64_t) {
    put(test.dtype, tensors.inputs[p].data(), i,
        test.values(member.rank, p, i));
  });
  const std::vector<Bytes> before = tensors.inputs;
  const absl::Status status = member.plane.allreduce(
      tensors.pieces(test.in_place), test.reduction(), member.next());
  EXPECT_EQ(status, absl::OkStatus()) << describe(test);
  if (test.in_place) return tensors.inputs;
  EXPECT_TRUE(tensors.inputs == before) << "the inputs of " << describe(test);
  return tensors.outputs;
}

// Runs the case and compares with the reference. On a mismatch, reports one
// failure and returns false.
inline bool adasum_conforms(Member& member, const AdasumCase& test) {
  const std::vector<Bytes> results = adasum_results(member, test);
  for (std::size_t p = 0; p < results.size(); ++p) {
    const Expected expected = expected_of(test, member.ranks, p);
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      const double result =
          get(test.dtype, results[p].data(), static_cast<std::int64_t>(i));
      if (std::abs(result - expected.values[i]) <= expected.slack[i]) continue;
      ADD_FAILURE() << describe(test) << " on rank " << member.rank << " of "
                    << member.ranks << ": element " << i << " of tensor " << p
                    << " is " << result << " and not "
                    << static_cast<double>(expected.values[i]);
      return false;
    }
  }
  return !::testing::Test::HasFailure();
}

}  // namespace hvd::collective
