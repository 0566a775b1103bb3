// SPDX-License-Identifier: Apache-2.0
// Times single operations, forward and backward, for compare_operations.py,
// which has the same rows for PyTorch. Reads questions from standard input:
//
//   ROW THREADS COUNT
//
// Answers each with {"seconds": [...]}, one number per run of the row.
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "horovodpp/core/thread/threads.h"
#include "horovodpp/ops.h"
#include "horovodpp/ops/losses/elementwise_losses.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace {

using autograd::Dims;
using Unary = std::function<Tensor(const Tensor&)>;

// An operation of a leaf. Without grad it runs forward alone.
struct Row {
  Unary run;
  Tensor x;
  bool has_backward = true;
};
// Makes the operands when a row is first asked for.
using Rows = std::map<std::string, std::function<Row()>>;

const Dims kMatrix = {8192, 768};
const Dims kImages = {16, 64, 56, 56};

Tensor leaf(const Dims& shape) { return randn(shape, {.requires_grad = true}); }

void add_matrix(Rows& rows, const std::string& name, const Unary& run) {
  rows[name] = [run] { return Row{run, leaf(kMatrix)}; };
}
void add_forward(Rows& rows, const std::string& name, const Unary& run) {
  rows[name] = [run] { return Row{run, randn(kMatrix), false}; };
}

void add_elementwise(Rows& rows) {
  add_matrix(rows, "neg", [](auto& x) { return -x; });
  add_matrix(rows, "add_number", [](auto& x) { return x + 1.5; });
  add_matrix(rows, "mul_number", [](auto& x) { return x * 1.5; });
  add_matrix(rows, "add", [](auto& x) { return x + x; });
  add_matrix(rows, "sub", [](auto& x) { return x - x; });
  add_matrix(rows, "mul", [](auto& x) { return x * x; });
  add_matrix(rows, "div", [](auto& x) { return x / x; });
  add_matrix(rows, "pow2", [](auto& x) { return pow(x, 2.0); });
  add_matrix(rows, "pow3", [](auto& x) { return pow(x, 3.0); });
  add_matrix(rows, "abs", [](auto& x) { return abs(x); });
  add_matrix(rows, "exp", [](auto& x) { return exp(x); });
  add_matrix(rows, "sqrt", [](auto& x) { return sqrt(x); });
  add_matrix(rows, "log", [](auto& x) { return log(x); });
  add_matrix(rows, "sin", [](auto& x) { return sin(x); });
  add_matrix(rows, "cos", [](auto& x) { return cos(x); });
  add_matrix(rows, "tanh", [](auto& x) { return tanh(x); });
  add_matrix(rows, "sigmoid", [](auto& x) { return sigmoid(x); });
  add_matrix(rows, "erf", [](auto& x) { return erf(x); });
  add_matrix(rows, "relu", [](auto& x) { return relu(x); });
  add_matrix(rows, "gelu", [](auto& x) { return gelu(x); });
  add_matrix(rows, "gelu_tanh",
             [](auto& x) { return gelu(x, GeluForm::kTanh); });
  add_matrix(rows, "clamp", [](auto& x) { return clamp(x, -0.5, 0.5); });
  rows["where"] = [] {
    const Tensor condition = bernoulli(kMatrix, 0.5, {.dtype = DType::kBool});
    return Row{[condition](auto& x) { return where(condition, x, 0.0); },
               leaf(kMatrix)};
  };
  rows["logical_not"] = [] {
    return Row{[](auto& x) { return logical_not(x); },
               bernoulli(kMatrix, 0.5, {.dtype = DType::kBool}), false};
  };
  add_forward(rows, "gt_number", [](auto& x) { return gt(x, 0.5); });
  add_forward(rows, "eq", [](auto& x) { return eq(x, x); });
  add_forward(rows, "to_bf16", [](auto& x) { return to(x, DType::kBF16); });
  add_forward(rows, "to_f64", [](auto& x) { return to(x, DType::kF64); });
  rows["add_row"] = [] {
    const Tensor row = randn({768});
    return Row{[row](auto& x) { return x + row; }, leaf(kMatrix)};
  };
  rows["mul_column"] = [] {
    const Tensor column = randn({8192, 1});
    return Row{[column](auto& x) { return x * column; }, leaf(kMatrix)};
  };
}

void add_activations(Rows& rows) {
  add_matrix(rows, "silu", [](auto& x) { return silu(x); });
  add_matrix(rows, "softplus", [](auto& x) { return softplus(x); });
  add_matrix(rows, "mish", [](auto& x) { return mish(x); });
  add_matrix(rows, "elu", [](auto& x) { return elu(x); });
  add_matrix(rows, "leaky_relu", [](auto& x) { return leaky_relu(x); });
  add_matrix(rows, "hardswish", [](auto& x) { return hardswish(x); });
  add_matrix(rows, "hardtanh", [](auto& x) { return hardtanh(x); });
  add_matrix(rows, "relu6", [](auto& x) { return relu6(x); });
  add_matrix(rows, "log_sigmoid", [](auto& x) { return log_sigmoid(x); });
  add_matrix(rows, "celu", [](auto& x) { return celu(x); });
  add_matrix(rows, "selu", [](auto& x) { return selu(x); });
  add_matrix(rows, "softsign", [](auto& x) { return softsign(x); });
  add_matrix(rows, "hardsigmoid", [](auto& x) { return hardsigmoid(x); });
  add_matrix(rows, "hardshrink", [](auto& x) { return hardshrink(x); });
  add_matrix(rows, "softshrink", [](auto& x) { return softshrink(x); });
  add_matrix(rows, "threshold", [](auto& x) { return threshold(x, 0.1, 0.5); });
}

void add_functions(Rows& rows) {
  add_matrix(rows, "log1p", [](auto& x) { return log1p(x); });
  add_matrix(rows, "expm1", [](auto& x) { return expm1(x); });
  add_matrix(rows, "rsqrt", [](auto& x) { return rsqrt(x); });
  add_matrix(rows, "reciprocal", [](auto& x) { return reciprocal(x); });
  add_matrix(rows, "exp2", [](auto& x) { return exp2(x); });
  add_matrix(rows, "log2", [](auto& x) { return log2(x); });
  add_matrix(rows, "log10", [](auto& x) { return log10(x); });
  add_matrix(rows, "sinh", [](auto& x) { return sinh(x); });
  add_matrix(rows, "cosh", [](auto& x) { return cosh(x); });
  add_matrix(rows, "tan", [](auto& x) { return tan(x); });
  add_matrix(rows, "atan", [](auto& x) { return atan(x); });
  add_matrix(rows, "asin", [](auto& x) { return asin(x); });
  add_matrix(rows, "acos", [](auto& x) { return acos(x); });
  add_matrix(rows, "asinh", [](auto& x) { return asinh(x); });
  add_matrix(rows, "acosh", [](auto& x) { return acosh(x); });
  add_matrix(rows, "atanh", [](auto& x) { return atanh(x); });
  add_matrix(rows, "erfc", [](auto& x) { return erfc(x); });
  add_matrix(rows, "erfinv", [](auto& x) { return erfinv(x); });
  add_matrix(rows, "sinc", [](auto& x) { return sinc(x); });
  add_matrix(rows, "sign", [](auto& x) { return sign(x); });
  add_matrix(rows, "floor", [](auto& x) { return floor(x); });
  add_matrix(rows, "round", [](auto& x) { return round(x); });
  add_matrix(rows, "trunc", [](auto& x) { return trunc(x); });
  add_matrix(rows, "frac", [](auto& x) { return frac(x); });
  add_matrix(rows, "logit", [](auto& x) { return logit(x); });
  add_matrix(rows, "nan_to_num", [](auto& x) { return nan_to_num(x); });
  add_forward(rows, "isnan", [](auto& x) { return isnan(x); });
  add_forward(rows, "isinf", [](auto& x) { return isinf(x); });
  add_forward(rows, "isfinite", [](auto& x) { return isfinite(x); });
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const std::map<std::string, Binary> of_two = {
      {"maximum", maximum}, {"minimum", minimum},    {"fmax", fmax},
      {"atan2", atan2},     {"hypot", hypot},        {"remainder", remainder},
      {"fmod", fmod},       {"where_other", nullptr}};
  for (const auto& [name, run] : of_two) {
    rows[name] = [run = run] {
      const Tensor y = leaf(kMatrix);
      if (run != nullptr)
        return Row{[=](auto& x) { return run(x, y); }, leaf(kMatrix)};
      const Tensor c = bernoulli(kMatrix, 0.5, {.dtype = DType::kBool});
      return Row{[=](auto& x) { return where(c, x, y); }, leaf(kMatrix)};
    };
  }
}

void add_reductions(Rows& rows) {
  add_matrix(rows, "sum", [](auto& x) { return sum(x); });
  add_matrix(rows, "sum_rows", [](auto& x) { return sum(x, {1}); });
  add_matrix(rows, "sum_columns", [](auto& x) { return sum(x, {0}); });
  add_matrix(rows, "mean", [](auto& x) { return mean(x); });
  add_matrix(rows, "max", [](auto& x) { return max(x); });
  add_matrix(rows, "max_rows", [](auto& x) { return max(x, 1).values; });
  add_forward(rows, "argmax_rows", [](auto& x) { return argmax(x, 1); });
  add_matrix(rows, "softmax", [](auto& x) { return softmax(x, -1); });
  add_matrix(rows, "log_softmax", [](auto& x) { return log_softmax(x, -1); });
  add_matrix(rows, "sort", [](auto& x) { return sort(x).values; });
  add_matrix(rows, "topk", [](auto& x) { return topk(x, 10).values; });
  rows["softmax_50000"] = [] {
    return Row{[](auto& x) { return softmax(x, -1); }, leaf({128, 50000})};
  };
  rows["cross_entropy"] = [] {
    const Tensor targets = to(rand({8192}) * 768.0, DType::kI64);
    return Row{[targets](auto& x) { return cross_entropy(x, targets); },
               leaf(kMatrix)};
  };
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const bool wide = dtype == DType::kF32;
    rows[wide ? "layer_norm" : "layer_norm_bf16"] = [dtype] {
      const Tensor weight = ones({768}, {dtype, true});
      const Tensor bias = zeros({768}, {dtype, true});
      return Row{[=](auto& x) { return layer_norm(x, {768}, weight, bias); },
                 to(randn(kMatrix), dtype).set_requires_grad(true)};
    };
  }
  rows["dropout"] = [] {
    return Row{[](auto& x) { return dropout(x, 0.1); }, leaf(kMatrix)};
  };
}

void add_losses(Rows& rows) {
  using Loss = std::function<Tensor(const Tensor&, const Tensor&)>;
  const auto add = [&](const std::string& name, const Loss& loss) {
    rows[name] = [loss] {
      const Tensor target = rand(kMatrix);
      return Row{[=](auto& x) { return loss(x, target); }, leaf(kMatrix)};
    };
  };
  add("mse_loss", [](auto& x, auto& t) { return mse_loss(x, t); });
  add("l1_loss", [](auto& x, auto& t) { return l1_loss(x, t); });
  add("smooth_l1_loss", [](auto& x, auto& t) { return smooth_l1_loss(x, t); });
  add("bce_with_logits",
      [](auto& x, auto& t) { return binary_cross_entropy_with_logits(x, t); });
  add("kl_div", [](auto& x, auto& t) { return kl_div(x, t); });
  rows["cross_entropy_50000"] = [] {
    const Tensor targets = to(rand({128}) * 50000.0, DType::kI64);
    return Row{[targets](auto& x) { return cross_entropy(x, targets); },
               leaf({128, 50000})};
  };
}

void add_statistics(Rows& rows) {
  add_matrix(rows, "cumsum", [](auto& x) { return cumsum(x, 1); });
  add_matrix(rows, "cumsum_columns", [](auto& x) { return cumsum(x, 0); });
  add_matrix(rows, "prod_rows", [](auto& x) { return prod(x, 1); });
  add_matrix(rows, "var_rows", [](auto& x) { return var(x, {1}); });
  add_matrix(rows, "std_rows", [](auto& x) { return std(x, {1}); });
  add_matrix(rows, "norm", [](auto& x) { return vector_norm(x); });
  const auto rows_of = [](std::int64_t n, const Dims& shape) {
    return to(rand(shape) * static_cast<double>(n), DType::kI64);
  };
  rows["scatter_add"] = [=] {
    const Tensor at = rows_of(768, kMatrix);
    const Tensor base = zeros(kMatrix);
    return Row{[=](auto& x) { return scatter_add(base, 1, at, x); },
               leaf(kMatrix)};
  };
  rows["index_add"] = [=] {
    const Tensor at = rows_of(8192, {8192});
    const Tensor base = zeros(kMatrix);
    return Row{[=](auto& x) { return index_add(base, 0, at, x); },
               leaf(kMatrix)};
  };
}

void add_shapes(Rows& rows) {
  add_matrix(rows, "clone", [](auto& x) { return clone(x); });
  add_forward(rows, "t_contiguous",
              [](auto& x) { return transpose(x, 0, 1).contiguous(); });
  rows["expanded_column"] = [] {
    return Row{[](auto& x) { return clone(expand(x, kMatrix).contiguous()); },
               randn({8192, 1}), false};
  };
  add_matrix(rows, "cat", [](auto& x) { return cat({x, x}, 1); });
  add_matrix(rows, "narrow", [](auto& x) { return narrow(x, 1, 128, 512); });
  add_matrix(rows, "roll", [](auto& x) { return roll(x, {5}, {1}); });
  add_matrix(rows, "flip", [](auto& x) { return flip(x, {1}); });
  add_matrix(rows, "pad", [](auto& x) { return pad(x, {1, 1, 1, 1}); });
  const auto indices = [](std::int64_t n, const Dims& shape) {
    return to(rand(shape) * static_cast<double>(n), DType::kI64);
  };
  rows["index_select_rows"] = [=] {
    const Tensor at = indices(8192, {8192});
    return Row{[at](auto& x) { return index_select(x, 0, at); }, leaf(kMatrix)};
  };
  rows["index_select_columns"] = [=] {
    const Tensor at = indices(768, {768});
    return Row{[at](auto& x) { return index_select(x, 1, at); }, leaf(kMatrix)};
  };
  rows["gather"] = [=] {
    const Tensor at = indices(768, kMatrix);
    return Row{[at](auto& x) { return gather(x, 1, at); }, leaf(kMatrix)};
  };
  rows["embedding"] = [=] {
    const Tensor at = indices(8192, {16, 512});
    return Row{[at](auto& x) { return embedding(x, at); }, leaf(kMatrix)};
  };
}

void add_images(Rows& rows) {
  const auto add = [&](const std::string& name, const Unary& run) {
    rows[name] = [run] { return Row{run, leaf(kImages)}; };
  };
  add("max_pool2d", [](auto& x) {
    return max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
  });
  add("avg_pool2d", [](auto& x) { return avg_pool2d(x, {.kernel = 2}); });
  add("adaptive_avg_pool2d", [](auto& x) { return adaptive_avg_pool2d(x, 1); });
  add("bilinear", [](auto& x) {
    return interpolate(x, {.scale = {2}, .mode = InterpolateMode::kLinear});
  });
  rows["grid_sample"] = [] {
    const Tensor grid = rand({16, 56, 56, 2}, {.requires_grad = true});
    return Row{[grid](auto& x) { return grid_sample(x, grid); }, leaf(kImages)};
  };
  const auto add_deep = [&](const std::string& name, const Unary& run) {
    rows[name] = [run] { return Row{run, leaf({4, 32, 16, 28, 28})}; };
  };
  add_deep("max_pool3d", [](auto& x) { return max_pool3d(x, {.kernel = 2}); });
  rows["conv3d"] = [] {
    const Tensor weight = leaf({32, 32, 3, 3, 3});
    return Row{
        [weight](auto& x) { return conv3d(x, weight, {}, {.padding = 1}); },
        leaf({4, 32, 16, 28, 28})};
  };
  rows["batch_norm"] = [] {
    const Tensor weight = ones({64}, {.requires_grad = true});
    const Tensor bias = zeros({64}, {.requires_grad = true});
    const Tensor mean = zeros({64}), var = ones({64});
    return Row{[=](auto& x) {
                 return batch_norm(x, mean, var, weight, bias,
                                   {.training = true});
               },
               leaf(kImages)};
  };
  rows["depthwise_conv2d"] = [] {
    const Tensor weight = randn({64, 1, 3, 3}, {.requires_grad = true});
    return Row{[weight](auto& x) {
                 return conv2d(x, weight, {}, {.padding = 1, .groups = 64});
               },
               leaf(kImages)};
  };
  rows["attention_2k"] = [] {
    const Tensor k = leaf({1, 8, 2048, 64}), v = leaf({1, 8, 2048, 64});
    return Row{[=](auto& x) {
                 return scaled_dot_product_attention(x, k, v,
                                                     {.is_causal = true});
               },
               leaf({1, 8, 2048, 64})};
  };
}

// The seconds of one forward and backward. The gradient that backward starts
// from is made before.
double run(const Row& row, const Tensor& gradient) {
  const auto start = std::chrono::steady_clock::now();
  {
    const Tensor y = row.run(row.x);
    if (row.has_backward) y.backward(gradient);
  }
  const std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  row.x.set_grad({});
  return taken.count();
}

int serve() {
  Rows rows;
  add_elementwise(rows);
  add_activations(rows);
  add_functions(rows);
  add_reductions(rows);
  add_losses(rows);
  add_statistics(rows);
  add_shapes(rows);
  add_images(rows);
  std::string line, current;
  Row row;
  Tensor gradient;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string name;
    int threads = 1, count = 0;
    words >> name >> threads >> count;
    if (!rows.contains(name)) {
      std::cerr << "operations_benchmark: no row " << name << '\n';
      return 2;
    }
    set_num_threads(threads);
    if (name != current) {
      row = rows[name]();
      current = name;
      const Tensor y = row.run(row.x).detach();
      if (row.has_backward) gradient = ones_like(y);
    }
    std::cout << "{\"seconds\": [";
    for (int i = 0; i < count; ++i) {
      std::cout << (i == 0 ? "" : ", ") << run(row, gradient);
    }
    std::cout << "]}" << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace hvd

int main() {
  try {
    return hvd::serve();
  } catch (const std::exception& error) {
    std::cerr << "operations_benchmark: " << error.what() << '\n';
    return 1;
  }
}
