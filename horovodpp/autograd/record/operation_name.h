// SPDX-License-Identifier: Apache-2.0
// The names of the operations whose results a checkpointed region may keep
// (checkpoint/policies/policy.h): those that compute. Views and in-place writes are
// excluded.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace hvd::autograd {

inline constexpr std::array<std::string_view, 55> kOperationNames = {
    "abs",
    "add",
    "attention",
    "avg_pool2d",
    "batch_norm",
    "cat",
    "clamp",
    "clone",
    "conv2d",
    "cos",
    "cross_entropy",
    "div",
    "dropout",
    "embedding",
    "eq",
    "erf",
    "exp",
    "flip",
    "gather",
    "ge",
    "gelu",
    "gt",
    "index",
    "index_select",
    "layer_norm",
    "le",
    "linear",
    "log",
    "log_softmax",
    "lstm",
    "lt",
    "matmul",
    "max",
    "max_pool2d",
    "mean",
    "min",
    "mse_loss",
    "mul",
    "ne",
    "neg",
    "nll_loss",
    "pad",
    "pow",
    "relu",
    "roll",
    "scatter_add",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "sub",
    "sum",
    "tanh",
    "to",
    "where"};

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

}  // namespace hvd::autograd
