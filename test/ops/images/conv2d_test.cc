// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <thread>

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/graph/node.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/products/convolution.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/images/windows.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::ConvBuffers;
using autograd::ConvPass;
using autograd::ConvShape;
using autograd::Dims;

struct ConvCase {
  const char* name;
  Dims x;
  Dims weight;
  Conv2dOptions options;
};

void PrintTo(const ConvCase& c, std::ostream* out) { *out << c.name; }

const ConvCase kConvCases[] = {
    {"OnePixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
    {"OneByOne", {2, 3, 4, 5}, {4, 3, 1, 1}, {}},
    {"OneByOneStrided", {2, 3, 5, 4}, {2, 3, 1, 1}, {.stride = 2}},
    {"ThreeByThree", {2, 3, 5, 4}, {2, 3, 3, 3}, {.padding = 1}},
    {"NoPadding", {1, 2, 5, 6}, {3, 2, 3, 2}, {}},
    {"Strided", {2, 2, 6, 5}, {3, 2, 3, 3}, {.stride = 2, .padding = 1}},
    {"StridedUnevenly",
     {1, 2, 6, 7},
     {2, 2, 2, 3},
     {.stride = {1, 3}, .padding = {0, 1}}},
    {"Dilated", {1, 2, 6, 6}, {2, 2, 3, 2}, {.padding = 1, .dilation = {2, 3}}},
    {"Groups", {2, 4, 4, 4}, {6, 2, 3, 3}, {.padding = 1, .groups = 2}},
    {"Depthwise",
     {1, 3, 5, 5},
     {3, 1, 3, 3},
     {.stride = 2, .padding = 1, .groups = 3}},
    {"PaddingBeyondTheKernel", {1, 1, 2, 2}, {2, 1, 2, 2}, {.padding = 3}},
    {"WholeImage", {3, 2, 4, 3}, {5, 2, 4, 3}, {}},
};

// Convolution by its definition, element by element.
std::vector<double> by_definition(const Tensor& x, const Tensor& w,
                                  const Tensor& bias, const Conv2dOptions& o,
                                  const Dims& out) {
  const auto xs = values(x), ws = values(w), bs = values(bias);
  const auto in = w.size(1), per_group = w.size(0) / o.groups;
  std::vector<double> y;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t c = 0; c < out[1]; ++c)
      for (std::int64_t i = 0; i < out[2]; ++i)
        for (std::int64_t j = 0; j < out[3]; ++j) {
          double sum = bs[static_cast<std::size_t>(c)];
          for (std::int64_t k = 0; k < in; ++k)
            for (std::int64_t u = 0; u < w.size(2); ++u)
              for (std::int64_t v = 0; v < w.size(3); ++v) {
                const auto h = i * o.stride.height - o.padding.height +
                               u * o.dilation.height;
                const auto q =
                    j * o.stride.width - o.padding.width + v * o.dilation.width;
                if (h < 0 || q < 0 || h >= x.size(2) || q >= x.size(3))
                  continue;
                const auto channel = c / per_group * in + k;
                sum += xs[static_cast<std::size_t>(
                           ((n * x.size(1) + channel) * x.size(2) + h) *
                               x.size(3) +
                           q)] *
                       ws[static_cast<std::size_t>(
                           ((c * in + k) * w.size(2) + u) * w.size(3) + v)];
              }
          y.push_back(sum);
        }
  return y;
}

class Conv2d : public testing::TestWithParam<ConvCase> {
 protected:
  Tensor x_ = randn64(GetParam().x);
  Tensor w_ = randn64(GetParam().weight);
  Tensor b_ = randn64({GetParam().weight[0]});
  Conv2dOptions options_ = GetParam().options;
};

TEST_P(Conv2d, IsItsDefinition) {
  const Tensor y = conv2d(x_, w_, b_, options_);
  EXPECT_TRUE(autograd::is_channels_last(y));
  const auto wanted = by_definition(x_, w_, b_, options_, y.shape());
  expect_near(y, from_vector<double>(wanted, y.shape()), 1e-13);
}

TEST_P(Conv2d, HasItsFirstAndSecondDerivatives) {
  const auto run = [&](const std::vector<Tensor>& v) {
    return std::vector{conv2d(v[0], v[1], v[2], options_)};
  };
  autograd::gradcheck(run, {x_, w_, b_});
  autograd::gradgradcheck(run, {x_, w_, b_});
}

// y and the gradients for output gradient `grad`.
std::vector<Tensor> all_of(const Tensor& x, const Tensor& w, const Tensor& b,
                           const Tensor& grad, const Conv2dOptions& options) {
  std::vector<Tensor> leaves;
  for (const Tensor& t : {x, w, b}) {
    leaves.push_back(to(t.detach(), grad.dtype()).detach());
    leaves.back().set_requires_grad(true);
  }
  const Tensor y = conv2d(leaves[0], leaves[1], leaves[2], options);
  y.backward(grad);
  return {y.detach(), leaves[0].grad(), leaves[1].grad(), leaves[2].grad()};
}

void expect_same_in(DType dtype, const Dims& x_sizes, const Dims& w_sizes,
                    const Conv2dOptions& options, double tolerance) {
  const Tensor x = to(randn(x_sizes), dtype), w = to(randn(w_sizes), dtype);
  const Tensor b = to(randn({w_sizes[0]}), dtype);
  const Tensor grad = to(randn(conv2d(x, w, b, options).shape()), dtype);
  const auto found = all_of(x, w, b, grad, options);
  const auto wanted =
      all_of(to(x, DType::kF64), to(w, DType::kF64), to(b, DType::kF64),
             to(grad, DType::kF64), options);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(found[i].dtype(), dtype);
    expect_near(found[i], wanted[i], tolerance);
  }
}

TEST_P(Conv2d, IsTheSameInTheNarrowerTypes) {
  const ConvCase& c = GetParam();
  expect_same_in(DType::kF32, c.x, c.weight, c.options, 1e-6);
  expect_same_in(DType::kBF16, c.x, c.weight, c.options, 1e-2);
  expect_same_in(DType::kF16, c.x, c.weight, c.options, 2e-3);
}

TEST_P(Conv2d, TakesOperandsThatLieAnyhow) {
  const Tensor y = conv2d(x_, w_, b_, options_);
  Dims larger = GetParam().x;
  larger[3] += 2;
  const Tensor wide = randn64(larger).detach();
  const Tensor part = wide.narrow(3, 1, GetParam().x[3]);
  part.copy_(x_.detach());
  const Tensor turned = x_.transpose(2, 3).clone().transpose(2, 3);
  const Tensor weights = w_.permute({3, 2, 1, 0}).clone().permute({3, 2, 1, 0});
  for (const Tensor& x : {part, turned, channels_last(x_)}) {
    EXPECT_EQ(values(conv2d(x, weights, b_, options_)), values(y));
  }
}

// Matrix products in float32, even if conv2d uses another algorithm.
TEST_P(Conv2d, ByProductsIsTheSameInFloat32) {
  const Tensor y = conv2d(x_, w_, Tensor(), options_);
  ConvShape s{
      .n = x_.size(0),
      .in = x_.size(1),
      .out = w_.size(0),
      .image = {1, x_.size(2), x_.size(3)},
      .result = {1, y.size(2), y.size(3)},
      .kernel = {1, w_.size(2), w_.size(3)},
      .options = {autograd::in_3d(options_.stride, 1),
                  autograd::in_3d(options_.padding, 0),
                  autograd::in_3d(options_.dilation, 1), options_.groups}};
  const Tensor x = channels_last(to(x_, DType::kF32).detach());
  const Tensor w = to(w_, DType::kF32).detach();
  const Tensor grad = channels_last(randn(y.shape()));
  y.backward(to(grad, DType::kF64));
  ConvBuffers buffers{.x = x.raw_data(), .weight = w.raw_data()};
  const Tensor found = autograd::empty_channels_last(y.shape(), DType::kF32);
  buffers.y = found.raw_data();
  convolve_by_products(ConvPass::kForward, s, DType::kF32, buffers);
  expect_near(found, y.detach(), 1e-5);
  const Tensor gx = autograd::empty_channels_last(x.shape(), DType::kF32);
  buffers.x = gx.raw_data();
  buffers.y = grad.raw_data();
  convolve_by_products(ConvPass::kBackwardData, s, DType::kF32, buffers);
  expect_near(gx, x_.grad(), 1e-5);
  const Tensor gw = empty(w.shape());
  buffers.x = x.raw_data();
  buffers.weight = gw.raw_data();
  convolve_by_products(ConvPass::kBackwardWeights, s, DType::kF32, buffers);
  expect_near(gw, w_.grad(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2d, testing::ValuesIn(kConvCases),
                         [](const auto& shape) { return shape.param.name; });

// Sizes for which conv2d uses other algorithms.
TEST(Conv2dOfManyChannels, IsTheSameInTheNarrowerTypes) {
  const Dims x{3, 32, 9, 7}, w{48, 32, 3, 3};
  expect_same_in(DType::kF32, x, w, {.padding = 1}, 5e-6);
  expect_same_in(DType::kBF16, x, w, {.padding = 1}, 1e-2);
  expect_same_in(DType::kF32, x, w, {}, 5e-6);
  expect_same_in(DType::kF32, {5, 64, 8, 8}, {64, 64, 3, 3}, {.padding = 1},
                 5e-6);
  expect_same_in(DType::kF32, x, {40, 32, 1, 1}, {.stride = 2}, 1e-6);
}

TEST(Conv2dOfManyChannels, IsTheSameWithoutWinograd) {
  autograd::set_winograd_allowed(false);
  expect_same_in(DType::kF32, {3, 32, 9, 7}, {48, 32, 3, 3}, {.padding = 1},
                 2e-6);
  autograd::set_winograd_allowed(true);
}

TEST(Conv2dOfManyChannels, IsTheSameInPartsOfABatch) {
  // More than one call convolves at once.
  expect_same_in(DType::kF32, {34, 32, 32, 32}, {32, 32, 3, 3}, {.padding = 1},
                 5e-6);
}

TEST(Conv2dOfManyChannels, IsTheSameWithAnyNumberOfThreads) {
  // The last number stays in force: ThreadSanitizer is slow with more threads.
  for (int threads : {2, 1}) {
    set_num_threads(threads);
    expect_same_in(DType::kF32, {4, 32, 9, 7}, {48, 32, 3, 3}, {.padding = 1},
                   5e-6);
    expect_same_in(DType::kBF16, {4, 32, 9, 7}, {48, 32, 3, 3}, {.stride = 2},
                   1e-2);
  }
}

TEST(Conv2dOfManyChannels, RunsInSeveralThreadsAtOnce) {
  set_num_threads(1);
  const Tensor x = randn({4, 32, 8, 8}), w = randn({32, 32, 3, 3});
  const Tensor b = randn({32}), grad = randn({4, 32, 8, 8});
  const Conv2dOptions options{.padding = 1};
  const auto wanted = all_of(x, w, b, grad, options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        const auto found = all_of(x, w, b, grad, options);
        for (std::size_t k = 0; k < found.size(); ++k) {
          EXPECT_EQ(found[k].to_vector<float>(), wanted[k].to_vector<float>());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Conv2dLayout, KeepsChannelsLastWithoutACopy) {
  const Tensor x = channels_last(randn({2, 3, 4, 4}));
  EXPECT_TRUE(channels_last(x).is_same(x));
  EXPECT_TRUE(autograd::is_channels_last(relu(x)));
  EXPECT_TRUE(autograd::is_channels_last(x + x));
  EXPECT_TRUE(autograd::is_channels_last(x * 2.0));
  EXPECT_TRUE(autograd::is_channels_last(cat({x, x}, 1)));
  EXPECT_TRUE(autograd::is_channels_last(to(x, DType::kBF16)));
  EXPECT_TRUE(clone(x).is_contiguous());
}

TEST(Conv2dLayout, AddsABiasOfEachChannel) {
  const Tensor x = channels_last(randn64({2, 3, 2, 2})).detach();
  const Tensor bias = randn64({3, 1, 1}).detach();
  const Tensor sum = x + bias;
  EXPECT_TRUE(autograd::is_channels_last(sum));
  EXPECT_EQ(values(sum), values(clone(x) + bias));
}

TEST(Conv2d, OfNoImagesIsEmpty) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Tensor w =
        ones({4, 2, 3, 3}, {.dtype = dtype, .requires_grad = true});
    const Tensor x =
        ones({0, 2, 5, 5}, {.dtype = dtype, .requires_grad = true});
    const Tensor y = conv2d(x, w, Tensor());
    EXPECT_EQ(y.shape(), Dims({0, 4, 3, 3}));
    y.sum().backward();
    EXPECT_EQ(values(to(w.grad(), DType::kF64)), std::vector<double>(72, 0.0));
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

TEST(Conv2d, TakesOneImageWithoutABatch) {
  const Tensor x = randn64({2, 5, 5}), w = randn64({4, 2, 3, 3});
  EXPECT_EQ(values(conv2d(x, w)), values(conv2d(x.unsqueeze(0), w)));
  EXPECT_EQ(conv2d(x, w).shape(), Dims({4, 3, 3}));
}

TEST(Conv2d, ComputesInTheLowerTypeUnderAutocast) {
  const Tensor x = randn({1, 2, 4, 4}, {.requires_grad = true});
  const Tensor w = randn({3, 2, 3, 3}, {.requires_grad = true});
  Autocast autocast(DType::kBF16);
  const Tensor y = conv2d(x, w, randn({3}));
  EXPECT_EQ(y.dtype(), DType::kBF16);
  EXPECT_TRUE(autograd::is_channels_last(y));
  y.sum().backward();
  EXPECT_EQ(w.grad().dtype(), DType::kF32);
}

TEST(Conv2d, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 3, 4, 4}), w = randn({2, 3, 3, 3});
  EXPECT_ERROR(InvalidArgument, "float32[1,3,4,4]",
               conv2d(x, randn({2, 4, 3, 3})));
  EXPECT_ERROR(InvalidArgument, "groups", conv2d(x, w, {}, {.groups = 2}));
  EXPECT_ERROR(InvalidArgument, "groups", conv2d(x, w, {}, {.groups = 0}));
  EXPECT_ERROR(InvalidArgument, "bias float32[3]", conv2d(x, w, randn({3})));
  EXPECT_ERROR(InvalidArgument, "positive",
               conv2d(x, w, {}, {.stride = {1, 0}}));
  EXPECT_ERROR(InvalidArgument, "positive", conv2d(x, w, {}, {.padding = -1}));
  EXPECT_ERROR(InvalidArgument, "larger than", conv2d(x, randn({2, 3, 5, 1})));
  EXPECT_ERROR(InvalidArgument, "differ in dtype",
               conv2d(x, to(w, DType::kF64)));
  EXPECT_ERROR(InvalidArgument, "floating point",
               conv2d(to(x, DType::kI64), to(w, DType::kI64)));
  EXPECT_ERROR(InvalidArgument, "undefined", conv2d(Tensor(), w));
}

TEST(Conv2d, RefusesNumbersThatOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Tensor x = ones({1, 1, 2, 2});
  const Tensor w = ones({1, 1, 3, 3});
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               conv2d(x, w, {}, {.dilation = kMost}));
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               conv2d(x, w, {}, {.padding = kMost}));
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               conv2d(x, w, {}, {.stride = kMost, .padding = 1}));
}

// oneDNN 2.6 accessed memory outside of the images here.
TEST(Conv2d, OfSinglePixelsInStepsHasGradientsForAnyNumberOfChannels) {
  for (const std::int64_t in : {1, 2, 3, 4, 12, 16, 24}) {
    for (const std::int64_t out : {2, 5, 16}) {
      SCOPED_TRACE(testing::Message() << in << " to " << out << " channels");
      const Conv2dOptions options{.stride = 2};
      const Tensor x = randn64({2, in, 14, 15}), w = randn64({out, in, 1, 1});
      const Tensor y = conv2d(x, w, {}, options);
      const Tensor g = randn64(y.shape()).detach();
      const auto wanted = autograd::grad({y}, {x, w}, {g});
      Tensor a = to(x.detach(), DType::kF32);
      Tensor b = to(w.detach(), DType::kF32);
      a.set_requires_grad(true);
      b.set_requires_grad(true);
      const auto found = autograd::grad({conv2d(a, b, {}, options)}, {a, b},
                                        {to(g, DType::kF32)});
      for (std::size_t i = 0; i < 2; ++i) {
        expect_near(found[i], wanted[i], 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace hvd
