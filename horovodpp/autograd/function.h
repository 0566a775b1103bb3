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

#include <any>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/node.h"
#include "horovodpp/autograd/saved_tensor.h"
#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"
#include "horovodpp/tensor/thread_state.h"

namespace HVD_EXPORT hvd {
namespace autograd {

class FunctionCall;
class FunctionNode;

// What one call of a Function's forward tells its backward.
class FunctionContext {
 public:
  FunctionContext() = default;
  FunctionContext(const FunctionContext&) = delete;
  FunctionContext& operator=(const FunctionContext&) = delete;

  // --- For forward ---
  // Keeps tensors for backward; undefined ones too. The last call counts.
  void save_for_backward(std::vector<Tensor> tensors);
  // Declares the arguments that forward writes in place; say so before writing.
  // Each must be among the results.
  //   LeafInplaceError, ViewInplaceError, InferenceError  it must not be written
  //   InvalidArgument  it is no argument
  void mark_dirty(const std::vector<Tensor>& arguments);
  // Declares results that have no gradient.
  void mark_non_differentiable(std::vector<Tensor> results);
  // Whether gradients that nobody computed reach backward as zeros (the
  // default), or undefined.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }

  // --- For both ---
  // Whether argument `index` will use the gradient that backward returns for it.
  bool needs_input_grad(std::size_t index) const;
  // For whatever is no tensor.
  std::map<std::string, std::any> saved_data;

  // --- For backward ---
  //   GraphFreedError  they were freed
  //   VersionError     one was modified in place since
  //   AutogradError    forward has not returned yet
  std::vector<Tensor> saved_tensors();

 private:
  friend class FunctionCall;
  friend class FunctionNode;

  std::vector<Tensor> arguments_;  // Undefined for what is no tensor. These
  std::vector<Tensor> to_save_;    // four during forward only.
  std::vector<Tensor> dirty_;
  std::vector<Tensor> non_differentiable_;
  bool grad_enabled_ = false;  // Outside of forward.
  bool materialize_grads_ = true;
  std::vector<bool> needs_grad_;    // By argument,
  std::vector<bool> is_tensor_;     // likewise.
  std::vector<SavedTensor> saved_;  // Empty unless recorded.
  FunctionNode* node_ = nullptr;
};

using FunctionBackward = std::vector<Tensor> (*)(FunctionContext&,
                                                 const std::vector<Tensor>&);

// What the graph must know of a Function.
struct FunctionTraits {
  std::string name;
  FunctionBackward backward = nullptr;
  bool once_differentiable = false;
};

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
  // The results, as part of the graph.
  std::vector<Tensor> finish(const std::vector<Tensor>& results);

 private:
  Tensor finish_one(const std::vector<Tensor>& results,
                    const std::vector<Tensor>& finished);
  Tensor finish_written(const Tensor& result, std::size_t count);
  void save(const std::vector<Tensor>& results,
            const std::vector<Tensor>& finished);

  Ref<FunctionNode> node_;
  bool recorded_ = false;
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
    const auto results = [&] {
      NoGrad no_grad;
      return F::forward(context, args...);
    }();
    if constexpr (std::is_same_v<decltype(results), const Tensor>) {
      return call.finish({results})[0];
    } else {
      return call.finish(results);
    }
  }
};

}  // namespace autograd
}  // namespace hvd
