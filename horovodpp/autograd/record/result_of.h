// SPDX-License-Identifier: Apache-2.0
// Wraps the computation of an operation's result, so that a checkpointed region
// can keep the result and its recomputation can reuse it:
//
//   Tensor out = result_of("exp", [&] {
//     return elementwise<functors::Exp>(x, "exp");
//   });
//
// `compute` returns a Tensor or an array of tensors, each in its own memory.
// Operations that it uses count as part of this one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/tensor/base/not_on_cpu.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

// The names of the operations whose results a checkpointed region may keep:
// those that compute. Views and in-place writes are excluded.
inline constexpr auto kOperationNames =
    std::to_array<std::string_view>({"abs",
                                     "acos",
                                     "acosh",
                                     "add",
                                     "addcdiv",
                                     "addcmul",
                                     "asin",
                                     "asinh",
                                     "atan",
                                     "atan2",
                                     "atanh",
                                     "attention",
                                     "avg_pool2d",
                                     "avg_pool3d",
                                     "batch_norm",
                                     "bernoulli",
                                     "bincount",
                                     "bitwise_and",
                                     "bitwise_left_shift",
                                     "bitwise_not",
                                     "bitwise_or",
                                     "bitwise_right_shift",
                                     "bitwise_xor",
                                     "cat",
                                     "ceil",
                                     "clamp",
                                     "clone",
                                     "conv2d",
                                     "conv3d",
                                     "copysign",
                                     "cos",
                                     "cosh",
                                     "cross_entropy",
                                     "cummax",
                                     "cummin",
                                     "cumsum",
                                     "diag_embed",
                                     "digamma",
                                     "div",
                                     "dropout",
                                     "elementwise_loss",
                                     "elu",
                                     "embedding",
                                     "eq",
                                     "erf",
                                     "erfc",
                                     "erfinv",
                                     "exp",
                                     "exp2",
                                     "expm1",
                                     "flip",
                                     "floor",
                                     "floor_divide",
                                     "fmax",
                                     "fmin",
                                     "fmod",
                                     "fold",
                                     "frac",
                                     "fractional_max_pool",
                                     "gather",
                                     "gcd",
                                     "ge",
                                     "gelu",
                                     "grid_sample",
                                     "gt",
                                     "hardshrink",
                                     "hardsigmoid",
                                     "hardswish",
                                     "hardtanh",
                                     "heaviside",
                                     "histc",
                                     "hypot",
                                     "index",
                                     "index_put",
                                     "index_select",
                                     "interpolate",
                                     "isin",
                                     "kthvalue",
                                     "layer_norm",
                                     "lcm",
                                     "le",
                                     "leaky_relu",
                                     "lerp",
                                     "lgamma",
                                     "linear",
                                     "log",
                                     "log10",
                                     "log1p",
                                     "log2",
                                     "log_sigmoid",
                                     "log_softmax",
                                     "logaddexp",
                                     "logaddexp2",
                                     "logcumsumexp",
                                     "logical_and",
                                     "logical_or",
                                     "logical_xor",
                                     "logit",
                                     "lstm",
                                     "lt",
                                     "matmul",
                                     "max",
                                     "max_pool2d",
                                     "max_pool3d",
                                     "maximum",
                                     "mean",
                                     "min",
                                     "minimum",
                                     "mish",
                                     "median",
                                     "mode",
                                     "mse_loss",
                                     "mul",
                                     "multinomial",
                                     "nan_to_num",
                                     "ne",
                                     "neg",
                                     "nextafter",
                                     "nll_loss",
                                     "pad",
                                     "polygamma",
                                     "pow",
                                     "prod",
                                     "reciprocal",
                                     "relu",
                                     "remainder",
                                     "roll",
                                     "rotary_embedding",
                                     "round",
                                     "rsqrt",
                                     "scatter",
                                     "scatter_add",
                                     "scatter_reduce",
                                     "searchsorted",
                                     "sigmoid",
                                     "sign",
                                     "silu",
                                     "sin",
                                     "sinc",
                                     "sinh",
                                     "softmax",
                                     "softplus",
                                     "softshrink",
                                     "softsign",
                                     "sort",
                                     "sqrt",
                                     "sub",
                                     "sum",
                                     "tan",
                                     "tanh",
                                     "threshold",
                                     "to",
                                     "topk",
                                     "trunc",
                                     "unfold",
                                     "unique",
                                     "unique_consecutive",
                                     "unique_dim",
                                     "where",
                                     "xlog1py",
                                     "xlogy"});

constexpr bool is_operation_name(std::string_view name) {
  return std::find(kOperationNames.begin(), kOperationNames.end(), name) !=
         kOperationNames.end();
}

// Not constexpr: a call at compile time stops the build with this name.
inline void no_operation_of_this_name() {}

// A name of kOperationNames; any other literal does not compile.
class OperationName {
 public:
  consteval OperationName(const char* name) : text_(name) {  // NOLINT
    if (!is_operation_name(name)) no_operation_of_this_name();
  }
  // Static lifetime.
  constexpr const char* text() const { return text_; }

 private:
  const char* text_;
};

inline std::vector<Tensor> as_vector(const Tensor& tensor) { return {tensor}; }
template <std::size_t kCount>
std::vector<Tensor> as_vector(const std::array<Tensor, kCount>& tensors) {
  return {tensors.begin(), tensors.end()};
}

inline void assign(Tensor& tensor, const std::vector<Tensor>& from) {
  tensor = from[0];
}
template <std::size_t kCount>
void assign(std::array<Tensor, kCount>& tensors,
            const std::vector<Tensor>& from) {
  std::copy_n(from.begin(), kCount, tensors.begin());
}

// compute(), whose errors about tensors on GPUs name the operation.
template <typename Compute>
auto computed(OperationName operation, Compute& compute) {
  try {
    return compute();
  } catch (const NotOnCpuError& error) {
    NotOnCpuError::rethrow(error, operation.text());
  }
}

template <typename Compute>
auto result_of(OperationName operation, Compute compute) {
  OperationObserver* observer = OperationObserver::of_results();
  if (observer == nullptr) [[likely]]
    return computed(operation, compute);
  decltype(compute()) result;
  OperationResults kept;
  if (observer->recalls(operation.text(), kept)) {
    assign(result, kept.tensors);
    return result;
  }
  {
    const WithinOperation within;
    result = computed(operation, compute);
  }
  observer->made(operation.text(), {as_vector(result), {}});
  return result;
}

}  // namespace hvd::autograd
