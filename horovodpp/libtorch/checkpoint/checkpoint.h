// SPDX-License-Identifier: Apache-2.0
// Checkpointing trades time for memory: of a checkpointed function only the
// inputs are kept for backward, which recomputes the rest. Like
// torch.utils.checkpoint.checkpoint(use_reentrant=False) in Python.
//
//   torch::Tensor y = hvd::libtorch::checkpoint(
//       [&](torch::Tensor x) { return block->forward(x); }, x);
//
// The function may be any callable: with any number of arguments (tensors,
// vectors and tuples of tensors, or other values), and any result. It is
// copied, and so are the arguments; objects that it refers to must live until
// backward.
//
// It must do the same whenever it runs. Random numbers and autocast are
// restored. If it updates tensors in-place, as a batch norm does its
// statistics, name them in CheckpointOptions::buffers, or use is_recomputing().
// Detected differences are errors: a parameter that was modified in between,
// other saved tensors.
//
// Regions may be nested. A weight may be used in several regions; its gradient
// is still complete once, at the end of one backward pass. create_graph,
// retain_graph, torch::autograd::grad() and backward on other threads work as
// without checkpointing.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <torch/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/libtorch/checkpoint/checkpoint_options.h"
#include "horovodpp/libtorch/checkpoint/recomputed_region.h"
#include "horovodpp/libtorch/checkpoint/tensors_in.h"

namespace HVD_EXPORT hvd {
namespace libtorch {

// Whether this thread is running a checkpointed function again.
inline bool is_recomputing() {
  return internal::recomputations_of_thread() > 0;
}

namespace internal {

template <typename T>
std::vector<torch::Tensor> tensors_in(T& values) {
  std::vector<torch::Tensor> tensors;
  for_each_tensor(values,
                  [&](torch::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

template <typename Function, typename... Args>
class RegionOf final : public RecomputedRegion {
 public:
  RegionOf(const CheckpointOptions& options, const Function& function,
           std::tuple<Args...> args)
      : RecomputedRegion(options, tensors_in(args)),
        function_(function),
        args_(std::move(args)) {
    for_each_tensor(args_,
                    [](torch::Tensor& tensor) { tensor = torch::Tensor(); });
  }

  Function& function() { return function_; }

 private:
  void call_again(std::vector<torch::Tensor> inputs) override {
    std::tuple<Args...> args = args_;
    std::size_t next = 0;
    for_each_tensor(args, [&](torch::Tensor& tensor) {
      tensor = std::move(inputs[next++]);
    });
    std::apply(function_, std::as_const(args));
  }

  Function function_;
  std::tuple<Args...> args_;  // Without the tensors.
};

template <typename Function, typename... Args>
auto checkpoint_with(const CheckpointOptions& options, Function& function,
                     const Args&... args) {
  using Made = RegionOf<std::decay_t<Function>, std::decay_t<const Args&>...>;
  if (!torch::GradMode::is_enabled()) return std::invoke(function, args...);
  const auto region =
      std::make_shared<Made>(options, function, std::make_tuple(args...));
  auto result = [&] {
    const RecomputedRegion::Forward forward(*region);
    return std::invoke(region->function(), args...);
  }();
  region->complete(tensors_in(result));
  return result;
}

// Passes the arguments before the last, which is the options.
template <typename Function, typename All, std::size_t... kAt>
auto checkpoint_by_last(Function& function, const All& all,
                        std::index_sequence<kAt...>) {
  return checkpoint_with(std::get<sizeof...(kAt)>(all), function,
                         std::get<kAt>(all)...);
}

template <typename... Args>
inline constexpr bool kEndsWithOptions = false;
template <typename First, typename... Rest>
inline constexpr bool kEndsWithOptions<First, Rest...> =
    kEndsWithOptions<Rest...>;
template <typename Last>
inline constexpr bool kEndsWithOptions<Last> =
    std::is_same_v<Last, CheckpointOptions>;

}  // namespace internal

// Calls function(args...). A CheckpointOptions as the last argument is not
// passed on:
//
//   hvd::libtorch::checkpoint(f, x, hvd::libtorch::CheckpointOptions{...});
//
// If nothing is recorded, it is an ordinary call. Errors in backward:
//   CheckpointError  the recomputation saves other tensors than forward did; a
//                    parameter was modified since; a custom function asks twice
//                    for a saved tensor
//   c10::Error       an argument tensor was modified since
// and the function's own errors.
template <typename Function, typename... Args>
auto checkpoint(Function&& function, const Args&... args) {
  if constexpr (internal::kEndsWithOptions<Args...>) {
    const std::tuple<const Args&...> all(args...);
    return internal::checkpoint_by_last(
        function, all, std::make_index_sequence<sizeof...(Args) - 1>());
  } else {
    return internal::checkpoint_with(CheckpointOptions(), function, args...);
  }
}

}  // namespace libtorch
}  // namespace hvd
