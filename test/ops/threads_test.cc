// SPDX-License-Identifier: Apache-2.0
// Operations compute the same bits on any number of threads. Sizes are large
// enough for several, and no multiple of a block.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/kernel/products/blas.h"
#include "horovodpp/ops.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

const autograd::Dims kShape = {333, 515};
const autograd::Dims kImages = {3, 5, 111, 103};  // As many elements.

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) return false;
  return x.bytes() == 0 ||
         std::memcmp(x.raw_data(), y.raw_data(), x.bytes()) == 0;
}

// The result and the gradients of x.
std::vector<Tensor> computed(const std::function<Tensor(const Tensor&)>& f,
                             const Tensor& x, int threads) {
  set_num_threads(threads);
  manual_seed(3);
  const Tensor leaf = x.detach().set_requires_grad(true);
  const Tensor y = f(leaf);
  y.backward(ones(y.shape(), {.dtype = y.dtype()}));
  return {y.detach(), leaf.grad()};
}

TEST(Threads, ComputeTheSameBitsInAnyNumber) {
  const Tensor at = to(rand({515}) * 515.0, DType::kI64);
  const Tensor rows = to(rand({700}) * 333.0, DType::kI64);
  const Tensor some = to(rand({333}) * 333.0, DType::kI64);
  const Tensor weight = randn({515}, {.requires_grad = true});
  const Tensor column = randn({333, 1}, {.requires_grad = true});
  const std::map<std::string, std::function<Tensor(const Tensor&)>> all = {
      {"exp", [](auto& x) { return exp(x); }},
      {"sin", [](auto& x) { return sin(x); }},
      {"cos", [](auto& x) { return cos(x); }},
      {"abs", [](auto& x) { return abs(x); }},
      {"pow2", [](auto& x) { return pow(x, 2.0); }},
      {"clamp", [](auto& x) { return clamp(x, -0.5, 0.5); }},
      {"row", [&](auto& x) { return x * weight; }},
      {"column", [&](auto& x) { return x * column; }},
      {"prod_rows", [](auto& x) { return prod(x, 1); }},
      {"prod_columns", [](auto& x) { return prod(x, 0); }},
      {"index_add", [&](auto& x) { return index_add(x, 0, some, x); }},
      {"transposed", [](auto& x) { return transpose(x, 0, 1).contiguous(); }},
      {"flip", [](auto& x) { return flip(x, {1}); }},
      {"sum", [](auto& x) { return sum(x); }},
      {"sum_rows", [](auto& x) { return sum(x, {1}); }},
      {"sum_columns", [](auto& x) { return sum(x, {0}); }},
      {"mean", [](auto& x) { return mean(x, {0}, true); }},
      {"softmax", [](auto& x) { return softmax(x, -1); }},
      {"log_softmax", [](auto& x) { return log_softmax(x, 0); }},
      {"layer_norm", [&](auto& x) { return layer_norm(x, {515}, weight); }},
      {"dropout", [](auto& x) { return dropout(x, 0.3); }},
      {"index_select", [&](auto& x) { return index_select(x, 1, at); }},
      {"embedding", [&](auto& x) { return embedding(x, rows); }},
      {"attention",
       [](auto& x) {
         const Tensor heads = reshape(x, kImages);
         return scaled_dot_product_attention(heads, heads, heads,
                                             {.is_causal = true});
       }},
      {"batch_norm_planes",
       [](auto& x) {
         return batch_norm(reshape(x, kImages), {}, {}, {}, {},
                           {.training = true});
       }},
      {"batch_norm",
       [](auto& x) {
         return batch_norm(x, {}, {}, {}, {}, {.training = true});
       }},
      {"max_pool2d",
       [](auto& x) {
         return max_pool2d(reshape(x, kImages), {.kernel = 3, .stride = 2});
       }},
      {"avg_pool2d",
       [](auto& x) {
         return avg_pool2d(reshape(x, kImages), {.kernel = 3, .stride = 2});
       }},
      {"avg_pool2d_channels_last", [](auto& x) {
         return avg_pool2d(channels_last(reshape(x, kImages)),
                           {.kernel = 3, .stride = 2});
       }}};
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Tensor x = to(randn(kShape), dtype);
    for (const auto& [name, f] : all) {
      if (dtype != DType::kF32 && (name == "row" || name == "layer_norm")) {
        continue;
      }
      // The BLAS has threads of its own.
      if (name == "attention" &&
          (dtype == DType::kF64 ||
           !autograd::blas::float_products_share_openmp())) {
        continue;
      }
      const auto one = computed(f, x, 1);
      const auto three = computed(f, x, 3);
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(same_bits(one[i], three[i])) << name << ' ' << i;
      }
    }
  }
}

// Sums that no thread count explains: the layer's parameters.
TEST(Threads, SumTheSameGradientsOfParameters) {
  const Tensor x = randn(kShape);
  std::vector<Tensor> gradients;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const Tensor weight = ones({515}, {.requires_grad = true});
    const Tensor bias = zeros({515}, {.requires_grad = true});
    sum(layer_norm(x, {515}, weight, bias) * x).backward();
    gradients.push_back(weight.grad());
    gradients.push_back(bias.grad());
  }
  EXPECT_TRUE(same_bits(gradients[0], gradients[2]));
  EXPECT_TRUE(same_bits(gradients[1], gradients[3]));
  // Far from zero, so that a lost part shows.
  const double total = sum(gradients[1]).item<float>();
  EXPECT_NEAR(total, static_cast<double>(sum(x).item<float>()), 0.05);
}

TEST(Threads, NegateBools) {
  for (const std::int64_t n : {0, 1, 7, 9, 200'003}) {
    const Tensor x = bernoulli({n}, 0.5, {.dtype = DType::kBool});
    set_num_threads(2);
    const Tensor y = logical_not(x);
    EXPECT_TRUE(same_bits(y, eq(to(x, DType::kI32), 0.0))) << n;
  }
}

}  // namespace
}  // namespace hvd
