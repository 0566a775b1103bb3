// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/kernel/products/blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::autograd::blas {
namespace {

template <typename T>
void multiply_in_every_orientation() {
  // [1 2 3; 4 5 6] [7 8; 9 10; 11 12]
  const std::array<T, 6> a{1, 2, 3, 4, 5, 6}, a_t{1, 4, 2, 5, 3, 6};
  const std::array<T, 6> b{7, 8, 9, 10, 11, 12}, b_t{7, 9, 11, 8, 10, 12};
  const std::array<Matrix<const T>, 2> lefts{
      {{a.data(), 3}, {a_t.data(), 2, true}}};
  const std::array<Matrix<const T>, 2> rights{
      {{b.data(), 2}, {b_t.data(), 3, true}}};
  for (const auto& left : lefts) {
    for (const auto& right : rights) {
      // Earlier values of c do not count.
      std::array<T, 4> c{T(NAN), T(NAN), T(NAN), T(NAN)};
      gemm({2, 2, 3}, left, right, Matrix<T>{c.data(), 2});
      EXPECT_THAT(c, testing::ElementsAre(58, 64, 139, 154));
    }
  }
}

TEST(Gemm, MultipliesInEveryOrientation) {
  multiply_in_every_orientation<float>();
  multiply_in_every_orientation<double>();
}

// Small whole numbers, of which sums are exact in any order.
template <typename T>
std::vector<T> numbers(std::int64_t count, int seed) {
  std::vector<T> made;
  for (std::int64_t i = 0; i < count; ++i) {
    made.push_back(static_cast<T>((i * 7 + seed * 5) % 11 - 5));
  }
  return made;
}

// Element (i, j) of a matrix.
template <typename T>
T at(const Matrix<const T>& m, std::int64_t i, std::int64_t j) {
  return m.transposed ? m.data[j * m.stride + i] : m.data[i * m.stride + j];
}

template <typename T>
void expect_product(const GemmSize& size, Matrix<const T> a, Matrix<const T> b,
                    T before, const std::vector<T>& c) {
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      T sum = before;
      for (std::int64_t k = 0; k < size.k; ++k)
        sum += at(a, i, k) * at(b, k, j);
      ASSERT_EQ(c[static_cast<std::size_t>(i * size.n + j)], sum)
          << i << ", " << j;
    }
  }
}

// Large enough for whichever library is the fastest.
constexpr GemmSize kLarge{96, 80, 112};

template <typename T>
void multiply_large_ones() {
  const auto a = numbers<T>(kLarge.m * kLarge.k, 1);
  const auto b = numbers<T>(kLarge.k * kLarge.n, 2);
  for (bool left : {false, true}) {
    for (bool right : {false, true}) {
      const Matrix<const T> x{a.data(), left ? kLarge.m : kLarge.k, left};
      const Matrix<const T> y{b.data(), right ? kLarge.k : kLarge.n, right};
      std::vector<T> c(static_cast<std::size_t>(kLarge.m * kLarge.n), T(NAN));
      gemm(kLarge, x, y, Matrix<T>{c.data(), kLarge.n});
      expect_product(kLarge, x, y, T(0), c);
      std::fill(c.begin(), c.end(), T(3));
      gemm_add(kLarge, x, y, Matrix<T>{c.data(), kLarge.n});
      expect_product(kLarge, x, y, T(3), c);
    }
  }
}

TEST(Gemm, MultipliesLargeMatricesInEveryOrientation) {
  multiply_large_ones<float>();
  multiply_large_ones<double>();
}

template <typename T>
void multiply_many_by_one(bool adds, bool transposed) {
  const GemmSize size{5, 80, 64};
  const auto a = numbers<T>(2 * size.m * size.k, 3);
  const auto b = numbers<T>(size.k * size.n, 4);
  const Matrix<const T> y{b.data(), transposed ? size.k : size.n, transposed};
  const auto multiply = multiply_by({.size = size,
                                     .a_stride = size.k,
                                     .c_stride = size.n,
                                     .times = 8,
                                     .adds = adds},
                                    y);
  for (std::int64_t i = 0; i < 2; ++i) {
    const T* left = a.data() + i * size.m * size.k;
    std::vector<T> c(static_cast<std::size_t>(size.m * size.n),
                     adds ? T(2) : T(NAN));
    multiply(left, c.data());
    expect_product(size, Matrix<const T>{left, size.k}, y, T(adds ? 2 : 0), c);
  }
}

TEST(Gemm, MultipliesManyByOne) {
  for (bool adds : {false, true}) {
    for (bool transposed : {false, true}) {
      multiply_many_by_one<float>(adds, transposed);
      multiply_many_by_one<double>(adds, transposed);
    }
  }
}

TEST(Gemm, MultipliesBfloat16InEveryOrientation) {
  const auto narrow = [](const std::vector<float>& values) {
    return std::vector<bf16>(values.begin(), values.end());
  };
  const auto a = narrow({1, 2, 3, 4, 5, 6}), a_t = narrow({1, 4, 2, 5, 3, 6});
  const auto b = narrow({7, 8, 9, 10, 11, 12});
  const auto b_t = narrow({7, 9, 11, 8, 10, 12});
  const std::array<Matrix<const bf16>, 2> lefts{
      {{a.data(), 3}, {a_t.data(), 2, true}}};
  const std::array<Matrix<const bf16>, 2> rights{
      {{b.data(), 2}, {b_t.data(), 3, true}}};
  for (const auto& left : lefts) {
    for (const auto& right : rights) {
      // Rows of three, of which two are written.
      auto c = narrow({NAN, NAN, 5, NAN, NAN, 5});
      if (!gemm({2, 2, 3}, left, right, Matrix<bf16>{c.data(), 3})) {
        GTEST_SKIP() << "no fast product of bfloat16 here";
      }
      const std::vector<float> wide(c.begin(), c.end());
      EXPECT_THAT(wide, testing::ElementsAre(58, 64, 5, 139, 154, 5));
    }
  }
}

TEST(Gemm, AddsUpBfloat16InFloat32) {
  // In bfloat16, 256 + 1 is 256.
  const std::vector<bf16> ones(1000, bf16(1.0F));
  bf16 sum(0.0F);
  if (!gemm({1, 1, 1000}, {ones.data(), 1000}, {ones.data(), 1},
            Matrix<bf16>{&sum, 1})) {
    GTEST_SKIP() << "no fast product of bfloat16 here";
  }
  EXPECT_EQ(static_cast<float>(sum), 1000);
}

TEST(Gemm, RefusesSizesBeyondTheBlas) {
  const float x = 1;
  float y = 0;
  EXPECT_THROW(gemm({1, 1, std::int64_t{1} << 31}, {&x, 1}, {&x, 1}, {&y, 1}),
               InvalidArgument);
}

TEST(Gemm, MultipliesTheSameWithAnyNumberOfThreads) {
  // The last number stays in force: ThreadSanitizer takes long over more.
  for (int threads : {2, 1}) {
    hvd::set_num_threads(threads);
    multiply_in_every_orientation<float>();
  }
}

}  // namespace
}  // namespace hvd::autograd::blas
