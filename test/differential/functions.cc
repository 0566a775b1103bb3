// SPDX-License-Identifier: Apache-2.0
// Custom Functions whose gradients depend on properties of their saved tensors.

#include <vector>

#include "horovodpp/autograd/record/function.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "operations.h"

namespace hvd::differential {
namespace {

using autograd::Function;
using autograd::FunctionContext;
using Results = std::vector<Tensor>;

double told_by(const Tensor& saved) {
  return 1.0 + (saved.requires_grad() ? 1.0 : 0.0) +
         (saved.is_leaf() ? 2.0 : 0.0) + (saved.grad_fn() ? 4.0 : 0.0);
}

struct Asking : Function<Asking> {
  static Tensor forward(FunctionContext& context, const Tensor& x,
                        const Tensor& y) {
    Tensor z = x * y;
    context.save_for_backward({x, y, z});
    return z;
  }
  static Results backward(FunctionContext& context, const Results& gradients) {
    const Results saved = context.saved_tensors();
    return {gradients[0] * saved[1] * told_by(saved[0]),
            gradients[0] * saved[0] * (told_by(saved[1]) * told_by(saved[2]))};
  }
};

// PyTorch's CheckpointFunction of sin(x) * y.
struct Recomputing : Function<Recomputing> {
  static Tensor compute(const Tensor& x, const Tensor& y) { return sin(x) * y; }
  static Tensor forward(FunctionContext& context, const Tensor& x,
                        const Tensor& y) {
    context.save_for_backward({x, y});
    return compute(x, y);
  }
  static Results backward(FunctionContext& context, const Results& gradients) {
    const Results inputs = autograd::detach_all(context.saved_tensors());
    Tensor z;
    {
      const EnableGrad enable;
      z = compute(inputs[0], inputs[1]);
    }
    if (z.requires_grad()) autograd::backward({z}, gradients);
    return {inputs[0].grad(), inputs[1].grad()};
  }
};

}  // namespace

void add_functions(Operations& all) {
  all["asking"] = [](const Statement& s) {
    return Results{Asking::apply(s[0], s[1])};
  };
  all["recomputing"] = [](const Statement& s) {
    return Results{Recomputing::apply(s[0], s[1])};
  };
}

}  // namespace hvd::differential
