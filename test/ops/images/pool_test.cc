// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/images/images.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

struct PoolCase {
  const char* name;
  std::function<Tensor(const Tensor&)> run;
  Dims x;
};

void PrintTo(const PoolCase& c, std::ostream* out) { *out << c.name; }

PoolCase max_case(const char* name, const Dims& x, const MaxPool2dOptions& o) {
  return {name, [o](const Tensor& t) { return max_pool2d(t, o); }, x};
}
PoolCase average_case(const char* name, const Dims& x,
                      const AvgPool2dOptions& o) {
  return {name, [o](const Tensor& t) { return avg_pool2d(t, o); }, x};
}
PoolCase deep_max_case(const char* name, const Dims& x,
                       const MaxPool3dOptions& o) {
  return {name, [o](const Tensor& t) { return max_pool3d(t, o); }, x};
}
PoolCase deep_average_case(const char* name, const Dims& x,
                           const AvgPool3dOptions& o) {
  return {name, [o](const Tensor& t) { return avg_pool3d(t, o); }, x};
}
PoolCase adaptive_case(const char* name, const Dims& x, const Pair& size) {
  return {name,
          [size](const Tensor& t) { return adaptive_avg_pool2d(t, size); }, x};
}

const PoolCase kPoolCases[] = {
    max_case("Max", {2, 3, 4, 6}, {.kernel = 2}),
    max_case("MaxOverlapping", {1, 2, 5, 6},
             {.kernel = 3, .stride = 2, .padding = 1}),
    max_case("MaxUneven", {2, 2, 5, 7}, {.kernel = {2, 3}, .stride = {3, 1}}),
    max_case("MaxDilated", {1, 2, 7, 6},
             {.kernel = 2, .stride = 1, .dilation = {3, 2}}),
    max_case("MaxCeil", {1, 3, 5, 6},
             {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}),
    average_case("Average", {2, 3, 4, 6}, {.kernel = 2}),
    average_case("AverageOverlapping", {1, 2, 5, 6},
                 {.kernel = 3, .stride = 2, .padding = 1}),
    average_case(
        "AverageWithoutPadding", {1, 2, 5, 6},
        {.kernel = 3, .stride = 2, .padding = 1, .count_include_pad = false}),
    average_case("AverageCeil", {1, 3, 5, 6},
                 {.kernel = 2, .stride = 3, .padding = 1, .ceil_mode = true}),
    adaptive_case("AdaptiveToOne", {2, 3, 4, 5}, 1),
    adaptive_case("AdaptiveUneven", {1, 2, 5, 7}, {3, 2}),
    adaptive_case("AdaptiveToMore", {1, 2, 2, 3}, {3, 5}),
    deep_max_case("MaxDeep", {2, 2, 4, 3, 4},
                  {.kernel = {3, 2, 3}, .stride = 2, .padding = {1, 0, 1}}),
    deep_max_case("MaxDeepDilated", {1, 2, 4, 3, 4},
                  {.kernel = 2, .stride = 1, .dilation = {3, 1, 2}}),
    average_case("AverageByADivisor", {1, 2, 5, 6},
                 {.kernel = 3, .padding = 1, .divisor_override = -4}),
    deep_average_case("AverageDeep", {2, 2, 3, 2, 4}, {.kernel = {1, 2, 2}}),
    deep_average_case("AverageDeepOverlapping", {1, 2, 5, 3, 4},
                      {.kernel = 3, .stride = {2, 1, 2}, .padding = 1}),
    deep_average_case("AverageDeepApart", {1, 1, 6, 2, 2},
                      {.kernel = {1, 2, 2},
                       .stride = {2, 1, 1},
                       .padding = {0, 1, 1},
                       .ceil_mode = true,
                       .count_include_pad = false}),
    {"AdaptiveDeep",
     [](const Tensor& t) {
       return adaptive_avg_pool3d(t, {2, 3, 2});
     },
     {2, 2, 3, 2, 5}},
    {"AdaptiveMax",
     [](const Tensor& t) {
       return adaptive_max_pool2d(t, {3, 2});
     },
     {2, 2, 5, 3}},
    {"AdaptiveMaxDeep",
     [](const Tensor& t) {
       return adaptive_max_pool3d(t, {2, 3, 2});
     },
     {1, 2, 3, 2, 5}},
};

class Pool2d : public testing::TestWithParam<PoolCase> {};

TEST_P(Pool2d, HasItsFirstAndSecondDerivatives) {
  // Squared, so that the second derivative is not 0.
  const auto run = [](const std::vector<Tensor>& v) {
    const Tensor y = GetParam().run(v[0]);
    return std::vector{y * y};
  };
  const Tensor x = randn64(GetParam().x);
  autograd::gradcheck(run, {x});
  autograd::gradgradcheck(run, {x});
}

TEST_P(Pool2d, IsTheSameInTheNarrowerTypes) {
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kF32, 1e-6}, std::pair{DType::kBF16, 1e-2},
        std::pair{DType::kF16, 2e-3}}) {
    const Tensor x = to(randn(GetParam().x), dtype).set_requires_grad(true);
    const Tensor wide = to(x.detach(), DType::kF64).set_requires_grad(true);
    const Tensor y = GetParam().run(x), wanted = GetParam().run(wide);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, wanted, tolerance);
    const Tensor grad = to(randn(y.shape()), dtype);
    y.backward(grad);
    wanted.backward(to(grad, DType::kF64));
    expect_near(x.grad(), wide.grad(), tolerance);
  }
}

TEST_P(Pool2d, TakesImagesThatLieAnyhow) {
  const Tensor x = randn64(GetParam().x).detach();
  const auto wanted = values(GetParam().run(x));
  const Tensor turned = x.transpose(2, 3).clone().transpose(2, 3);
  for (const Tensor& other : {channels_last(x), turned}) {
    EXPECT_EQ(values(GetParam().run(other)), wanted);
  }
}

TEST_P(Pool2d, TakesOneImageWithoutABatch) {
  const Tensor x = randn64(GetParam().x).detach();
  const Tensor first = x.select(0, 0);
  EXPECT_EQ(values(GetParam().run(first)),
            values(GetParam().run(first.unsqueeze(0)).select(0, 0)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Pool2d, testing::ValuesIn(kPoolCases),
                         [](const auto& kind) { return kind.param.name; });

Tensor image(const std::vector<double>& values) {
  return constant(values, {1, 1, 2, 4});
}

TEST(MaxPool2d, TakesTheFirstOfEqualsAndNanBeforeAll) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor x = image({1, 1, nan, 5, 1, 1, 9, 2}).set_requires_grad(true);
  const Tensor y = max_pool2d(x, {.kernel = 2});
  EXPECT_EQ(values(y)[0], 1);
  EXPECT_TRUE(std::isnan(values(y)[1]));
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 1, 0, 0, 0, 0, 0));
}

TEST(MaxPool2d, TakesTheLastThatIsNotANumber) {
  Tensor x = image({1, NAN, 1, 2, NAN, 1, 1, 1}).set_requires_grad(true);
  max_pool2d(x, {.kernel = 2}).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(MaxPool2d, PadsWithMinusInfinity) {
  const Tensor x = image({-1, -2, -3, -4, -5, -6, -7, -8});
  EXPECT_THAT(values(max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1})),
              ElementsAre(-1, -2));
}

TEST(MaxPool2d, HasNoGradientOfAWindowThatMissesTheImage) {
  const MaxPool2dOptions missing{
      .kernel = 2, .stride = 1, .padding = 1, .dilation = 2};
  Tensor x = leaf({7}, {1, 1, 1, 1});
  const Tensor y = max_pool2d(x, missing);
  EXPECT_EQ(values(y), std::vector<double>{-INFINITY});
  const Tensor factor = leaf({5}, {1, 1, 1, 1});
  const Tensor slope =
      autograd::grad({y}, {x}, {factor}, {.create_graph = true})[0];
  EXPECT_THAT(values(slope), ElementsAre(0));
  EXPECT_THAT(values(autograd::grad({slope.sum()}, {factor})[0]),
              ElementsAre(0));
}

TEST(MaxPoolWithIndices, NamesThePixelsOfTheImage) {
  const Tensor x = image({1, 2, 3, 4, 8, 7, 6, 5});
  const auto [y, places] = max_pool2d_with_indices(x, {.kernel = 2});
  EXPECT_THAT(values(y), ElementsAre(8, 6));
  EXPECT_THAT(places.to_vector<std::int64_t>(), ElementsAre(4, 6));
  EXPECT_FALSE(places.requires_grad());
  const auto row =
      max_pool1d_with_indices(constant({3, 1, 4, 1}, {1, 4}), {.kernel = 2});
  EXPECT_THAT(row.indices.to_vector<std::int64_t>(), ElementsAre(0, 2));
  const auto deep = adaptive_max_pool3d_with_indices(
      constant({1, 5, 3, 2, 4, 6, 7, 0}, {1, 2, 2, 2}), {1, 1, 2});
  EXPECT_THAT(deep.indices.to_vector<std::int64_t>(), ElementsAre(6, 1 + 4));
}

TEST(MaxPoolWithIndices, NamesNoPixelForAWindowThatMissesTheImage) {
  const auto [y, places] = max_pool2d_with_indices(
      image({1, 2, 3, 4, 5, 6, 7, 8}),
      {.kernel = {2, 1}, .padding = {1, 0}, .dilation = {3, 1}});
  EXPECT_EQ(y.shape(), Dims({1, 1, 1, 4}));
  EXPECT_EQ(places.to_vector<std::int64_t>(), std::vector<std::int64_t>(4, -1));
}

TEST(MaxPool2d, AddsUpTheGradientsOfOverlappingWindows) {
  Tensor x = image({0, 9, 0, 0, 0, 0, 0, 0}).set_requires_grad(true);
  max_pool2d(x, {.kernel = 2, .stride = 1}).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 2, 1, 0, 0, 0, 0, 0));
}

TEST(AvgPool2d, DividesByThePaddingOrNot) {
  const Tensor x = image({4, 8, 12, 16, 4, 8, 12, 16});
  const AvgPool2dOptions padded{.kernel = 2, .stride = 2, .padding = 1};
  EXPECT_THAT(values(avg_pool2d(x, padded)), ElementsAre(1, 5, 4, 1, 5, 4));
  EXPECT_THAT(values(avg_pool2d(x, {.kernel = 2,
                                    .stride = 2,
                                    .padding = 1,
                                    .count_include_pad = false})),
              ElementsAre(4, 10, 16, 4, 10, 16));
}

TEST(AvgPool2d, DividesByTheCoveredPartOfAWindow) {
  // The last window extends past the end and covers only the third column.
  const Tensor x = constant({1, 2, 6}, {1, 1, 1, 3});
  EXPECT_THAT(values(avg_pool2d(
                  x, {.kernel = {1, 2}, .stride = {1, 2}, .ceil_mode = true})),
              ElementsAre(1.5, 6));
}

TEST(AvgPool2d, DividesByTheDivisorInstead) {
  const Tensor x = image({4, 8, 12, 16, 4, 8, 12, 16});
  EXPECT_THAT(
      values(avg_pool2d(
          x, {.kernel = 2, .stride = 2, .padding = 1, .divisor_override = 2})),
      ElementsAre(2, 10, 8, 2, 10, 8));
}

TEST(AdaptiveAvgPool2d, CoversTheImage) {
  const Tensor x = constant({1, 2, 3, 4, 5}, {1, 1, 1, 5});
  EXPECT_THAT(values(adaptive_avg_pool2d(x, {1, 2})), ElementsAre(2, 4));
  EXPECT_THAT(values(adaptive_avg_pool2d(x, {1, 3})), ElementsAre(1.5, 3, 4.5));
}

// Expected values are PyTorch's.
TEST(AdaptiveAvgPool2d, SumsLongLinesInBothLayouts) {
  const Tensor x = arange(0, 2 * 3 * 5 * 19).to(DType::kF64) * 0.25;
  const Tensor images = reshape(x, {2, 3, 5, 19});
  const Tensor wanted = mean(images, {2, 3}, true);
  EXPECT_EQ(values(adaptive_avg_pool2d(images, 1)), values(wanted));
  EXPECT_EQ(values(adaptive_avg_pool2d(channels_last(images), 1)),
            values(wanted));
}

TEST(AvgPool2d, KeepsTheLayoutOfItsInput) {
  const Tensor x = ones({2, 3, 6, 6});
  EXPECT_TRUE(avg_pool2d(x, {.kernel = 2}).is_contiguous());
  EXPECT_TRUE(
      autograd::is_channels_last(avg_pool2d(channels_last(x), {.kernel = 2})));
}

TEST(Pool2d, AcceptsAWindowLargerThanTheImage) {
  const auto image = [](std::int64_t n) {
    return arange(1, static_cast<double>(n * n + 1), 1, {.dtype = DType::kF64})
        .view({1, 1, n, n});
  };
  const auto mean_of = [&](std::int64_t n, AvgPool2dOptions o) {
    o.ceil_mode = true;
    return values(avg_pool2d(image(n), o));
  };
  const auto max_of = [&](std::int64_t n, MaxPool2dOptions o) {
    o.ceil_mode = true;
    return values(max_pool2d(image(n), o));
  };
  EXPECT_THAT(max_of(1, {.kernel = 5}), ElementsAre(1));
  EXPECT_THAT(max_of(3, {.kernel = 5}), ElementsAre(9));
  EXPECT_THAT(max_of(2, {.kernel = 4, .stride = 3}), ElementsAre(4));
  EXPECT_THAT(
      max_of(2, {.kernel = 3, .stride = 2, .padding = 1, .dilation = 2}),
      ElementsAre(4));
  EXPECT_THAT(mean_of(2, {.kernel = 5}), ElementsAre(2.5));
  EXPECT_THAT(mean_of(2, {.kernel = 5, .stride = 4, .padding = 1}),
              ElementsAre(0.625));
  EXPECT_THAT(mean_of(2, {.kernel = 7, .padding = 2}),
              ElementsAre(10.0 / 36.0));
  EXPECT_THAT(
      mean_of(2, {.kernel = 7, .padding = 2, .count_include_pad = false}),
      ElementsAre(2.5));
  EXPECT_ERROR(InvalidArgument, "is larger than",
               max_of(1, {.kernel = 4, .stride = 3}));
  EXPECT_ERROR(InvalidArgument, "is larger than",
               max_of(2, {.kernel = 3, .stride = 1, .dilation = 2}));
}

TEST(Pool2d, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 2, 4, 4});
  EXPECT_ERROR(InvalidArgument, "float32[4,4]",
               max_pool2d(randn({4, 4}), {.kernel = 2}));
  EXPECT_ERROR(InvalidArgument, "max_pool2d: the kernel [5,1]",
               max_pool2d(x, {.kernel = {5, 1}}));
  EXPECT_ERROR(InvalidArgument, "half of the kernel",
               avg_pool2d(x, {.kernel = 2, .padding = 2}));
  EXPECT_ERROR(InvalidArgument, "positive", avg_pool2d(x, {.kernel = 0}));
  EXPECT_ERROR(InvalidArgument, "[0,2]", adaptive_avg_pool2d(x, {0, 2}));
  EXPECT_ERROR(InvalidArgument, "floating point",
               max_pool2d(to(x, DType::kI32), {.kernel = 2}));
  EXPECT_ERROR(InvalidArgument, "empty",
               max_pool2d(randn({1, 0, 4, 4}), {.kernel = 2}));
}

TEST(Pool2d, RefusesOverflowingSizes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor x = ones({1, 1, 2, 2});
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               max_pool2d(x, {.kernel = 3, .dilation = kMost}));
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               avg_pool2d(x, {.kernel = kMost, .padding = kMost / 2}));
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               max_pool2d(x, {.kernel = 1, .stride = kMost}));
  EXPECT_ERROR(InvalidArgument, "2^31", adaptive_avg_pool2d(x, kMost));
  // A kernel much larger than the image takes no longer than the image does.
  const std::int64_t large = (std::int64_t{1} << 31) - 2;
  const Tensor y =
      max_pool2d(x, {.kernel = large, .stride = large, .padding = large / 2});
  EXPECT_EQ(y.num_elements(), 1);
}

// The values of run(x) and of the gradient of x.
std::vector<std::vector<double>> results_of(const Tensor& x,
                                            const PoolCase& kind) {
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = kind.run(leaf);
  y.backward(to(arange(0, static_cast<double>(y.num_elements())), x.dtype())
                 .reshape(y.shape()));
  return {values(to(y, DType::kF64)), values(to(leaf.grad(), DType::kF64))};
}

TEST(Pool2d, ComputesAnyNumberOfChannelsInVectors) {
  for (const std::int64_t channels : {1, 2, 8, 15, 16, 17, 40}) {
    for (const std::int64_t width : {5, 18, 41}) {
      const Dims shape{2, channels, 6, width};
      // Halves, which sums of float32 hold exactly, with many equal ones.
      const Tensor x = floor(randn(shape) * 4.0) * 0.5;
      const Tensor wide = to(x, DType::kF64);
      for (const PoolCase& kind :
           {max_case("Max", shape, {.kernel = 3, .stride = 2, .padding = 1}),
            max_case("Dilated", shape, {.kernel = 2, .dilation = {2, 3}}),
            average_case("Average", shape, {.kernel = 2, .stride = 1}),
            average_case("Apart", shape, {.kernel = 2, .stride = 3}),
            adaptive_case("Adaptive", shape, {4, 2})}) {
        SCOPED_TRACE(testing::Message() << kind.name << shape.to_string());
        const auto wanted = results_of(wide, kind);
        for (const Tensor& images : {x, channels_last(x)}) {
          const auto found = results_of(images, kind);
          for (std::size_t k = 0; k < 2; ++k) {
            ASSERT_EQ(found[k].size(), wanted[k].size());
            for (std::size_t i = 0; i < found[k].size(); ++i) {
              ASSERT_NEAR(found[k][i], wanted[k][i],
                          1e-5 * (1.0 + std::abs(wanted[k][i])));
            }
          }
        }
      }
    }
  }
}

TEST(Pool2d, FindsNanInAVectorOfChannels) {
  Tensor x = channels_last(randn({1, 19, 3, 3}));
  x.select(1, 17).select(1, 1).select(1, 2).fill_(NAN);
  const auto y = max_pool2d(x, {.kernel = 3}).to_vector<float>();
  for (std::size_t c = 0; c < y.size(); ++c) {
    EXPECT_EQ(std::isnan(y[c]), c == 17) << c;
  }
}

TEST(Pool2d, OfNoImagesIsEmpty) {
  Tensor x = randn64({0, 2, 4, 4});
  const Tensor y = max_pool2d(x, {.kernel = 2});
  EXPECT_EQ(y.shape(), Dims({0, 2, 2, 2}));
  y.sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
}

}  // namespace
}  // namespace hvd
