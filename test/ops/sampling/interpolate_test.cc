// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/interpolate.h"

#include <cmath>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops/images/images.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::DoubleNear;
using testing::ElementsAre;
using Mode = InterpolateMode;

struct InterpolateCase {
  const char* name;
  Dims x;
  InterpolateOptions options;
};

void PrintTo(const InterpolateCase& c, std::ostream* out) { *out << c.name; }

const InterpolateCase kInterpolations[] = {
    {"NearestRow", {2, 2, 5}, {.size = {7}}},
    {"NearestExact",
     {1, 2, 4, 3},
     {.size = {3, 5}, .mode = Mode::kNearestExact}},
    {"LinearRow", {2, 2, 4}, {.scale = {1.7}, .mode = Mode::kLinear}},
    {"Bilinear", {2, 3, 4, 3}, {.size = {6, 2}, .mode = Mode::kLinear}},
    {"Corners",
     {1, 2, 3, 4},
     {.size = {5, 1}, .mode = Mode::kLinear, .align_corners = true}},
    {"Trilinear", {1, 2, 2, 3, 2}, {.scale = {2}, .mode = Mode::kLinear}},
    {"Cubic", {1, 2, 4, 3}, {.scale = {1.5, 2}, .mode = Mode::kCubic}},
    {"OneSide", {1, 2, 3, 4}, {.size = {3, 6}, .mode = Mode::kLinear}},
    {"Antialiased",
     {1, 2, 5, 4},
     {.size = {2, 6}, .mode = Mode::kLinear, .antialias = true}},
    {"CubicAntialiased",
     {1, 2, 7, 3},
     {.size = {3, 2},
      .mode = Mode::kCubic,
      .align_corners = true,
      .antialias = true}},
    {"Area", {1, 2, 2, 4, 3}, {.size = {1, 2, 2}, .mode = Mode::kArea}},
};

class Interpolate : public testing::TestWithParam<InterpolateCase> {
 protected:
  Tensor run(const Tensor& x) { return interpolate(x, GetParam().options); }
};

TEST_P(Interpolate, HasItsFirstAndSecondDerivatives) {
  // Squared, so that the second derivative is not 0.
  const auto squared = [&](const std::vector<Tensor>& v) {
    const Tensor y = run(v[0]);
    return std::vector{y * y};
  };
  const Tensor x = randn64(GetParam().x);
  autograd::gradcheck(squared, {x});
  autograd::gradgradcheck(squared, {x});
}

TEST_P(Interpolate, IsTheSameInTheNarrowerTypesAndAnyLayout) {
  const Tensor x = randn(GetParam().x);
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kF32, 1e-6}, std::pair{DType::kBF16, 1e-2},
        std::pair{DType::kF16, 2e-3}}) {
    const Tensor narrow = to(x, dtype).detach().set_requires_grad(true);
    const Tensor wide =
        to(narrow.detach(), DType::kF64).detach().set_requires_grad(true);
    const Tensor y = run(narrow), wanted = run(wide);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, wanted, tolerance);
    const Tensor grad = to(randn(y.shape()), dtype);
    y.backward(grad);
    wanted.backward(to(grad, DType::kF64));
    expect_near(narrow.grad(), wide.grad(), tolerance);
  }
  const Tensor turned = x.transpose(1, 2).clone().transpose(1, 2);
  expect_near(run(turned), run(x), 1e-6);
  if (x.dim() > 3) {
    const Tensor y = run(channels_last(x));
    EXPECT_TRUE(autograd::is_channels_last(y));
    expect_near(y, run(x), 1e-6);
  }
}

TEST_P(Interpolate, OfNoImagesOrChannelsIsEmpty) {
  const std::size_t empty_sides =
      GetParam().options.mode == Mode::kArea ? 1 : 2;
  for (std::size_t d = 0; d < empty_sides; ++d) {
    Dims none = GetParam().x;
    none[d] = 0;
    Tensor x = randn64(none);
    const Tensor y = run(x);
    EXPECT_EQ(y.num_elements(), 0);
    y.sum().backward();
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Interpolate, testing::ValuesIn(kInterpolations),
                         [](const auto& mode) { return mode.param.name; });

TEST(Interpolate, ReadsThePixelsOfPyTorch) {
  const Tensor x = constant({1, 2, 3}, {1, 1, 3});
  EXPECT_THAT(values(interpolate(x, {.size = {4}})), ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(
      values(interpolate(x, {.size = {4}, .mode = Mode::kNearestExact})),
      ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(values(interpolate(x, {.scale = {2}, .mode = Mode::kLinear})),
              ElementsAre(1, 1.25, 1.75, 2.25, 2.75, 3));
  EXPECT_THAT(
      values(interpolate(
          x, {.size = {5}, .mode = Mode::kLinear, .align_corners = true})),
      ElementsAre(1, 1.5, 2, 2.5, 3));
}

// Expected values are PyTorch's.
TEST(Interpolate, CoversThePixelsOfSmallerResults) {
  const Tensor x = constant({0, 1, 0, 0, 2, 0, 0}, {1, 1, 1, 7});
  const auto row = [&](Mode mode, bool align_corners) {
    return values(interpolate(x, {.size = {1, 3},
                                  .mode = mode,
                                  .align_corners = align_corners,
                                  .antialias = true}));
  };
  const auto near = [](double a, double b, double c) {
    return ElementsAre(DoubleNear(a, 1e-12), DoubleNear(b, 1e-12),
                       DoubleNear(c, 1e-12));
  };
  EXPECT_THAT(row(Mode::kLinear, false), near(3 / 7.0, 9 / 17.0, 3 / 7.0));
  EXPECT_THAT(row(Mode::kLinear, true), near(0.375, 2 / 3.0, 0));
  EXPECT_THAT(row(Mode::kCubic, false),
              near(0.375, 0.5970695970695972, 0.42338709677419334));
  EXPECT_THAT(row(Mode::kCubic, true), near(0.36, 0.6352941176470588, 0));
  EXPECT_ERROR(InvalidArgument, "antialias is for kLinear and kCubic",
               interpolate(x, {.size = {1, 3}, .antialias = true}));
}

TEST(Interpolate, TakesIntegersForTheNearest) {
  const Tensor x = arange(0, 6).reshape({1, 1, 2, 3}).to(DType::kU8);
  EXPECT_THAT(interpolate(x, {.scale = {2, 1}}).to_vector<std::uint8_t>(),
              ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_ERROR(InvalidArgument, "floating point",
               interpolate(x, {.scale = {2}, .mode = Mode::kLinear}));
}

TEST(Interpolate, HasTheSameBitsWithAnyNumberOfThreads) {
  const InterpolateOptions options{.size = {90, 130}, .mode = Mode::kCubic};
  const Tensor x = randn({2, 40, 60, 50}, {.requires_grad = true});
  const Tensor grad = randn({2, 40, 90, 130});
  std::vector<std::vector<float>> found;
  for (int threads : {3, 1}) {
    set_num_threads(threads);
    x.set_grad({});
    const Tensor y = interpolate(x, options);
    y.backward(grad);
    found.push_back(y.to_vector<float>());
    found.push_back(x.grad().to_vector<float>());
  }
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[1], found[3]);
}

TEST(Interpolate, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 2, 4, 4});
  EXPECT_ERROR(InvalidArgument, "undefined", interpolate({}, {.size = {2}}));
  EXPECT_ERROR(InvalidArgument, "float32[4,4]",
               interpolate(randn({4, 4}), {.size = {2}}));
  EXPECT_ERROR(InvalidArgument, "2 numbers", interpolate(x, {}));
  EXPECT_ERROR(InvalidArgument, "2 numbers",
               interpolate(x, {.size = {2, 2, 2}}));
  EXPECT_ERROR(InvalidArgument, "2 numbers",
               interpolate(x, {.size = {2}, .scale = {2}}));
  EXPECT_ERROR(InvalidArgument, "positive", interpolate(x, {.size = {0}}));
  EXPECT_ERROR(InvalidArgument, "positive", interpolate(x, {.scale = {-1}}));
  EXPECT_ERROR(InvalidArgument, "positive", interpolate(x, {.scale = {NAN}}));
  EXPECT_ERROR(InvalidArgument, "positive", interpolate(x, {.scale = {1e30}}));
  EXPECT_ERROR(InvalidArgument, "positive",
               interpolate(randn({1, 2, 0}), {.size = {2}}));
  EXPECT_ERROR(InvalidArgument, "2^45 elements",
               interpolate(x, {.size = {INT32_MAX}, .mode = Mode::kLinear}));
  EXPECT_ERROR(
      InvalidArgument, "kCubic",
      interpolate(randn({1, 2, 4}), {.size = {2}, .mode = Mode::kCubic}));
  EXPECT_ERROR(InvalidArgument, "align_corners",
               interpolate(x, {.size = {2}, .align_corners = true}));
}

}  // namespace
}  // namespace hvd
