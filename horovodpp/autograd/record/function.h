// SPDX-License-Identifier: Apache-2.0
// A Function is a custom operation with its own derivative:
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
// forward() takes any arguments and returns a Tensor or a vector of tensors;
// its operations are not recorded. backward() takes one gradient per result and
// returns one per argument. The gradient of an argument that is no tensor, or
// has none, is undefined. (A vector of n tensors counts as n arguments.) Under
// create_graph backward() is recorded, so a Function of differentiable
// operations can be differentiated again. A Function that cannot declares
//   static constexpr bool kOnceDifferentiable = true;
// Its backward then runs under NoGrad, and a second derivative is an error.
//
// A result that is an unchanged argument becomes a view of that argument.
// Backward may run in several threads at once if several threads use the graph.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/autograd/record/function_context.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/base/thread_state.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class FunctionNode;

// One call of a Function: the steps before and after forward.
class FunctionCall {
 public:
  // `traits` has static lifetime.
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
  // Whether a checkpointed region kept the results; then forward is skipped.
  bool recalls(std::vector<Tensor>& results);
  // Scope for forward, which counts as one operation.
  struct Forward {
    NoGrad no_grad;
    WithinOperation within;
  };
  // Adds the results to the graph and returns them.
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

// "CubeBackward" from the compiler's text of signature_of<Cube>().
std::string backward_name(std::string_view signature);

// A text with T's name, without run-time type information.
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
