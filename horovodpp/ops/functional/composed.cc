// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/functional/composed.h"

#include "horovodpp/autograd/engine.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::autograd {
namespace {

// A stand-in for x, which separates this operation's use of x from others. A
// leaf frozen since forward gets a new leaf as stand-in; the engine drops its
// gradient.
Tensor stand_in(const Tensor& x, bool wanted) {
  if (!x.defined() || !(x.requires_grad() || wanted)) return x;
  Tensor result = x.detach();
  if (x.requires_grad()) {
    record(result, "IdentityBackward", x,
           [](Tensor& dy) { return std::move(dy); });
  } else {
    result.set_requires_grad(true);
  }
  return result;
}

}  // namespace

std::vector<Tensor> composed_backward(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, const std::vector<bool>& wanted,
    const std::vector<Tensor>& gradients) {
  std::vector<Tensor> arguments;
  std::vector<Tensor> asked;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arguments.push_back(stand_in(inputs[i], wanted[i]));
    if (wanted[i]) asked.push_back(arguments.back());
  }
  const std::vector<Tensor> outputs = f(arguments);
  std::vector<Tensor> roots;
  std::vector<Tensor> seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!gradients[i].defined()) continue;
    roots.push_back(outputs[i]);
    seeds.push_back(gradients[i]);
  }
  const std::vector<Tensor> found =
      grad(roots, asked, seeds, {.create_graph = true, .allow_unused = true});
  std::vector<Tensor> results(inputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (wanted[i]) results[i] = found[next++];
  }
  return results;
}

}  // namespace hvd::autograd
