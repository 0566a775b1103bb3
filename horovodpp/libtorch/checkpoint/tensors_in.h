// SPDX-License-Identifier: Apache-2.0
// Finds the tensors in arguments and results: tensors themselves, and tensors
// in vectors, tuples and pairs.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {
namespace libtorch {
namespace internal {

// Calls `action` with each tensor, by reference.
template <typename T, typename Action>
void for_each_tensor(T&, const Action&) {}
template <typename Action>
void for_each_tensor(torch::Tensor& tensor, const Action& action) {
  action(tensor);
}
template <typename T, typename Action>
void for_each_tensor(std::optional<T>& value, const Action& action) {
  if (value.has_value()) for_each_tensor(*value, action);
}
template <typename T, typename Action>
void for_each_tensor(std::vector<T>& values, const Action& action) {
  for (T& value : values) for_each_tensor(value, action);
}
template <typename... T, typename Action>
void for_each_tensor(std::tuple<T...>& values, const Action& action) {
  std::apply([&](T&... each) { (for_each_tensor(each, action), ...); }, values);
}
template <typename A, typename B, typename Action>
void for_each_tensor(std::pair<A, B>& values, const Action& action) {
  for_each_tensor(values.first, action);
  for_each_tensor(values.second, action);
}

}  // namespace internal
}  // namespace libtorch
}  // namespace hvd
