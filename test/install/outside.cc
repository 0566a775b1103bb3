// SPDX-License-Identifier: Apache-2.0
// An outside program, which knows horovodpp only by its installed headers.
#include <horovodpp/horovodpp.h>

#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#if HVD_VERSION < HVD_MAKE_VERSION(0, 1, 0)
#error "headers without a version"
#endif

namespace {

// An operation of its own, with a name in the graph.
struct Twice : hvd::autograd::Function<Twice> {
  static hvd::Tensor forward(hvd::autograd::FunctionContext&,
                             const hvd::Tensor& x) {
    return x * 2;
  }
  static std::vector<hvd::Tensor> backward(
      hvd::autograd::FunctionContext&, const std::vector<hvd::Tensor>& given) {
    return {given[0] * 2};
  }
};

}  // namespace

int main() try {
  if (hvd::version() != std::string_view(HVD_VERSION_STRING)) return 2;
  hvd::throw_if_error(hvd::init());
  hvd::Tensor weight = hvd::ones({3}, {.requires_grad = true});
  const hvd::Tensor twice = Twice::apply(weight);
  if (twice.grad_fn()->name() != std::string_view("TwiceBackward")) return 3;
  twice.sum().backward();
  const hvd::Tensor gradient = weight.grad();
  hvd::throw_if_error(
      hvd::allreduce_(gradient.tensor_view(), {.name = "weight"}));
  hvd::allreduce_(gradient, {.name = "weight"});
  if (hvd::broadcast(weight, 0).grad_fn().get() == nullptr) return 4;
  hvd::throw_if_error(hvd::shutdown());
  return gradient.to_vector<float>() == std::vector<float>(3, 2) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "outside: %s\n", error.what());
  return 1;
}
