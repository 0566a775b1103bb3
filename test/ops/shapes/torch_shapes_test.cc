// SPDX-License-Identifier: Apache-2.0
// Operations on shapes compute the values and gradients of PyTorch, and have
// second derivatives. test/fixtures/make_shape_fixtures.py makes the expected
// numbers.
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"
#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

using autograd::Dims;

const std::vector<Dims> kCube = {{3, 4, 4}};

Tensor weighted_parts(const std::vector<Tensor>& parts) {
  std::vector<Tensor> weighted;
  for (const Tensor& part : parts) {
    weighted.push_back(part * static_cast<double>(weighted.size() + 1));
  }
  return cat(weighted, 1);
}

TorchCases views() {
  return {
      {"flatten", {kCube, [](X x) { return flatten(x[0], 1, 2); }}},
      {"unflatten",
       {kCube,
        [](X x) {
          return unflatten(x[0], 1, {2, -1});
        }}},
      {"movedim",
       {kCube,
        [](X x) {
          return movedim(x[0], {0, 2}, {-1, 0});
        }}},
      {"diagonal", {kCube, [](X x) { return diagonal(x[0], 1, -2, -1); }}},
      {"unfold", {kCube, [](X x) { return unfold(x[0], 1, 3, 1); }}},
      {"tensor_split",
       {kCube, [](X x) { return weighted_parts(tensor_split(x[0], 3, 1)); }}},
      {"meshgrid",
       {{{3}, {4}}, [](X x) {
          return stack(meshgrid({x[0], x[1]}, GridOrder::kCartesian));
        }}}};
}

TorchCases copies() {
  return {
      {"repeat",
       {kCube,
        [](X x) {
          return repeat(x[0], {2, 1, 2, 3});
        }}},
      {"tile",
       {kCube,
        [](X x) {
          return tile(x[0], {2, 1});
        }}},
      {"repeat_interleave",
       {kCube, [](X x) { return repeat_interleave(x[0], 3, 1); }}},
      {"repeat_interleave_tensor",
       {kCube,
        [](X x) {
          return repeat_interleave(
              x[0], from_vector<std::int64_t>({2, 0, 1}, {3}), 0);
        }}},
      {"rot90", {kCube, [](X x) { return rot90(x[0], 3, 0, 2); }}},
      {"roll_flat", {kCube, [](X x) { return roll(x[0], -5); }}},
      {"tril", {kCube, [](X x) { return tril(x[0], -1); }}},
      {"triu", {kCube, [](X x) { return triu(x[0], 1); }}},
      {"diag_embed", {kCube, [](X x) { return diag_embed(x[0], -1, 0, 2); }}},
      {"diag_of_vector", {{{4}}, [](X x) { return diag(x[0], -2); }}},
      {"diag_of_matrix", {{{4, 5}}, [](X x) { return diag(x[0], 1); }}},
      {"channel_shuffle",
       {kCube, [](X x) { return channel_shuffle(x[0], 2); }}},
      {"dstack",
       {{{3, 4}, {3, 4}},
        [](X x) {
          return dstack({x[0], x[1]});
        }}},
      {"column_stack", {{{3}, {3, 2}}, [](X x) {
                          return column_stack({x[0], x[1]});
                        }}}};
}

TorchCase summation(const std::string& equation,
                    const std::vector<Dims>& shapes) {
  return {shapes, [equation](X x) { return einsum(equation, x); }};
}

TorchCases contractions() {
  const std::vector<Dims> pair = {{2, 3, 4}, {2, 4, 5}};
  return {
      {"outer", {{{3}, {4}}, [](X x) { return outer(x[0], x[1]); }}},
      {"dot", {{{5}, {5}}, [](X x) { return dot(x[0], x[1]); }}},
      {"mv", {{{3, 4}, {4}}, [](X x) { return mv(x[0], x[1]); }}},
      {"baddbmm",
       {{{2, 1, 5}, {2, 3, 4}, {2, 4, 5}},
        [](X x) {
          return baddbmm(x[0], x[1], x[2], {.beta = 0.5, .alpha = 2.0});
        }}},
      {"tensordot",
       {{{3, 4, 5}, {5, 2, 3}},
        [](X x) {
          return tensordot(x[0], x[1], {2, 0}, {0, 2});
        }}},
      {"tensordot_last",
       {{{2, 3, 4}, {3, 4, 5}}, [](X x) { return tensordot(x[0], x[1], 2); }}},
      {"einsum_diagonal", summation("ijj->ji", kCube)},
      {"einsum_sum", summation("i...->...", kCube)},
      {"einsum_implied", summation("bij,bjk", pair)},
      {"einsum_batch", summation("bij, bjk -> kbi", pair)},
      {"einsum_outer", summation("bij,cjk->bcik", pair)},
      {"einsum_no_sum", summation("bij,bjk->bijk", pair)},
      {"einsum_dots", summation("...ij,...jk->...ik", pair)},
      {"einsum_attention",
       summation("bqhd,bkhd,bkhe->bqhe",
                 {{2, 3, 4, 5}, {2, 6, 4, 5}, {2, 6, 4, 3}})},
      {"einsum_ones", summation("bij,ij->bi", {{2, 1, 4}, {3, 4}})}};
}

TorchCases shape_cases() {
  TorchCases all = views();
  all.merge(copies());
  all.merge(contractions());
  return all;
}

TEST(Shapes, AreThoseOfPyTorch) {
  hold_all_to_pytorch(read_fixture("shapes.safetensors"), shape_cases());
}

TEST(Shapes, HaveTheirDerivatives) {
  for (const auto& [name, c] : shape_cases()) {
    SCOPED_TRACE(name);
    if (c.shapes[0].product() > 50) continue;  // Finite differences take long.
    check_grid(
        [&, &c = c](const Inputs& x) {
          const Tensor y = c.run(x);
          return y * y;
        },
        c.shapes);
  }
}

}  // namespace
}  // namespace hvd
