// SPDX-License-Identifier: Apache-2.0
// Operations compute the values and gradients of PyTorch.
// test/fixtures/make_op_fixtures.py makes the expected numbers, with the cases
// in the same order. Results and gradients are compared relative to their
// largest element.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

using autograd::Dims;

const std::vector<Dims> kPair = {{3, 1, 5}, {4, 5}};
const std::vector<Dims> kRows = {{5, 7}};

Tensor integers(const std::vector<std::int64_t>& values, const Dims& shape) {
  return from_vector(values, shape);
}

Tensor class_labels() { return integers({3, 0, -100, 5, 1}, {5}); }

TorchCases elementwise() {
  return {{"add", {kPair, [](X x) { return x[0] + x[1]; }}},
          {"sub", {kPair, [](X x) { return x[0] - x[1]; }}},
          {"mul", {kPair, [](X x) { return x[0] * x[1]; }}},
          {"div", {kPair, [](X x) { return x[0] / (x[1] + 3.0); }}},
          {"neg", {kRows, [](X x) { return -x[0]; }}},
          {"exp", {kRows, [](X x) { return exp(x[0]); }}},
          {"tanh", {kRows, [](X x) { return tanh(3.0 * x[0]); }}},
          {"sigmoid", {kRows, [](X x) { return sigmoid(5.0 * x[0]); }}},
          {"relu", {kRows, [](X x) { return relu(x[0]); }}},
          {"gelu", {kRows, [](X x) { return gelu(3.0 * x[0]); }}},
          {"gelu_tanh",
           {kRows, [](X x) { return gelu(3.0 * x[0], GeluForm::kTanh); }}},
          {"erf", {kRows, [](X x) { return erf(2.0 * x[0]); }}},
          {"sin", {kRows, [](X x) { return sin(4.0 * x[0]); }}},
          {"cos", {kRows, [](X x) { return cos(4.0 * x[0]); }}},
          {"abs", {kRows, [](X x) { return abs(x[0]); }}},
          {"pow3", {kRows, [](X x) { return pow(x[0], 3); }}},
          {"silu", {kRows, [](X x) { return silu(5.0 * x[0]); }}},
          {"leaky_relu", {kRows, [](X x) { return leaky_relu(x[0], 0.2); }}},
          {"sign", {kRows, [](X x) { return sign(x[0]) * x[0]; }}},
          {"floor", {kRows, [](X x) { return floor(7.0 * x[0]) * x[0]; }}},
          {"ceil", {kRows, [](X x) { return ceil(7.0 * x[0]) * x[0]; }}},
          {"round", {kRows, [](X x) { return round(7.0 * x[0]) * x[0]; }}},
          {"rsqrt", {kRows, [](X x) { return rsqrt(x[0]); }, true}},
          {"log", {kRows, [](X x) { return log(x[0]); }, true}},
          {"sqrt", {kRows, [](X x) { return sqrt(x[0]); }, true}},
          {"pow_fraction", {kRows, [](X x) { return pow(x[0], 1.7); }, true}},
          {"where",
           {{{4, 5}, {4, 1}},
            [](X x) { return where(gt(x[0], 0.0), x[0], x[1]); }}},
          {"masked_fill", {{{4, 5}}, [](X x) {
                             return masked_fill(x[0], gt(x[0], 0.25), -2.0);
                           }}}};
}

TorchCases reductions() {
  const std::vector<Dims> cube = {{3, 4, 5}};
  const std::vector<Dims> middle = {{3, 6, 4}};
  return {
      {"sum", {cube, [](X x) { return sum(x[0]); }}},
      {"sum_dims",
       {cube,
        [](X x) {
          return sum(x[0], {0, 2});
        }}},
      {"mean_keepdim", {cube, [](X x) { return mean(x[0], {1}, true); }}},
      {"max", {{{3, 40}}, [](X x) { return max(x[0]); }}},
      {"max_dim", {cube, [](X x) { return max(x[0], 1).values; }}},
      {"softmax", {middle, [](X x) { return softmax(5.0 * x[0], -1); }}},
      {"softmax_middle", {middle, [](X x) { return softmax(5.0 * x[0], 1); }}},
      {"log_softmax",
       {{{3, 6}}, [](X x) { return log_softmax(5.0 * x[0], -1); }}},
      {"log_softmax_first",
       {{{3, 6}}, [](X x) { return log_softmax(5.0 * x[0], 0); }}}};
}

TorchCases products() {
  const auto product = [](X x) { return matmul(x[0], x[1]); };
  return {{"matmul", {{{4, 6}, {6, 3}}, product}},
          {"matmul_vectors", {{{6}, {6}}, product}},
          {"matmul_matrix_vector", {{{4, 6}, {6}}, product}},
          {"matmul_batched", {{{2, 1, 4, 6}, {3, 6, 5}}, product}},
          {"matmul_transposed",
           {{{2, 6, 4}, {2, 5, 6}},
            [](X x) {
              return matmul(x[0].transpose(1, 2), x[1].transpose(1, 2));
            }}},
          {"linear", {{{2, 3, 6}, {4, 6}, {4}}, [](X x) {
                        return linear(x[0], x[1], x[2]);
                      }}}};
}

TorchCases losses() {
  const std::vector<Dims> logits = {{5, 6}};
  const auto entropy = [](const CrossEntropyOptions& options) {
    return [options](X x) {
      CrossEntropyOptions its = options;
      if (its.weight.defined()) its.weight = its.weight.to(x[0].dtype());
      const Tensor targets = x.size() > 1 ? softmax(x[1], 1) : class_labels();
      return cross_entropy(4.0 * x[0], targets, its);
    };
  };
  const Tensor one_to_six = arange(1, 7, 1, {.dtype = DType::kF64});
  return {
      {"nll_loss",
       {logits, [](X x) { return nll_loss(x[0], class_labels()); }}},
      {"cross_entropy", {logits, entropy({})}},
      {"cross_entropy_sum", {logits, entropy({.reduction = Reduction::kSum})}},
      {"cross_entropy_none",
       {logits, entropy({.reduction = Reduction::kNone})}},
      {"cross_entropy_smooth", {logits, entropy({.label_smoothing = 0.1})}},
      {"cross_entropy_weighted",
       {logits, entropy({.weight = one_to_six, .label_smoothing = 0.1})}},
      {"cross_entropy_soft", {{{5, 6}, {5, 6}}, entropy({})}},
      {"cross_entropy_soft_weighted",
       {{{2, 6, 3}, {2, 6, 3}},
        entropy({.weight = one_to_six, .label_smoothing = 0.1})}},
      {"cross_entropy_spatial",
       {{{2, 6, 4}},
        [](X x) {
          return cross_entropy(4.0 * x[0],
                               same_integers("spatial_labels", {2, 4}, 6));
        }}},
      {"mse", {{{4, 5}, {4, 5}}, [](X x) { return mse_loss(x[0], x[1]); }}}};
}

TorchCases convolutions() {
  const auto conv = [](const Conv2dOptions& options) {
    return [options](X x) {
      return conv2d(x[0], x[1], x.size() > 2 ? x[2] : Tensor(), options);
    };
  };
  return {{"conv2d", {{{2, 3, 7, 6}, {4, 3, 3, 3}, {4}}, conv({})}},
          {"conv2d_strided",
           {{{2, 4, 9, 8}, {6, 4, 3, 2}, {6}},
            conv({.stride = {2, 1}, .padding = {1, 2}})}},
          {"conv2d_dilated",
           {{{1, 2, 9, 9}, {3, 2, 3, 3}}, conv({.padding = 2, .dilation = 2})}},
          {"conv2d_grouped",
           {{{2, 6, 5, 5}, {4, 3, 3, 3}}, conv({.padding = 1, .groups = 2})}},
          {"conv2d_depthwise",
           {{{2, 4, 6, 6}, {4, 1, 3, 3}},
            conv({.stride = 2, .padding = 1, .groups = 4})}},
          {"conv2d_pointwise", {{{2, 5, 4, 4}, {3, 5, 1, 1}}, conv({})}}};
}

TorchCases pools() {
  const auto largest = [](const MaxPool2dOptions& options) {
    return [options](X x) { return max_pool2d(x[0], options); };
  };
  const auto average = [](const AvgPool2dOptions& options) {
    return [options](X x) { return avg_pool2d(x[0], options); };
  };
  return {{"max_pool2d", {{{2, 3, 6, 7}}, largest({.kernel = 2})}},
          {"max_pool2d_padded",
           {{{2, 3, 7, 7}}, largest({.kernel = 3, .stride = 2, .padding = 1})}},
          {"max_pool2d_ceil",
           {{{1, 2, 6, 6}},
            largest({.kernel = 3, .stride = 2, .ceil_mode = true})}},
          {"avg_pool2d", {{{2, 3, 6, 7}}, average({.kernel = 2})}},
          {"avg_pool2d_padded",
           {{{2, 3, 7, 7}}, average({.kernel = 3, .stride = 2, .padding = 1})}},
          {"avg_pool2d_exclusive",
           {{{1, 2, 6, 6}},
            average({.kernel = 3,
                     .stride = 2,
                     .padding = 1,
                     .ceil_mode = true,
                     .count_include_pad = false})}},
          {"adaptive_avg_pool2d",
           {{{2, 3, 7, 5}},
            [](X x) {
              return adaptive_avg_pool2d(x[0], {3, 2});
            }}},
          {"global_avg_pool2d",
           {{{2, 3, 7, 5}}, [](X x) { return adaptive_avg_pool2d(x[0], 1); }}}};
}

TorchCases normalizations() {
  const std::vector<Dims> images = {{4, 3, 5, 5}, {3}, {3}};
  return {
      {"batch_norm",
       {images,
        [](X x) {
          return batch_norm(x[0], Tensor(), Tensor(), x[1], x[2],
                            {.training = true});
        }}},
      {"batch_norm_evaluated",
       {images,
        [](X x) {
          const DType dtype = x[0].dtype();
          const Tensor mean = constant({0.1, -0.2, 0.3}, {3}).to(dtype);
          const Tensor variance = constant({0.5, 1.5, 2.5}, {3}).to(dtype);
          return batch_norm(x[0], mean, variance, x[1], x[2]);
        }}},
      {"layer_norm",
       {{{3, 4, 10}, {10}, {10}},
        [](X x) { return layer_norm(x[0], {10}, x[1], x[2]); }}},
      {"layer_norm_two", {{{3, 4, 5}, {4, 5}, {4, 5}}, [](X x) {
                            return layer_norm(x[0], {4, 5}, x[1], x[2], 1e-3);
                          }}}};
}

TorchCases lookups_and_shapes() {
  const Tensor rows = integers({1, 6, 1, 0, 3, 6}, {2, 3});
  return {{"embedding", {{{7, 4}}, [=](X x) { return embedding(x[0], rows); }}},
          {"embedding_padded",
           {{{7, 4}},
            [=](X x) { return embedding(x[0], rows, {.padding_index = 6}); }}},
          {"gather",
           {{{4, 5}},
            [](X x) {
              return gather(
                  x[0], 1,
                  integers({0, 0, 4, 1, 2, 3, 4, 4, 4, 2, 1, 0}, {4, 3}));
            }}},
          {"index_select",
           {{{4, 5}},
            [](X x) {
              return index_select(x[0], 0, integers({3, 1, 3}, {3}));
            }}},
          {"cat",
           {{{2, 3}, {2, 4}},
            [](X x) {
              return cat({x[0], x[1]}, 1);
            }}},
          {"stack",
           {{{2, 3}, {2, 3}},
            [](X x) {
              return stack({x[0], x[1]}, 1);
            }}},
          {"roll",
           {{{4, 5}},
            [](X x) {
              return roll(x[0], {1, -2}, {0, 1});
            }}},
          {"pad",
           {{{2, 3, 4}},
            [](X x) {
              return pad(x[0], {1, 2, 0, 3}, 0.5);
            }}},
          {"crop",
           {{{2, 5, 6}},
            [](X x) {
              return pad(x[0], {-1, -2, -1, 0});
            }}},
          {"views", {{{4, 6}}, [](X x) {
                       return x[0].view({2, 2, 6})
                                  .permute({2, 0, 1})
                                  .slice(0, 1, 5, 2)
                                  .reshape({-1}) *
                              2.0;
                     }}}};
}

// For [batch, time, features]; returns the outputs, then the last cell state.
Tensor run_lstm(X x) {
  const Tensor zero = zeros({3, 6}, {.dtype = x[0].dtype()});
  const LstmResult y =
      lstm(x[0].transpose(0, 1), {.h = zero, .c = zero},
           {.w_ih = x[1], .w_hh = x[2], .b_ih = x[3], .b_hh = x[4]});
  return cat({y.output.transpose(0, 1).reshape({-1}), y.c.reshape({-1})});
}

TorchCases sequences() {
  const Dims square = {2, 3, 6, 4};
  const Dims block = {2, 3, 5, 4};
  return {{"attention",
           {{{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 6}},
            [](X x) {
              return scaled_dot_product_attention(4.0 * x[0], x[1], x[2]);
            }}},
          {"attention_causal",
           {{square, square, square},
            [](X x) {
              return scaled_dot_product_attention(4.0 * x[0], x[1], x[2],
                                                  {.is_causal = true});
            }}},
          {"attention_masked",
           {{block, block, block, {5, 5}},
            [](X x) {
              return scaled_dot_product_attention(x[0], x[1], x[2],
                                                  {.mask = x[3], .scale = 0.7});
            }}},
          {"lstm", {{{3, 5, 4}, {24, 4}, {24, 6}, {24}, {24}}, run_lstm}}};
}

TorchCases all_cases() {
  TorchCases all;
  for (TorchCases family :
       {elementwise(), reductions(), products(), losses(), convolutions(),
        pools(), normalizations(), lookups_and_shapes(), sequences()}) {
    all.merge(family);
  }
  return all;
}

const std::map<std::string, Tensor>& fixture() {
  static const auto file = read_fixture("ops.safetensors");
  return file;
}

class PyTorchsOperation : public testing::TestWithParam<std::string> {};

TEST_P(PyTorchsOperation, ComputesTheSame) {
  const auto all = all_cases();
  const auto found = all.find(GetParam());
  ASSERT_NE(found, all.end()) << "this case of the fixture has no mirror here";
  hold_to_pytorch(fixture(), GetParam(), found->second, DType::kF32, 1e-5);
  hold_to_pytorch(fixture(), GetParam(), found->second, DType::kF64, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(, PyTorchsOperation,
                         testing::ValuesIn(names_in(fixture())),
                         [](const auto& test) { return test.param; });

TEST(PyTorchsOperations, OfThisFileAreAllInTheFixture) {
  const auto names = names_in(fixture());
  for (const auto& [name, c] : all_cases()) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace hvd
