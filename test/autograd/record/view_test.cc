// SPDX-License-Identifier: Apache-2.0
// Sections 1B and 1D of the contract: views, their parts, and writes through
// them.
#include <limits>

#include "horovodpp/autograd/gradcheck.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/tensor/memory.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Dims;
using autograd::LeafInplaceError;
using autograd::VersionError;
using autograd::ViewInplaceError;
using testing::Each;
using testing::ElementsAre;
using Tensors = std::vector<Tensor>;

Tensor numbers(const Dims& shape) {
  return arange(0, static_cast<double>(shape.product()), 1,
                {.dtype = DType::kF64})
      .view(shape);
}

// Item 29.
TEST(Chunk, OneUsedPartLeavesTheRestZero) {
  Tensor x = randn64({10, 2});
  (x.chunk(5)[2] * 4.0).sum().backward();
  const std::vector<double> g = values(x.grad());
  for (std::size_t i = 0; i < g.size(); ++i) {
    EXPECT_EQ(g[i], i / 4 == 2 ? 4 : 0);
  }
}

TEST(Chunk, OfAnEmptyDimensionHasTheRequestedNumberOfParts) {
  const Tensor x = numbers({0, 3});
  const Tensors parts = x.chunk(3);
  ASSERT_EQ(parts.size(), 3u);
  for (const Tensor& part : parts) EXPECT_EQ(part.shape(), Dims({0, 3}));
  EXPECT_EQ(x.chunk(2, 1).size(), 2u);
  for (const std::int64_t size : {0, 2}) {
    ASSERT_EQ(x.split(size).size(), 1u);
    EXPECT_EQ(x.split(size)[0].shape(), Dims({0, 3}));
  }
  EXPECT_ERROR(InvalidArgument, "never end", numbers({2}).split(0));
}

// Item 30.
TEST(Unbind, EachElementHasItsOwnGradient) {
  Tensor x = leaf({1, 2, 3}, {3});
  const Tensors parts = x.unbind();
  EXPECT_EQ(parts[0].dim(), 0);
  parts[0].backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 0));
  parts[2].backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 1));
  EXPECT_EQ(parts[1].grad_fn(), parts[2].grad_fn());
}

// Item 72.
TEST(Inplace, OneOfSeveralViewsIsNotWritten) {
  Tensor x = randn64({4, 2});
  const Tensor y = x * 1.0;
  for (const Tensor& part : {y.split(2)[0], y.chunk(2, 1)[1], y.unbind(0)[3],
                             y.unbind(1)[0].narrow(0, 0, 2)}) {
    EXPECT_ERROR(ViewInplaceError, "returns multiple views", part.mul_(2.0));
    NoGrad no_grad;
    part.mul_(2.0);
  }
  // The whole may be written, and the parts see the write.
  const Tensors parts = y.unbind(1);
  y.mul_(3.0);
  parts[1].sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 3, 0, 3, 0, 3, 0, 3));
  // Parts of a tensor that does not require grad may be written.
  Tensor plain = ones64({4});
  plain.split(2)[1].add_(1.0);
  EXPECT_THAT(values(plain), ElementsAre(1, 1, 2, 2));
}

TEST(Split, PartsHaveTheRequestedSizes) {
  const Tensor x = numbers({2, 5});
  const Tensors parts = split(x, std::vector<std::int64_t>{1, 0, 4}, 1);
  EXPECT_EQ(parts[2].shape(), Dims({2, 4}));
  EXPECT_EQ(parts[2].raw_data(), x.data<double>() + 1);
  EXPECT_EQ(x.chunk(3, 1).size(), 3u);
  EXPECT_EQ(x.chunk(4, 1).size(), 3u);
  EXPECT_ERROR(InvalidArgument, "do not add up",
               split(x, std::vector<std::int64_t>{1, 1}, 1));
  EXPECT_THROW(x.split(0), InvalidArgument);
  EXPECT_THROW(x.chunk(0), InvalidArgument);
}

TEST(Split, RefusesSizesWhoseSumOverflows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t quarter = std::int64_t{1} << 62;
  const Tensor x = numbers({2, 5});
  EXPECT_ERROR(InvalidArgument, "do not add up",
               split(x, {quarter, quarter, quarter, quarter + 5}, 1));
  EXPECT_EQ(x.split(kMost, 1).size(), 1u);
  EXPECT_EQ(x.chunk(kMost, 1).size(), 5u);
}

TEST(Split, PartsFollowWritesToTheirTensor) {
  Tensor x = leaf({1, 2, 3, 4}, {4});
  Tensor y = x * 1.0;
  const Tensors parts = y.split(2);
  y.mul_(leaf({5, 6, 7, 8}, {4}).detach());
  parts[1].sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 7, 8));
}

TEST(View, PassesGradientsToATensorThatRequiresThemOnlySince) {
  Tensor x = constant({0, 1, 2, 3}, {2, 2});
  const Tensor row = x.select(0, 1);
  x.set_requires_grad(true);
  (row * 3.0).sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 3, 3));
}

TEST(Narrow, CountsANegativeStartFromTheEnd) {
  Tensor x = leaf({1, 2, 3, 4, 5}, {5});
  const Tensor part = x.narrow(0, -4, 2);
  EXPECT_THAT(values(part), ElementsAre(2, 3));
  part.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 1, 1, 0, 0));
  EXPECT_ERROR(InvalidArgument, "3 elements from -2 on", x.narrow(0, -2, 3));
  EXPECT_ERROR(InvalidArgument, "1 elements from -6 on", x.narrow(0, -6, 1));
}

TEST(Slice, OfALongStepIsOneElement) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Tensor x = leaf({1, 2, 3, 4, 5}, {5});
  const Tensor part = x.slice(0, 1, 5, kMost);
  EXPECT_THAT(values(part), ElementsAre(2));
  part.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 1, 0, 0, 0));
  EXPECT_EQ(x.slice(0, 5, 5, kMost).num_elements(), 0);
  EXPECT_ERROR(InvalidArgument, "not within shape", x.narrow(0, kMost, 1));
}

TEST(Index, NumbersAndSlicesMakeViews) {
  const Tensor x = numbers({2, 3, 4});
  EXPECT_EQ(x.index({1, 2, 3}).item<double>(), 23);
  EXPECT_EQ(x.index({-1, kEllipsis, 0}).shape(), Dims({3}));
  EXPECT_THAT(values(x.index({-1, kEllipsis, 0})), ElementsAre(12, 16, 20));
  EXPECT_THAT(values(x.index({0, Slice(1), Slice(0, -1, 2)})),
              ElementsAre(4, 6, 8, 10));
  EXPECT_EQ(x.index({kNewAxis, 0, Slice(), kNewAxis}).shape(),
            Dims({1, 3, 1, 4}));
  EXPECT_EQ(x.index({1}).raw_data(), x.data<double>() + 12);
  EXPECT_THROW(x.index({2}), InvalidArgument);
  EXPECT_THROW(x.index({0, 0, 0, 0}), InvalidArgument);
}

TEST(Index, AScalarOfIntegersIsANumber) {
  const Tensor x = numbers({2, 3, 4});
  const auto scalar = [](double value, DType dtype = DType::kI64) {
    return full({}, value, {.dtype = dtype});
  };
  for (const DType dtype :
       {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    const Tensor row = x.index({scalar(-1, dtype)});
    EXPECT_EQ(row.shape(), Dims({3, 4}));
    EXPECT_EQ(row.raw_data(), x.data<double>() + 12);  // A view.
  }
  EXPECT_THAT(values(x.index({scalar(1), kEllipsis, scalar(2)})),
              ElementsAre(14, 18, 22));
  const Tensor picks = from_vector<std::int64_t>({1, 0}, {2});
  EXPECT_EQ(x.index({picks, Slice(), scalar(1)}).shape(), Dims({2, 3}));
  x.index_put_({scalar(0), scalar(0)}, -1.0);
  EXPECT_EQ(x.sum().item<double>(), 23 * 12 - 6 - 4);
  EXPECT_ERROR(InvalidArgument, "index 2 is not within dimension 0",
               x.index({scalar(2)}));
  EXPECT_ERROR(InvalidArgument, "picks nothing",
               x.index({scalar(1, DType::kBool)}));
  EXPECT_ERROR(InvalidArgument, "picks nothing",
               x.index({scalar(1, DType::kU8)}));
}

TEST(Index, HasOneEllipsisAtMost) {
  EXPECT_ERROR(InvalidArgument, "more than one ellipsis",
               numbers({2, 3}).index({kEllipsis, kEllipsis, 0}));
}

TEST(Index, TensorsPickElements) {
  const Tensor x = numbers({2, 3, 4});
  const auto i64 = [](const std::vector<std::int64_t>& v, const Dims& shape) {
    return from_vector<std::int64_t>(v, shape);
  };
  EXPECT_THAT(values(x.index({0, i64({2, -3}, {2}), 1})), ElementsAre(9, 1));
  const Tensor columns = x.index({Slice(), Slice(), i64({3, 0, 3}, {3})});
  EXPECT_EQ(columns.shape(), Dims({2, 3, 3}));
  EXPECT_EQ(columns.index({1, 2, 0}).item<double>(), 23);
  const Tensor apart = x.index({i64({1, 0}, {2}), Slice(), i64({0, 1}, {2})});
  EXPECT_EQ(apart.shape(), Dims({2, 3}));
  EXPECT_THAT(values(apart), ElementsAre(12, 16, 20, 1, 5, 9));
  const Tensor mask = gt(x, 20.0);
  EXPECT_THAT(values(x.index({mask})), ElementsAre(21, 22, 23));
  EXPECT_EQ(x.index({eq(x.index({Slice(), 0, 0}), 0.0)}).shape(),
            Dims({1, 3, 4}));
  EXPECT_ERROR(InvalidArgument, "3 is not within dimension 1",
               x.index({Slice(), i64({3}, {1})}));
  EXPECT_ERROR(InvalidArgument, "does not cover",
               x.index({zeros({3}, {.dtype = DType::kBool})}));
  EXPECT_ERROR(InvalidArgument, "picks nothing", x.index({ones({2})}));
}

// Item 69.
TEST(Setitem, PassesGradientsToTheRestAndToTheValue) {
  for (bool masked : {false, true}) {
    Tensor x = leaf({1, 2, 3, 4}, {4});
    const autograd::Index at =
        masked ? autograd::Index(gt(x, 3.0)) : autograd::Index(-1);
    Tensor y = x + 2.0;
    const auto version = y.version();
    y.index_put_({at}, 2.0);
    EXPECT_GT(y.version(), version);
    y.sum().backward();
    EXPECT_THAT(values(x.grad()), ElementsAre(1, 1, 1, 0));
    Tensor value = leaf({5}, {1});
    Tensor z = x + 2.0;
    z.index_put_({Slice(0, 2)}, value);
    z.index_put_({at}, value);
    z.sum().backward();
    EXPECT_THAT(values(value.grad()), ElementsAre(3));
  }
}

// Item 62.
TEST(Setitem, OfALeafIsRefusedAtOnce) {
  Tensor a = leaf({1, 2}, {2});
  EXPECT_ERROR(LeafInplaceError, "a view of a leaf Variable that requires grad",
               a.index_put_({Slice()}, 0.0));
  EXPECT_ERROR(LeafInplaceError, "a leaf Variable that requires grad",
               a.index_put_({gt(a, 1.0)}, 0.0));
  EXPECT_THAT(values(a), ElementsAre(1, 2));
}

// Item 78.
TEST(Index, SavesItsIndicesOnly) {
  Tensor x = randn64({5});
  Tensor y = x * 1.0;
  const Tensor mask = gt(y, 0.0);
  y.index_put_({mask}, y.index({mask}));
  y.sum().backward();
  EXPECT_THAT(values(x.grad()), Each(1));
}

// Item 76.
TEST(Detach, InPlaceTurnsATensorIntoALeaf) {
  Tensor x = leaf(1), y = leaf(1);
  Tensor a = x * 2.0;
  (y + a).backward({}, {.retain_graph = true});
  a.detach_();
  EXPECT_TRUE(a.is_leaf());
  EXPECT_FALSE(a.requires_grad());
  (y + a).backward();
  EXPECT_EQ(value(x.grad()), 2);
  EXPECT_EQ(value(y.grad()), 2);
  Tensor base = leaf({1, 2}, {2}) * 1.0;
  EXPECT_ERROR(autograd::AutogradError, "Can't detach views in-place",
               base.narrow(0, 0, 1).detach_());
}

// Item 76.
TEST(Detach, InPlaceOfASavedInputIsNoticed) {
  Tensor x = leaf(3);
  Tensor a = x * 2.0;
  Tensor y = a * a;
  a.detach_();
  EXPECT_ERROR(autograd::AutogradError, "detached in place", y.backward());
  Tensor z = exp(x);
  Tensor loss = z * 1.0;
  z.detach_();  // Saved as a result, by its own node.
  loss.backward();
  EXPECT_NEAR(value(x.grad()), 20.0855, 1e-4);
}

// Item 77.
TEST(Detach, InPlaceOfABaseLeavesItsViews) {
  Tensor x = leaf({1, 2}, {2});
  Tensor base = x * 2.0;
  Tensor part = base.narrow(0, 0, 1);
  base.detach_();
  EXPECT_FALSE(base.requires_grad());
  EXPECT_TRUE(part.requires_grad());
  part.sum().backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(2, 0));
}

// Item 79.
TEST(GradAt, AnEdgeKeepsTheVersionOfItsTensor) {
  Tensor leaf_x = leaf(3);
  Tensor x = leaf_x * 1.0;
  const autograd::Edge before = autograd::gradient_edge(x);
  x.mul_(2.0);
  const Tensors g =
      autograd::grad_at({x.sum()}, {before, autograd::gradient_edge(x)});
  EXPECT_EQ(value(g[0]), 2);
  EXPECT_EQ(value(g[1]), 1);
}

// Item 68.
TEST(Inplace, ExpInvalidatesUsesOfTheOldValue) {
  Tensor x = leaf(1), y = leaf(2);
  Tensor z = x * 1.0;
  Tensor q = z * y;
  Tensor r = z + y;
  z.exp_();
  r.backward();
  EXPECT_EQ(value(x.grad()), 1);
  EXPECT_ERROR(VersionError, "modified by an inplace operation", q.backward());
  z.backward();
  EXPECT_NEAR(value(x.grad()), 1 + 2.71828, 1e-4);
}

// Item 58.
TEST(Version, SetitemCountsAndExpMakesANewTensor) {
  Tensor a = leaf({1, 3}, {2});
  Tensor b = a + 2.0;
  EXPECT_EQ(b.version(), 0u);
  const auto* impl = b.impl();
  b.index_put_({0}, 1000.0);
  EXPECT_EQ(b.version(), 1u);
  EXPECT_EQ(b.impl(), impl);
  const auto* before = a.impl();
  a = exp(a);
  EXPECT_NE(a.impl(), before);
}

TEST(AsStrided, PassesGradientsToATensorWithGaps) {
  Tensor x = leaf({0, 0, 0, 0, 0, 0}, {6});
  const Tensor even = x.slice(0, 0, 6, 2);
  autograd::as_strided(even, {2}, {2}, 2).backward(constant({1, 2}, {2}));
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0, 1, 0, 2, 0));

  x.set_grad({});
  // `even` has only the first and the last of these.
  autograd::as_strided(even, {3}, {1}, 0).backward(constant({1, 2, 3}, {3}));
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 3, 0, 0, 0));
}

TEST(AsStrided, PassesGradientsToATensorThatItReachesBeyond) {
  Tensor x = leaf({0, 0, 0, 0}, {4});
  autograd::as_strided(x.narrow(0, 1, 2), {3}, {1}, -1)
      .backward(constant({1, 2, 3}, {3}));
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 2, 3, 0));
}

TEST(AsStrided, SharesTheGradientOfAPlaceAmongTheElementsThere) {
  Tensor x = leaf({0}, {1});
  const Tensor three = x.expand({3});
  three.retain_grad();
  autograd::as_strided(three, {2}, {0}, 0).backward(constant({1, 5}, {2}));
  EXPECT_THAT(values(three.grad()), ElementsAre(2, 2, 2));
  EXPECT_THAT(values(x.grad()), ElementsAre(6));
}

TEST(AsStrided, CanBeDifferentiatedTwiceWhereItHasGaps) {
  const auto squares = [](const Tensors& x) {
    const Tensor even = x[0].slice(0, 0, 6, 2);
    const Tensor y = autograd::as_strided(even, {2, 2}, {2, 2}, 0);
    return Tensors{y * y};
  };
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {6});
  autograd::gradcheck(squares, {x});
  autograd::gradgradcheck(squares, {x});
}

TEST(AsStrided, IsNotWrittenWhereElementsLieOnOnePlace) {
  const Tensor x = ones64({8});
  const auto view = [&](const Dims& strides) {
    return autograd::as_strided(x, {3, 2}, strides, 0);
  };
  EXPECT_THROW(view({2, 2}).mul_(2.0), InvalidArgument);
  EXPECT_THROW(view({1, 2}).mul_(2.0), InvalidArgument);
  EXPECT_THAT(values(x), Each(1));
  // The rows' ranges overlap, but no two elements share an address.
  view({2, 3}).mul_(2.0);
  EXPECT_THAT(values(x), ElementsAre(2, 1, 2, 2, 2, 2, 1, 2));
}

TEST(IndexPut, TakesLeadingOnesAndWhereItPicksNoOtherDtype) {
  const Tensor x = zeros({3}, {.dtype = DType::kI64});
  const Tensor first = from_vector<std::int64_t>({0}, {1});
  EXPECT_ERROR(InvalidArgument, "differ in dtype",
               x.index_put_({first}, constant({1.5}, {1})));
  x.index_put_({first}, from_vector<std::int64_t>({7}, {1, 1, 1}));
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{7, 0, 0}));
  x.index_put_({0}, constant(2));  // A copy, which converts.
  EXPECT_EQ(x.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0, 0}));
}

TEST(Views, ThatShowAllAreMadeWithoutRecordingToo) {
  const Tensor x = leaf({1, 2}, {2});
  const auto all = [&] {
    return Tensors{x.index({kEllipsis}), x.expand({2}),
                   autograd::sum_to(x, {2})};
  };
  for (const Tensor& y : all()) EXPECT_TRUE(y.is_same(x));
  NoGrad no_grad;
  for (const Tensor& y : all()) {
    EXPECT_FALSE(y.requires_grad());
    EXPECT_TRUE(autograd::shares_memory(x, y));
  }
}

TEST(Views, AreNoSumsThatKeepAllDimensions) {
  Tensor y = autograd::sum_to(ones64({2, 3}), {2, 1});
  EXPECT_NO_THROW(y.detach_());
  Tensor scalar = autograd::sum_to(ones64({2, 3}), {});
  EXPECT_NO_THROW(scalar.detach_());
  Tensor z = autograd::sum_to(ones64({2, 3}), {3});
  EXPECT_ERROR(autograd::AutogradError, "views", z.detach_());
}

TEST(CopySlices, KeepsToTheElementsOfABaseWithGaps) {
  Tensor w = leaf(3);
  const Tensor even =
      constant({1, 2, 3, 4, 5, 6}, {6}).slice(0, 0, 6, 2).detach();
  const Tensor last = even.select(0, 2);
  even.select(0, 1).mul_(w);
  EXPECT_THAT(values(even), ElementsAre(1, 9, 5));
  (even * constant({1, 10, 100}, {3}))
      .sum()
      .backward({}, {.retain_graph = true});
  EXPECT_EQ(value(w.grad()), 30);

  w.set_grad({});
  (last + even.select(0, 1)).backward();
  EXPECT_EQ(value(w.grad()), 3);
}

TEST(CopySlices, AddsUpTheElementsOfABaseThatLieOnOnePlace) {
  Tensor w = leaf(3);
  const Tensor rows = constant({1, 2}, {2}).expand({3, 2}).detach();
  rows.select(0, 0).mul_(w);
  rows.select(0, 1).mul_(w);
  EXPECT_THAT(values(rows.select(0, 2)), ElementsAre(9, 18));
  rows.sum().backward();
  EXPECT_EQ(value(w.grad()), 3 * 2 * 3 * (1 + 2));
}

TEST(AsStrided, StaysWithinTheMemoryOfItsTensor) {
  const Tensor x = arange(0, 12, 1, {}).narrow(0, 2, 8);
  EXPECT_EQ(autograd::as_strided(x, {2, 2}, {8, 1}, 0)
                .select(0, 1)
                .to_vector<float>(),
            (std::vector<float>{10, 11}));
  EXPECT_EQ(autograd::as_strided(x, {2}, {1}, -2).to_vector<float>(),
            (std::vector<float>{0, 1}));
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_THROW(autograd::as_strided(x, {2, 3}, {8, 1}, 0), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(x, {1}, {1}, -3), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(x, {1}, {1}, huge), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(x, {3}, {huge}, 0), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(x, {2}, {-1}, 4), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(x, {2}, {1, 1}, 0), InvalidArgument);
  EXPECT_THROW(autograd::as_strided(Tensor(), {2}, {1}, 0), InvalidArgument);
}

}  // namespace
}  // namespace hvd
