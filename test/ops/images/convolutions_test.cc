// SPDX-License-Identifier: Apache-2.0
// Convolutions of 1 and 3 dimensions, and transposed ones.
#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/shape_ops.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using Run = std::function<Tensor(const Tensor&, const Tensor&, const Tensor&)>;

struct ConvolutionCase {
  const char* name;
  Run run;
  Dims x;
  Dims weight;
  std::int64_t out;
};

void PrintTo(const ConvolutionCase& c, std::ostream* out) { *out << c.name; }

Run deep(const Conv3dOptions& options) {
  return [options](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv3d(x, w, b, options);
  };
}
Run row(const Conv1dOptions& options) {
  return [options](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv1d(x, w, b, options);
  };
}
Run row_back(const ConvTranspose1dOptions& options) {
  return [options](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv_transpose1d(x, w, b, options);
  };
}
Run flat_back(const ConvTranspose2dOptions& options) {
  return [options](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv_transpose2d(x, w, b, options);
  };
}
Run deep_back(const ConvTranspose3dOptions& options) {
  return [options](const Tensor& x, const Tensor& w, const Tensor& b) {
    return conv_transpose3d(x, w, b, options);
  };
}

const ConvolutionCase kCases[] = {
    {"Row",
     row({.stride = 2, .padding = 1, .dilation = 2, .groups = 2}),
     {2, 4, 7},
     {6, 2, 3},
     6},
    {"RowOfTheSameSize",
     row({.dilation = 3, .groups = 2, .same_padding = true}),
     {2, 4, 5},
     {6, 2, 4},
     6},
    {"DeepOfTheSameSize",
     deep({.dilation = {1, 2, 1}, .same_padding = true}),
     {1, 2, 3, 4, 3},
     {2, 2, 2, 3, 4},
     2},
    {"Deep", deep({.padding = 1}), {2, 3, 2, 4, 3}, {4, 3, 2, 3, 3}, 4},
    {"DeepUneven",
     deep({.stride = {2, 1, 3}, .padding = {1, 0, 2}, .dilation = {1, 2, 1}}),
     {1, 2, 4, 4, 5},
     {3, 2, 3, 2, 2},
     3},
    {"DeepGroups", deep({.groups = 2}), {1, 4, 2, 3, 3}, {4, 2, 2, 2, 2}, 4},
    {"RowBack",
     row_back({.stride = 3, .padding = 1, .output_padding = 2}),
     {2, 3, 4},
     {3, 2, 4},
     2},
    {"FlatBack",
     flat_back({.stride = {2, 3},
                .padding = {1, 0},
                .output_padding = {1, 0},
                .groups = 2}),
     {2, 4, 3, 2},
     {4, 3, 3, 2},
     6},
    // A convolution of the result would have more windows than x has pixels.
    {"FlatBackPaddedByMoreThanTheStride",
     flat_back({.padding = 1, .output_padding = {2, 1}, .dilation = 3}),
     {1, 2, 3, 3},
     {2, 2, 2, 3},
     2},
    {"DeepBack",
     deep_back({.stride = 2, .padding = {0, 1, 1}}),
     {1, 3, 2, 2, 3},
     {3, 2, 2, 3, 2},
     2},
};

class Convolutions : public testing::TestWithParam<ConvolutionCase> {
 protected:
  const ConvolutionCase& case_ = GetParam();
};

TEST_P(Convolutions, HaveTheirFirstAndSecondDerivatives) {
  const auto run = [&](const std::vector<Tensor>& v) {
    return std::vector{case_.run(v[0], v[1], v[2])};
  };
  const std::vector<Tensor> operands{randn64(case_.x), randn64(case_.weight),
                                     randn64({case_.out})};
  autograd::gradcheck(run, operands);
  autograd::gradgradcheck(run, operands);
}

TEST_P(Convolutions, AreTheSameInTheNarrowerTypes) {
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::kF32, 1e-5}, std::pair{DType::kBF16, 2e-2},
        std::pair{DType::kF16, 3e-3}}) {
    std::vector<Tensor> narrow;
    std::vector<Tensor> wide;
    for (const Dims& shape : {case_.x, case_.weight, Dims{case_.out}}) {
      narrow.push_back(to(randn(shape), dtype).set_requires_grad(true));
      wide.push_back(
          to(narrow.back().detach(), DType::kF64).set_requires_grad(true));
    }
    const Tensor y = case_.run(narrow[0], narrow[1], narrow[2]);
    const Tensor wanted = case_.run(wide[0], wide[1], wide[2]);
    EXPECT_EQ(y.dtype(), dtype);
    expect_near(y, wanted, tolerance);
    const Tensor grad = to(randn(y.shape()), dtype);
    y.backward(grad);
    wanted.backward(to(grad, DType::kF64));
    for (std::size_t i = 0; i < 3; ++i) {
      expect_near(narrow[i].grad(), wide[i].grad(), tolerance);
    }
  }
}

TEST_P(Convolutions, TakeOperandsThatLieAnyhow) {
  const Tensor x = randn64(case_.x).detach();
  const Tensor w = randn64(case_.weight).detach();
  const Tensor b = randn64({case_.out}).detach();
  const auto turned = [](const Tensor& t) {
    return t.transpose(1, 2).clone().transpose(1, 2);
  };
  const auto wanted = values(case_.run(x, w, b));
  EXPECT_EQ(values(case_.run(turned(x), turned(w), b)), wanted);
  const Tensor one = case_.run(x.select(0, 0), w, b);
  EXPECT_EQ(values(one), values(case_.run(x, w, b).select(0, 0)));
}

TEST_P(Convolutions, OfNoImagesAreEmpty) {
  Dims none = case_.x;
  none[0] = 0;
  Tensor x = randn64(none), w = randn64(case_.weight);
  const Tensor y = case_.run(x, w, {});
  EXPECT_EQ(y.num_elements(), 0);
  y.sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(max(abs(w.grad())).item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Convolutions, testing::ValuesIn(kCases),
                         [](const auto& shape) { return shape.param.name; });

TEST(Conv3d, IsASumOfConvolutionsOfPlanes) {
  const Tensor x = randn64({2, 3, 5, 4, 6}).detach();
  const Tensor w = randn64({4, 3, 2, 3, 2}).detach();
  const Tensor y =
      conv3d(x, w, {}, {.stride = {2, 1, 1}, .padding = {0, 1, 1}});
  EXPECT_TRUE(autograd::is_channels_last(y));
  ASSERT_EQ(y.shape(), Dims({2, 4, 2, 4, 7}));
  for (std::int64_t d = 0; d < 2; ++d) {
    const auto plane = [&](std::int64_t k) {
      return conv2d(x.select(2, 2 * d + k), w.select(2, k), {}, {.padding = 1});
    };
    expect_near(y.select(2, d), plane(0) + plane(1), 1e-12);
  }
}

// Sizes for which oneDNN has its fast routines.
TEST(Conv3d, OfManyChannelsIsTheSameInFloat32) {
  Tensor x = randn64({2, 32, 4, 5, 6}), w = randn64({32, 32, 3, 3, 3});
  Tensor a = to(x.detach(), DType::kF32).set_requires_grad(true);
  Tensor b = to(w.detach(), DType::kF32).set_requires_grad(true);
  const Tensor y = conv3d(x, w, {}, {.padding = 1});
  const Tensor found = conv3d(a, b, {}, {.padding = 1});
  expect_near(found, y, 1e-5);
  y.sum().backward();
  found.sum().backward();
  expect_near(a.grad(), x.grad(), 1e-5);
  expect_near(b.grad(), w.grad(), 1e-5);
}

TEST(ConvTranspose, ComputesInTheLowerTypeUnderAutocast) {
  const Tensor x = randn({1, 2, 4}), w = randn({2, 3, 3});
  Autocast autocast(DType::kBF16);
  EXPECT_EQ(conv_transpose1d(x, w, randn({3})).dtype(), DType::kBF16);
}

TEST(ConvTranspose, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 3, 4, 4}), w = randn({3, 2, 3, 3});
  EXPECT_ERROR(InvalidArgument, "[in, out / groups, kernel]",
               conv_transpose2d(x, randn({2, 3, 3, 3})));
  EXPECT_ERROR(InvalidArgument, "bias float32[3]",
               conv_transpose2d(x, w, randn({3})));
  EXPECT_ERROR(InvalidArgument, "groups",
               conv_transpose2d(x, w, {}, {.groups = 2}));
  EXPECT_ERROR(InvalidArgument, "output padding must be less",
               conv_transpose2d(x, w, {}, {.output_padding = {0, 1}}));
  EXPECT_ERROR(InvalidArgument, "conv_transpose2d: the result of [1,3,4,4]",
               conv_transpose2d(x, w, {}, {.padding = 3}));
  EXPECT_ERROR(InvalidArgument, "less than 2^31",
               conv_transpose2d(x, w, {}, {.stride = std::int64_t{1} << 30}));
  EXPECT_ERROR(InvalidArgument, "conv_transpose3d",
               conv_transpose3d(x, w, randn({3})));
  EXPECT_ERROR(InvalidArgument, "conv1d", conv1d(x, w));
  EXPECT_ERROR(InvalidArgument, "conv3d: the kernel",
               conv3d(randn({1, 1, 2, 2, 2}), randn({1, 1, 3, 1, 1})));
}

}  // namespace
}  // namespace hvd
