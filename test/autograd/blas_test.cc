#include "horovodpp/autograd/blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "horovodpp/autograd/error.h"

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
      // What was there before does not count.
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

TEST(Gemm, RefusesWhatTheBlasCannotCount) {
  const float x = 1;
  float y = 0;
  EXPECT_THROW(gemm({1, 1, std::int64_t{1} << 31}, {&x, 1}, {&x, 1}, {&y, 1}),
               InvalidArgument);
}

TEST(Gemm, MultipliesTheSameWithAnyNumberOfThreads) {
  for (int threads : {1, 2}) {
    // False where the BLAS cannot be told; the product is the same.
    set_num_threads(threads);
    multiply_in_every_orientation<float>();
  }
}

}  // namespace
}  // namespace hvd::autograd::blas
