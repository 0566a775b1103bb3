// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/tensor/tensor.h"

#include <cmath>
#include <limits>

#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(Factories, FillTensorsOfEveryDtype) {
  for (DType dtype : kAllDTypes) {
    EXPECT_THAT(values(zeros({2, 2}, {.dtype = dtype}).to(DType::kF64)),
                Each(0));
    EXPECT_THAT(values(ones({2, 2}, {.dtype = dtype}).to(DType::kF64)),
                Each(1));
  }
  EXPECT_EQ(full({}, 3.5).item<float>(), 3.5f);
  EXPECT_THAT(arange(2, 5).to_vector<std::int64_t>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(arange(0, 1, 0.25, {}).to_vector<float>(),
              ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_EQ(empty({0, 3}).num_elements(), 0);
  EXPECT_TRUE(ones({2}, {.requires_grad = true}).requires_grad());
}

TEST(Factories, RefuseNumbersThatTheDtypeDoesNotHold) {
  for (const double bad : {0.5, -1.0, 256.0, 1e300, double{NAN}, HUGE_VAL}) {
    SCOPED_TRACE(bad);
    EXPECT_ERROR(InvalidArgument, "full: uint8 does not hold",
                 full({2}, bad, {.dtype = DType::kU8}));
    EXPECT_ERROR(InvalidArgument, "full: bool does not hold",
                 full({2}, bad, {.dtype = DType::kBool}));
    EXPECT_ERROR(InvalidArgument, "fill_: uint8 does not hold",
                 zeros({2}, {.dtype = DType::kU8}).fill_(bad));
  }
  EXPECT_EQ(full({}, 255, {.dtype = DType::kU8}).item<std::uint8_t>(), 255);
  EXPECT_EQ(full({}, -0x1p63, {.dtype = DType::kI64}).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_ERROR(InvalidArgument, "int64 does not hold 9.22337e+18",
               full({}, 0x1p63, {.dtype = DType::kI64}));
  EXPECT_TRUE(std::isinf(full({}, 1e300).item<float>()));
  EXPECT_ERROR(InvalidArgument, "arange: int64 does not hold 0.25",
               arange(0, 1, 0.25));
  EXPECT_ERROR(InvalidArgument, "arange: int64 does not hold 0.5",
               arange(0.5, 1));
  EXPECT_ERROR(InvalidArgument, "arange: uint8 does not hold 299",
               arange(0, 300, 1, {.dtype = DType::kU8}));
  EXPECT_THAT(arange(3, 0.5, -1).to_vector<std::int64_t>(),
              ElementsAre(3, 2, 1));
  EXPECT_EQ(arange(0.5, 0.5).num_elements(), 0);
}

TEST(Factories, RefuseMalformedShapes) {
  EXPECT_ERROR(InvalidArgument, "negative dimension", zeros({2, -1}));
  EXPECT_ERROR(InvalidArgument, "2^63",
               empty({std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_ERROR(InvalidArgument, "at most 8 dimensions",
               empty({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_ERROR(InvalidArgument, "3 values do not fill shape [2,2]",
               from_vector<float>({1, 2, 3}, {2, 2}));
  EXPECT_THROW(arange(0, 1, 0), InvalidArgument);
  EXPECT_ERROR(Error, "out of memory", empty({std::int64_t{1} << 57}));
}

TEST(Factories, FromBlobNeedsAlignedMemory) {
  alignas(8) char memory[16];
  EXPECT_THROW(from_blob(nullptr, {2}, DType::kF32), InvalidArgument);
  EXPECT_THROW(from_blob(memory + 2, {2}, DType::kF32), InvalidArgument);
  EXPECT_EQ(from_blob(nullptr, {0}, DType::kF32).num_elements(), 0);
  EXPECT_EQ(from_blob(memory + 2, {2}, DType::kF16).num_elements(), 2);
}

TEST(Factories, FromBlobBorrowsAndReleases) {
  float memory[4] = {1, 2, 3, 4};
  int released = 0;
  {
    Tensor view;
    {
      Tensor x = from_blob(memory, {2, 2}, DType::kF32, [&](void* data) {
        EXPECT_EQ(data, memory);
        ++released;
      });
      view = x.t();
    }
    view.mul_(2.0);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_THAT(memory, ElementsAre(2, 4, 6, 8));
}

TEST(Tensor, ShowsItsMemory) {
  Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const TensorView view = x.tensor_view();
  EXPECT_EQ(view.data(), x.data<float>());
  EXPECT_EQ(view.shape(), Shape({2, 3}));
  EXPECT_EQ(view.dtype(), DType::kF32);
  EXPECT_EQ(x.narrow(0, 1, 1).tensor_view().data(), x.data<float>() + 3);
  EXPECT_ERROR(InvalidArgument, "is not contiguous", x.t().tensor_view());
  EXPECT_ERROR(InvalidArgument, "cannot be read as float64", x.data<double>());
  EXPECT_ERROR(InvalidArgument, "6 elements", x.item<float>());
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_ERROR(InvalidArgument, "dimension 2 is out of range", x.size(2));
}

TEST(Tensor, AnUndefinedOneIsAnError) {
  Tensor x = leaf(1);
  EXPECT_ERROR(InvalidArgument, "undefined", x.grad().item<double>());
  EXPECT_ERROR(InvalidArgument, "undefined", Tensor().requires_grad());
  EXPECT_ERROR(InvalidArgument, "undefined", Tensor().backward());
  EXPECT_ERROR(InvalidArgument, "undefined", x.add_(Tensor()));
  EXPECT_ERROR(InvalidArgument, "undefined", Tensor().set_requires_grad(true));
}

TEST(Tensor, PrintsItself) {
  EXPECT_EQ(from_vector<float>({1, 2, 3, 4}, {2, 2}).t().to_string(),
            "float32[2,2] [[1, 3], [2, 4]]");
  EXPECT_EQ(arange(0, 100).to_string(),
            "int64[100] [0, 1, 2, ..., 97, 98, 99]");
  EXPECT_EQ(full({}, 1, {.dtype = DType::kBool}).to_string(), "bool[] true");
  EXPECT_EQ(Tensor().to_string(), "undefined");
}

TEST(Views, ShareMemoryAndSeeTheRightElements) {
  Tensor x = arange(0, 24).view({2, 3, 4});
  EXPECT_EQ(x.permute({2, 0, 1}).shape(), Dims({4, 2, 3}));
  EXPECT_THAT(x.select(1, 2).select(0, 1).to_vector<std::int64_t>(),
              ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(
      x.transpose(0, 2).select(0, 1).select(0, 0).to_vector<std::int64_t>(),
      ElementsAre(1, 13));
  Tensor part = x.narrow(2, 1, 2);
  EXPECT_FALSE(part.is_contiguous());
  EXPECT_EQ(part.view({6, 2}).raw_data(), part.raw_data());
  EXPECT_ERROR(InvalidArgument, "use reshape()", part.view({12}));
  EXPECT_EQ(part.reshape({12}).to_vector<std::int64_t>()[2], 5);
  EXPECT_ERROR(InvalidArgument, "do not fill shape [5,-1]", x.view({5, -1}));
  EXPECT_ERROR(InvalidArgument, "do not fill", x.view({-1, -1}));
  EXPECT_ERROR(InvalidArgument, "is no order", x.permute({0, 0, 1}));
  EXPECT_ERROR(InvalidArgument, "not within shape", x.narrow(0, 1, 2));
  EXPECT_ERROR(InvalidArgument, "does not repeat", x.expand({2, 3, 5}));
  EXPECT_EQ(ones({1, 3}).expand({2, -1, -1}).shape(), Dims({2, 1, 3}));
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;
  for (const Dims& bad : {Dims({-2, 3}), Dims({-1, 1, 3}), Dims({3}),
                          Dims({kLarge, kLarge, 1, 3})}) {
    EXPECT_ERROR(InvalidArgument, "does not repeat", ones({1, 3}).expand(bad));
  }
  EXPECT_EQ(ones({0, 3}).reshape({3, 0}).num_elements(), 0);
  EXPECT_EQ(ones({1}).view({}).dim(), 0);
}

TEST(Views, AcceptFewDimensions) {
  const Tensor scalar = constant(3), row = constant({1, 2, 3}, {3});
  EXPECT_EQ(value(scalar.t()), 3);
  EXPECT_EQ(row.t().shape(), Dims({3}));
  EXPECT_EQ(row.t().raw_data(), row.raw_data());
  EXPECT_ERROR(InvalidArgument, "more than 2 dimensions", ones({1, 2, 3}).t());
  EXPECT_EQ(value(scalar.transpose(0, -1)), 3);
  EXPECT_ERROR(InvalidArgument, "out of range", scalar.transpose(0, 1));
  EXPECT_EQ(value(scalar.squeeze(0)), 3);
  EXPECT_EQ(row.squeeze(0).shape(), Dims({3}));
  EXPECT_EQ(row.squeeze(0).raw_data(), row.raw_data());
  EXPECT_EQ(ones({2, 1, 3}).squeeze(-1).shape(), Dims({2, 1, 3}));
  EXPECT_ERROR(InvalidArgument, "out of range", row.squeeze(1));
}

TEST(Views, APermutedTensorIsViewedIfPossible) {
  Tensor x = arange(0, 24).view({2, 3, 4}).permute({1, 0, 2});
  EXPECT_EQ(x.view({3, 2, 2, 2}).to_vector<std::int64_t>(),
            x.to_vector<std::int64_t>());
  EXPECT_EQ(x.view({3, 1, 2, 4}).to_vector<std::int64_t>(),
            x.to_vector<std::int64_t>());
  EXPECT_THROW(x.view({6, 4}), InvalidArgument);
  EXPECT_EQ(x.reshape({6, 4}).to_vector<std::int64_t>(),
            x.to_vector<std::int64_t>());
}

TEST(Tensor, GradientsMustFit) {
  Tensor x = leaf({1, 2}, {2});
  EXPECT_ERROR(InvalidArgument, "float64[3]", x.set_grad(ones64({3})));
  EXPECT_ERROR(InvalidArgument, "float32[2]", x.set_grad(ones({2})));
}

TEST(Memory, IsCountedExactlyAndReused) {
  autograd::Allocator& allocator = autograd::cpu_allocator();
  const auto before = allocator.stats().current_bytes;
  {
    Tensor small = empty({3});
    Tensor large = empty({1000, 1000});
    EXPECT_EQ(allocator.stats().current_bytes, before + 12 + 4000000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.raw_data()) % 64, 0u);
    Tensor view = large.t();
    EXPECT_EQ(allocator.stats().current_bytes, before + 12 + 4000000);
  }
  EXPECT_EQ(allocator.stats().current_bytes, before);
  EXPECT_GE(allocator.stats().peak_bytes, before + 12 + 4000000);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_bytes, before);

  const void* memory = empty({1000, 1000}).raw_data();
  EXPECT_EQ(empty({1000, 1000}).raw_data(), memory);
  autograd::release_cached_memory();
  EXPECT_EQ(allocator.stats().current_bytes, before);
}

TEST(Memory, AStepThatRepeatsItselfDoesNotGrow) {
  Tensor x = randn64({8, 8});
  const auto step = [&] {
    Tensor y = (x.matmul(x) * 0.1).exp().mean();
    y.backward();
    x.set_grad({});
    return autograd::cpu_allocator().stats().current_bytes;
  };
  const auto first = step();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(step(), first);
}

TEST(WeakTensor, FindsATensorWhileItLives) {
  Tensor x = ones({2});
  WeakTensor weak(x);
  WeakTensor copy = weak;
  EXPECT_TRUE(copy.lock().is_same(x));
  x = Tensor();
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_FALSE(WeakTensor().lock().defined());
}

}  // namespace
}  // namespace hvd
