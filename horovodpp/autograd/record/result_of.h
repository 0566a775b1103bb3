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
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/operation_name.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::autograd {

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

template <typename Compute>
auto result_of(OperationName operation, Compute compute) {
  OperationObserver* observer = OperationObserver::of_results();
  if (observer == nullptr) [[likely]]
    return compute();
  decltype(compute()) result;
  OperationResults kept;
  if (observer->recalls(operation.text(), kept)) {
    assign(result, kept.tensors);
    return result;
  }
  {
    const WithinOperation within;
    result = compute();
  }
  observer->made(operation.text(), {as_vector(result), {}});
  return result;
}

}  // namespace hvd::autograd
