// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/sampling/grid_sample.h"

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/images/images.h"
#include "horovodpp/ops/shape_ops.h"
#include "test/autograd/near.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;
using Mode = InterpolateMode;

struct GridCase {
  const char* name;
  Dims x;
  Dims grid;
  GridSampleOptions options;
};

void PrintTo(const GridCase& c, std::ostream* out) { *out << c.name; }

const GridCase kCases[] = {
    {"Zeros", {2, 3, 4, 3}, {2, 2, 3, 2}, {}},
    {"Border",
     {1, 2, 3, 4},
     {1, 3, 2, 2},
     {.padding = GridPadding::kBorder, .align_corners = true}},
    {"Reflection",
     {1, 2, 3, 4},
     {1, 3, 3, 2},
     {.padding = GridPadding::kReflection}},
    {"Cubic", {1, 2, 4, 4}, {1, 2, 3, 2}, {.mode = Mode::kCubic}},
    {"CubicReflection",
     {1, 1, 3, 4},
     {1, 3, 2, 2},
     {.mode = Mode::kCubic, .padding = GridPadding::kReflection}},
    {"Nearest", {1, 2, 3, 3}, {1, 2, 2, 2}, {.mode = Mode::kNearest}},
    {"Deep", {2, 2, 2, 3, 3}, {2, 2, 1, 3, 3}, {}},
    {"OnePixel",
     {1, 2, 1, 1},
     {1, 2, 2, 2},
     {.padding = GridPadding::kReflection, .align_corners = true}},
};

class GridSample : public testing::TestWithParam<GridCase> {
 protected:
  Tensor x_ = randn64(GetParam().x);
  // Half of the places are outside of the image.
  Tensor grid_ = randn64(GetParam().grid);

  Tensor run(const Tensor& x, const Tensor& grid) {
    return grid_sample(x, grid, GetParam().options);
  }
};

TEST_P(GridSample, HasItsFirstAndSecondDerivatives) {
  const auto all = [&](const std::vector<Tensor>& v) {
    return std::vector{run(v[0], v[1])};
  };
  autograd::gradcheck(all, {x_, grid_});
  autograd::gradgradcheck(all, {x_, grid_});
}

TEST_P(GridSample, IsTheSameInFloat32AndAnyLayout) {
  const Tensor x = to(x_.detach(), DType::kF32).detach();
  const Tensor grid = to(grid_.detach(), DType::kF32).detach();
  const Tensor y = run(x, grid);
  expect_near(y, run(x_, grid_), 1e-4);
  const auto turned = [](const Tensor& t) {
    return t.transpose(1, 2).clone().transpose(1, 2);
  };
  EXPECT_EQ(values(to(run(turned(x), turned(grid)), DType::kF64)),
            values(to(y, DType::kF64)));
}

TEST_P(GridSample, OfNoImagesIsEmpty) {
  Tensor x = narrow(x_, 0, 0, 0), grid = narrow(grid_, 0, 0, 0);
  const Tensor y = run(x, grid);
  EXPECT_EQ(y.num_elements(), 0);
  y.sum().backward();
  EXPECT_EQ(max(abs(x_.grad())).item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Modes, GridSample, testing::ValuesIn(kCases),
                         [](const auto& mode) { return mode.param.name; });

TEST(GridSample, ReadsThePixelsOfPyTorch) {
  const Tensor x = constant({1, 2, 3, 4}, {1, 1, 2, 2});
  const Tensor grid = constant({-1, -1, 0, 0, 0.5, -0.5, 3, 0}, {1, 1, 4, 2});
  EXPECT_THAT(values(grid_sample(x, grid)), ElementsAre(0.25, 2.5, 2, 0));
  EXPECT_THAT(values(grid_sample(x, grid, {.align_corners = true})),
              ElementsAre(1, 2.5, 2.25, 0));
  EXPECT_THAT(values(grid_sample(x, grid, {.padding = GridPadding::kBorder})),
              ElementsAre(1, 2.5, 2, 3));
}

TEST(GridSample, ComputesThe16BitTypesInFloat32) {
  for (DType dtype : {DType::kBF16, DType::kF16}) {
    const Tensor x = to(randn({1, 2, 4, 4}), dtype);
    const Tensor grid = to(rand({1, 3, 3, 2}), dtype);
    const Tensor y = grid_sample(x, grid);
    EXPECT_EQ(y.dtype(), dtype);
    const Tensor wide = grid_sample(to(x, DType::kF32), to(grid, DType::kF32));
    EXPECT_EQ(values(to(y, DType::kF64)),
              values(to(to(wide, dtype), DType::kF64)));
  }
}

TEST(GridSample, ComputesInFloat32UnderAutocast) {
  Autocast autocast(DType::kBF16);
  EXPECT_EQ(
      grid_sample(to(randn({1, 2, 4, 4}), DType::kBF16), rand({1, 3, 3, 2}))
          .dtype(),
      DType::kF32);
}

TEST(GridSample, HasTheSameBitsWithAnyNumberOfThreads) {
  const Tensor x = randn({2, 40, 30, 30}, {.requires_grad = true});
  const Tensor grid = rand({2, 50, 50, 2});
  std::vector<std::vector<float>> found;
  for (int threads : {3, 1}) {
    set_num_threads(threads);
    x.set_grad({});
    const Tensor y = grid_sample(x, grid);
    (y * y).sum().backward();
    found.push_back(y.to_vector<float>());
    found.push_back(x.grad().to_vector<float>());
  }
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[1], found[3]);
}

TEST(GridSample, TakesPlacesThatAreNoNumbers) {
  const Tensor x = constant({1, 2, 3, 4}, {1, 1, 2, 2});
  const Tensor grid =
      constant({NAN, 0, INFINITY, 0, -1e300, 1e300}, {1, 1, 3, 2});
  for (const Mode mode : {Mode::kNearest, Mode::kLinear, Mode::kCubic}) {
    EXPECT_THAT(values(grid_sample(x, grid, {.mode = mode})),
                ElementsAre(0, 0, 0));
    for (const GridPadding padding :
         {GridPadding::kBorder, GridPadding::kReflection}) {
      EXPECT_EQ(grid_sample(x, grid, {.mode = mode, .padding = padding})
                    .num_elements(),
                3);
    }
  }
}

TEST(GridSample, TakesImagesWithoutChannelsAndGridsWithoutPlaces) {
  Tensor x = randn64({2, 0, 3, 3}), grid = randn64({2, 2, 2, 2});
  const Tensor y = grid_sample(x, grid);
  EXPECT_EQ(y.shape(), Dims({2, 0, 2, 2}));
  y.sum().backward();
  EXPECT_EQ(max(abs(grid.grad())).item<double>(), 0.0);
  Tensor image = randn64({1, 2, 3, 3}), none = randn64({1, 0, 4, 2});
  const Tensor empty = grid_sample(image, none);
  EXPECT_EQ(empty.shape(), Dims({1, 2, 0, 4}));
  empty.sum().backward();
  EXPECT_EQ(max(abs(image.grad())).item<double>(), 0.0);
  EXPECT_EQ(none.grad().shape(), none.shape());
}

TEST(AffineGrid, OfTheIdentityReadsEachPixel) {
  const Tensor theta = constant({1, 0, 0, 0, 1, 0}, {1, 2, 3});
  const Tensor x = randn64({1, 2, 3, 4}).detach();
  for (const bool corners : {false, true}) {
    const Tensor grid = affine_grid(theta, {1, 2, 3, 4}, corners);
    ASSERT_EQ(grid.shape(), Dims({1, 3, 4, 2}));
    expect_near(grid_sample(x, grid, {.align_corners = corners}), x, 1e-12);
  }
  const auto run = [](const std::vector<Tensor>& v) {
    return std::vector{affine_grid(v[0], {2, 1, 2, 1, 3})};
  };
  autograd::gradcheck(run, {randn64({2, 3, 4})});
}

TEST(GridSample, RefusesMismatchedArguments) {
  const Tensor x = randn({1, 2, 4, 4}), grid = rand({1, 3, 3, 2});
  EXPECT_ERROR(InvalidArgument, "does not go with grid",
               grid_sample(x, rand({1, 3, 3, 3})));
  EXPECT_ERROR(InvalidArgument, "does not go with grid",
               grid_sample(x, rand({2, 3, 3, 2})));
  EXPECT_ERROR(InvalidArgument, "does not go with grid",
               grid_sample(randn({1, 2, 0, 4}), grid));
  EXPECT_ERROR(InvalidArgument, "differ in dtype",
               grid_sample(x, to(grid, DType::kF64)));
  EXPECT_ERROR(InvalidArgument, "the mode is",
               grid_sample(x, grid, {.mode = Mode::kArea}));
  EXPECT_ERROR(InvalidArgument, "the mode is",
               grid_sample(randn({1, 1, 2, 2, 2}), rand({1, 1, 1, 1, 3}),
                           {.mode = Mode::kCubic}));
  EXPECT_ERROR(InvalidArgument, "undefined", grid_sample(x, Tensor()));
  EXPECT_ERROR(InvalidArgument, "does not go with the size",
               affine_grid(randn({1, 2, 3}), {1, 1, 2, 2, 2}));
}

}  // namespace
}  // namespace hvd
