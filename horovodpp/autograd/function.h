// SPDX-License-Identifier: Apache-2.0
// A Function is an operation with a derivative of its own:
//
//   struct Cube : hvd::autograd::Function<Cube> {
//     static hvd::Tensor forward(hvd::autograd::FunctionContext& context,
//                                const hvd::Tensor& x) {
//       context.save_for_backward({x});
//       return x * x * x;
//     }
//     static std::vector<hvd::Tensor> backward(
//         hvd::autograd::FunctionContext& context,
//         const std::vector<hvd::Tensor>& gradients) {
//       const hvd::Tensor x = context.saved_tensors()[0];
//       return {gradients[0] * x * x * 3.0};
//     }
//   };
//   hvd::Tensor y = Cube::apply(x);
//
// forward() takes any arguments and returns a Tensor or a vector of them;
// nothing in it is recorded. backward() is given one gradient per result and
// returns one per argument: undefined for an argument that is no tensor, or has
// no gradient. (A vector of tensors counts as so many arguments.) It is recorded
// under create_graph, so that a Function of differentiable operations can be
// differentiated again; one that cannot says
//   static constexpr bool kOnceDifferentiable = true;
// and has its backward run under NoGrad, and its second derivative refused.
//
// A result that is an argument, unchanged, becomes a view of it. Backward may
// run in several threads at once if the graph is used so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/function_context.h"
#include "horovodpp/autograd/operation_observer.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class FunctionNode;

// One call: what happens before and after forward, whatever the Function is.
class FunctionCall {
 public:
  // `traits` lives for ever.
  explicit FunctionCall(const FunctionTraits& traits);
  ~FunctionCall();
  FunctionCall(const FunctionCall&) = delete;
  FunctionCall& operator=(const FunctionCall&) = delete;

  void add(const Tensor& argument);
  void add(const std::vector<Tensor>& arguments);
  template <typename T>
  void add(const T&) {
    add(Tensor());
  }
  FunctionContext& begin();
  // Whether a checkpointed region has kept what forward would return.
  bool recalls(std::vector<Tensor>& results);
  // While forward runs, which is one operation.
  struct Forward {
    NoGrad no_grad;
    WithinOperation within;
  };
  // The results, as part of the graph.
  std::vector<Tensor> finish(const std::vector<Tensor>& results);

 private:
  Tensor finish_one(const std::vector<Tensor>& results,
                    const std::vector<Tensor>& finished);
  Tensor finish_written(const Tensor& result, std::size_t count);
  void save(const std::vector<Tensor>& results,
            const std::vector<Tensor>& finished);
  bool can_be_kept(const std::vector<Tensor>& results) const;
  OperationResults to_keep(const std::vector<Tensor>& results) const;

  Ref<FunctionNode> node_;
  bool recorded_ = false;
  bool recalled_ = false;
};

// "CubeBackward", if `signature` is what the compiler calls signature_of<Cube>().
std::string backward_name(std::string_view signature);

// Names T where there is no run-time type information, too.
template <typename T>
std::string_view signature_of() {
  return __PRETTY_FUNCTION__;
}

template <typename F>
struct Function {
  static constexpr bool kOnceDifferentiable = false;

  template <typename... Args>
  static auto apply(const Args&... args) {
    // Never destroyed: a graph in a static variable may outlive it.
    static const auto* traits = new FunctionTraits{
        backward_name(signature_of<F>()), &F::backward, F::kOnceDifferentiable};
    FunctionCall call(*traits);
    (call.add(args), ...);
    FunctionContext& context = call.begin();
    std::vector<Tensor> results;
    using Result = std::decay_t<decltype(F::forward(context, args...))>;
    if (!call.recalls(results)) {
      const FunctionCall::Forward in_force;
      if constexpr (std::is_same_v<Result, Tensor>) {
        results.push_back(F::forward(context, args...));
      } else {
        results = F::forward(context, args...);
      }
    }
    std::vector<Tensor> finished = call.finish(results);
    if constexpr (std::is_same_v<Result, Tensor>) {
      return finished[0];
    } else {
      return finished;
    }
  }
};

}  // namespace autograd
}  // namespace hvd
