// SPDX-License-Identifier: Apache-2.0
// Checkpointing trades time for memory: only the inputs of a checkpointed
// function are kept, and backward runs the function again for the rest.
//
//   hvd::Tensor y = hvd::checkpoint(
//       [&](const hvd::Tensor& x) { return block.forward(x); }, x);
//
// The function may be any callable. Its arguments may be tensors, containers of
// tensors (tensors_in.h) or other values; its result may be anything. The
// function and its arguments are copied. Objects that it refers to must live
// until backward. Tensors that it captures by value stay alive as well. So pass
// the results of an enclosing checkpointed function as arguments.
//
// The function must do the same each time it runs. Random numbers, autocast and
// the grad mode are restored; effects.h is for effects that must not happen
// twice. A detected difference is an error: an outside tensor was modified in
// place in between, or an operation saves other tensors than before.
//
// Checkpointing works with grad() and backward({.inputs}), create_graph,
// retain_graph, hooks, nested regions, backward calls within the function, and
// on any thread. Hooks of a leaf run once, however many regions use the leaf.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint/policies/options.h"
#include "horovodpp/checkpoint/region.h"
#include "horovodpp/checkpoint/tensors_in.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace HVD_EXPORT hvd {

namespace autograd {

// "... [with Function = <the type>]": the name of a type without RTTI.
template <typename Function>
const char* text_of_type() {
  return __PRETTY_FUNCTION__;
}

template <typename Function, typename... Args>
class RegionOf final : public Region {
 public:
  RegionOf(const CheckpointOptions& options, const Function& function,
           const Args&... args)
      : Region(options), function_(function), args_(args...) {
    save_inputs(take_tensors(args_));
  }

  Function& function() { return function_; }

  const char* function_type() const override {
    return text_of_type<Function>();
  }
  std::string name_of(const Tensor& tensor) const override {
    if constexpr (requires { function_.name_of(tensor); }) {
      return function_.name_of(tensor);
    } else {
      return "";
    }
  }

 private:
  void call_again(std::span<const Tensor> inputs) override {
    std::tuple<Args...> args = args_;
    give_tensors(args, inputs);
    std::apply(function_, std::as_const(args));
  }

  Function function_;
  std::tuple<Args...> args_;  // With undefined tensors.
};

// The function's result through a reentrant checkpoint. Only arguments that are
// tensors themselves count as its inputs.
template <typename Function, typename... Args>
auto reentrant(const CheckpointOptions& options, const Function& function,
               const Args&... args) {
  using Result = std::decay_t<std::invoke_result_t<Function&, const Args&...>>;
  std::tuple<Args...> all(args...);
  std::vector<Tensor> inputs;
  const auto take = [&](auto& arg) {
    if constexpr (std::is_same_v<decltype(arg), Tensor&>) {
      inputs.push_back(std::exchange(arg, Tensor()));
    }
  };
  std::apply([&](auto&... arg) { (take(arg), ...); }, all);
  const auto made = std::make_shared<std::optional<Result>>();
  const auto run = [function, all, result = std::weak_ptr(made)](
                       const std::vector<Tensor>& tensors) mutable {
    std::tuple<Args...> filled = all;
    std::size_t next = 0;
    const auto give = [&](auto& arg) {
      if constexpr (std::is_same_v<decltype(arg), Tensor&>) {
        arg = tensors[next++];
      }
    };
    std::apply([&](auto&... arg) { (give(arg), ...); }, filled);
    Result returned = std::apply(function, std::as_const(filled));
    std::vector<Tensor> results = tensors_in(returned);
    if (const auto box = result.lock()) *box = std::move(returned);
    return results;
  };
  const std::vector<Tensor> results = checkpoint_reentrant(
      run, inputs, {.preserve_rng_state = options.preserve_rng_state});
  Result result = **made;
  give_tensors(result, results);
  return result;
}

template <typename Function, typename... Args>
auto checkpoint_with(const CheckpointOptions& options, Function& function,
                     const Args&... args) {
  using Made = RegionOf<std::decay_t<Function>, std::decay_t<const Args&>...>;
  if (options.use_reentrant) {
    check_reentrant(in_scope(options));
    return reentrant<std::decay_t<Function>, std::decay_t<const Args&>...>(
        options, function, args...);
  }
  if (!is_grad_enabled()) return std::invoke(function, args...);
  const auto region = Ref<Made>::adopt(new Made(options, function, args...));
  const Recording::Forward forward(*region);
  if constexpr (std::is_void_v<decltype(std::invoke(function, args...))>) {
    std::invoke(region->function(), args...);
    forward.finish();
  } else {
    auto result = std::invoke(region->function(), args...);
    forward.finish();
    return result;
  }
}

}  // namespace autograd

// Returns function(args...), checkpointed. If the function has a member
// name_of(const Tensor&), which returns a string, errors use it to name
// captured tensors. A CheckpointOptions as the last argument is not passed on:
//
//   hvd::checkpoint(f, x, y, hvd::CheckpointOptions{.early_stop = false});
//
// If nothing is recorded, this just calls the function. Backward throws
//   CheckpointError  the recomputation saves other tensors than forward did; a
//                    captured tensor was modified since; a custom function
//                    takes its saved tensors twice in one backward
//   VersionError     a tensor among the arguments was modified since
//   and any exception of the function.
template <typename Function, typename... Args>
auto checkpoint(Function&& function, const Args&... args) {
  constexpr std::size_t count = sizeof...(Args);
  const std::tuple<const Args&...> all(args...);
  if constexpr (count > 0) {
    using Last = std::tuple_element_t<count - 1, std::tuple<Args...>>;
    if constexpr (std::is_same_v<Last, CheckpointOptions>) {
      return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
        return autograd::checkpoint_with(std::get<count - 1>(all), function,
                                         std::get<kAt>(all)...);
      }
      (std::make_index_sequence<count - 1>());
    } else {
      return autograd::checkpoint_with(CheckpointOptions(), function, args...);
    }
  } else {
    return autograd::checkpoint_with(CheckpointOptions(), function);
  }
}

}  // namespace hvd
