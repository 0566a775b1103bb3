#include "horovodpp/autograd/blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "horovodpp/autograd/error.h"
#include "horovodpp/core/threads.h"

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

TEST(Gemm, RefusesWhatTheBlasCannotCount) {
  const float x = 1;
  float y = 0;
  EXPECT_THROW(gemm({1, 1, std::int64_t{1} << 31}, {&x, 1}, {&x, 1}, {&y, 1}),
               InvalidArgument);
}

TEST(Gemm, MultipliesTheSameWithAnyNumberOfThreads) {
  for (int threads : {1, 2}) {
    hvd::set_num_threads(threads);
    multiply_in_every_orientation<float>();
  }
}

}  // namespace
}  // namespace hvd::autograd::blas
