// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/index_ops.h"

#include "horovodpp/core/error.h"
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"

namespace hvd {
namespace {

using autograd::Dims;
using testing::ElementsAre;

Tensor indices_of(const std::vector<std::int64_t>& values, const Dims& shape) {
  return from_vector<std::int64_t>(values, shape);
}

TEST(Embedding, HasItsDerivatives) {
  const Tensor indices = indices_of({2, 0, 2, 3}, {2, 2});
  for (const std::optional<std::int64_t>& padding :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    check_grid(
        [&](const Inputs& x) {
          const Tensor y = embedding(x[0], indices, {.padding_index = padding});
          return y * y;
        },
        {{4, 3}});
  }
  check_grid([&](const Inputs& x) { return embedding(x[0], indices) * x[1]; },
             {{4, 9}, {2, 2, 9}});
}

TEST(Embedding, GivesPaddingNoGradient) {
  for (std::int64_t padding : {2, -2}) {
    Tensor w = ones({4, 2}, {.requires_grad = true});
    const Tensor y =
        embedding(w, indices_of({2, 0, 2, 3}, {4}), {.padding_index = padding});
    EXPECT_EQ(y.to_vector<float>(), std::vector<float>(8, 1.0f));
    y.sum().backward();
    EXPECT_THAT(w.grad().to_vector<float>(),
                ElementsAre(1, 1, 0, 0, 0, 0, 1, 1));
  }
}

TEST(Embedding, AddsUpHalvesInFloat) {
  Tensor w = ones({1, 1}, {.dtype = DType::kBF16, .requires_grad = true});
  embedding(w, zeros({300}, {.dtype = DType::kI64})).sum().backward();
  EXPECT_EQ(w.grad().to(DType::kF32).item<float>(), 300);
}

TEST(Embedding, RefusesMismatchedInputs) {
  EXPECT_ERROR(InvalidArgument, "embedding: index -1 is not within the 2",
               embedding(ones({2, 3}), from_vector<std::int64_t>({-1}, {1})));
  EXPECT_ERROR(InvalidArgument, "index 4 is not within the 4",
               embedding(ones({4, 2}), indices_of({4}, {1})));
  EXPECT_ERROR(InvalidArgument, "index -1 is not within",
               embedding(ones({4, 2}), indices_of({-1}, {1})));
  EXPECT_ERROR(InvalidArgument, "wanted are integers",
               embedding(ones({4, 2}), ones({1})));
  EXPECT_ERROR(InvalidArgument, "[n, width]",
               embedding(ones({4}), indices_of({0}, {1})));
  EXPECT_ERROR(
      InvalidArgument, "index 4 is not within",
      embedding(ones({4, 2}), indices_of({0}, {1}), {.padding_index = 4}));
}

TEST(IndexSelect, TakesScalarsAsOneElement) {
  const Tensor row =
      index_select(constant({1, 2, 3, 4}, {2, 2}), 0, indices_of({1}, {}));
  EXPECT_EQ(row.shape(), Dims({1, 2}));
  EXPECT_EQ(values(row), (std::vector<double>{3, 4}));

  const Tensor x = leaf(7);
  const Tensor y = index_select(x, -1, indices_of({0}, {1}));
  EXPECT_EQ(y.dim(), 0);
  y.backward();
  EXPECT_EQ(value(x.grad()), 1);
  EXPECT_THROW(index_select(x, 0, indices_of({0, 0}, {2})), InvalidArgument);
  EXPECT_THROW(index_select(x, 1, indices_of({0}, {1})), InvalidArgument);
}

TEST(IndexSelect, HasItsDerivativesAlongEveryDimension) {
  for (std::int64_t dim : {0, 1, 2}) {
    check_grid(
        [dim](const Inputs& x) {
          const Tensor y = index_select(x[0], dim, indices_of({1, 0, 1}, {3}));
          return y * y;
        },
        {{2, 3, 2}});
  }
  const Tensor x = arange(0, 6).view({2, 3});
  EXPECT_THAT(
      index_select(x, 1, indices_of({2, 2}, {2})).to_vector<std::int64_t>(),
      ElementsAre(2, 2, 5, 5));
  EXPECT_EQ(index_select(x, 0, indices_of({}, {0})).shape(), Dims({0, 3}));
}

TEST(Gather, HasItsDerivatives) {
  const Tensor index = indices_of({0, 1, 1, 0, 2, 2}, {3, 2});
  check_grid(
      [&](const Inputs& x) {
        const Tensor y = gather(x[0], 0, index);
        return y * y;
      },
      {{4, 2}});
  const Tensor smaller = indices_of({1, 1, 0}, {1, 3});
  check_grid([&](const Inputs& x) { return gather(x[0], -1, smaller) * x[1]; },
             {{2, 2}, {1, 3}});
}

TEST(Gather, TakesTheIndexedElements) {
  const Tensor x = from_vector<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(gather(x, 1, indices_of({0, 0, 1, 0}, {2, 2})).to_vector<float>(),
              ElementsAre(1, 1, 4, 3));
  EXPECT_EQ(gather(full({}, 5), 0, indices_of({0}, {})).item<float>(), 5);
  EXPECT_ERROR(InvalidArgument, "gather: index 2 is not within the 2",
               gather(x, 1, indices_of({2}, {1, 1})));
  EXPECT_ERROR(InvalidArgument, "does not go with",
               gather(x, 1, indices_of({0}, {1})));
}

// As torch.gather() and torch.scatter_add().
TEST(Gather, NamesTheIndexThatIsOutOfRange) {
  const Tensor x = randn({70, 1000});
  for (const std::int64_t bad : {-1, 70, 1000}) {
    const Tensor index = zeros({70, 1000}, {.dtype = DType::kI64});
    index.select(0, 69).select(0, 999).fill_(static_cast<double>(bad));
    for (const std::int64_t dim : {0, 1}) {
      if (bad < x.size(dim) && bad >= 0) continue;
      EXPECT_ERROR(InvalidArgument, absl::StrCat("index ", bad, " is not"),
                   gather(x, dim, index));
    }
  }
  EXPECT_ERROR(InvalidArgument, "the 0 elements",
               gather(zeros({2, 0}), 1, zeros({2, 1}, {.dtype = DType::kI64})));
}

TEST(Gather, EqualsASelectionOfColumnsInEachDtypeAndLayout) {
  const Tensor places = to(rand({301}) * 77.0, DType::kI64);
  const Tensor index = expand(places, {203, 301});
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Tensor x = to(floor(randn({203, 77}) * 4.0), dtype);
    for (const Tensor& at : {index, clone(index),
                             transpose(clone(transpose(index, 0, 1)), 0, 1)}) {
      const Tensor a = x.detach().set_requires_grad(true);
      const Tensor b = x.detach().set_requires_grad(true);
      const Tensor y = gather(a, 1, at), wanted = index_select(b, 1, places);
      EXPECT_TRUE(all(eq(y, wanted)).item<bool>());
      const Tensor grad = to(floor(randn({203, 301}) * 4.0), dtype);
      y.backward(grad);
      wanted.backward(grad);
      EXPECT_TRUE(all(eq(a.grad(), b.grad())).item<bool>());
    }
  }
}

TEST(Gather, TakesScalarsAsVectorsOfOne) {
  const Tensor x = full({}, 3.0).set_requires_grad(true);
  const Tensor y = gather(x, 0, indices_of({0, 0}, {2}));
  EXPECT_EQ(y.shape(), autograd::Dims({2}));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>({3, 3}));
  y.sum().backward();
  EXPECT_EQ(x.grad().shape(), autograd::Dims({}));
  EXPECT_EQ(x.grad().item<float>(), 2.0F);
  EXPECT_EQ(gather(ones({3}), -1, indices_of({2}, {})).shape(),
            autograd::Dims({}));
  const Tensor sum = scatter_add(x, 0, indices_of({0, 0}, {2}), ones({2}));
  EXPECT_EQ(sum.shape(), autograd::Dims({}));
  EXPECT_EQ(sum.item<float>(), 5.0F);
}

TEST(ScatterAdd, HasItsDerivatives) {
  const Tensor index = indices_of({0, 1, 1, 0}, {2, 2});
  check_grid(
      [&](const Inputs& x) {
        const Tensor y = scatter_add(x[0], 0, index, x[1]);
        return y * y;
      },
      {{3, 2}, {2, 3}});
}

TEST(ScatterAdd, AddsRepeatedIndices) {
  const Tensor y = scatter_add(ones({3}), 0, indices_of({2, 2, 0}, {3}),
                               from_vector<float>({1, 2, 3}, {3}));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(4, 1, 4));
  EXPECT_ERROR(
      InvalidArgument, "smaller than the index",
      scatter_add(ones({3}), 0, indices_of({2, 2, 0}, {3}), ones({2})));
}

// PyTorch takes int32 and int64.
TEST(Indices, MayHaveAnyIntegerDtype) {
  const Tensor whole = from_vector<std::int64_t>({2, 0, 2}, {3});
  const std::map<std::string, std::function<Tensor(const Tensor&, Tensor)>>
      lookups = {
          {"index_select",
           [](auto& x, auto i) { return index_select(x, 0, i); }},
          {"embedding", [](auto& x, auto i) { return embedding(x, i); }},
          {"gather",
           [](auto& x, auto i) { return gather(x, 0, i.unsqueeze(1)); }},
          {"scatter_add",
           [](auto& x, auto i) {
             return scatter_add(x, 0, i.unsqueeze(1), x) * x;
           }},
          {"nll_loss", [](auto& x, auto i) { return nll_loss(x, i); }},
          {"cross_entropy",
           [](auto& x, auto i) { return cross_entropy(x, i); }},
      };
  const auto run = [](const auto& lookup, const Tensor& indices) {
    Tensor x = from_vector<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}, true);
    const Tensor y = lookup(x, indices);
    y.sum().backward();
    return y.to_string() + x.grad().to_string();
  };
  for (const auto& [name, lookup] : lookups) {
    SCOPED_TRACE(name);
    const std::string expected = run(lookup, whole);
    for (const DType dtype :
         {DType::kU8, DType::kI8, DType::kI16, DType::kI32}) {
      EXPECT_EQ(run(lookup, whole.to(dtype)), expected) << name_of(dtype);
    }
    EXPECT_THROW(run(lookup, gt(whole, 0.0)), Error);
  }
}

TEST(Indices, InBracketsMayHaveAnySignedIntegerDtype) {
  const Tensor x = arange(0, 4);
  for (const DType dtype : {DType::kI8, DType::kI16, DType::kI32}) {
    const Tensor places = from_vector<std::int64_t>({-1, 0}, {2}).to(dtype);
    EXPECT_THAT(x.index({places}).to_vector<std::int64_t>(), ElementsAre(3, 0));
    const Tensor y = x.clone();
    y.index_put_({places}, 7.0);
    EXPECT_THAT(y.to_vector<std::int64_t>(), ElementsAre(7, 1, 2, 7));
  }
  EXPECT_ERROR(InvalidArgument, "signed integer dtype or a bool mask",
               x.index({x.to(DType::kU8)}));
}

}  // namespace
}  // namespace hvd
