// SPDX-License-Identifier: Apache-2.0
// Statements that make tensors, and statements about gradients.

#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

Results leaf(const Statement& s) {
  const Tensor values =
      from_vector<double>(s.numbers("values"), s.dims("sizes"));
  Tensor result = to(values, s.dtype("dtype"));
  if (s.flag("requires_grad")) result.set_requires_grad(true);
  return {result};
}

std::optional<bool> retain_graph(const Statement& s) {
  if (!s.has("retain_graph")) return std::nullopt;
  return s.flag("retain_graph");
}

Results backward(const Statement& s) {
  autograd::BackwardOptions options{.retain_graph = retain_graph(s),
                                    .create_graph = s.flag("create_graph")};
  if (s.has("inputs")) options.inputs = s.tensors("inputs");
  autograd::backward(s.operands(), s.tensors("gradients"), options);
  return {};
}

Results gradients(const Statement& s) {
  return autograd::grad(s.operands(), s.tensors("inputs"),
                        s.tensors("gradients"),
                        {.retain_graph = retain_graph(s),
                         .create_graph = s.flag("create_graph"),
                         .allow_unused = s.flag("allow_unused"),
                         .materialize_grads = s.flag("materialize_grads")});
}

void add_about_leaves(Operations& all) {
  all["leaf"] = leaf;
  all["requires_grad_"] = [](const Statement& s) {
    s[0].set_requires_grad(s.flag("value"));
    return Results{};
  };
  all["detach"] = [](const Statement& s) { return Results{s[0].detach()}; };
  all["detach_"] = [](const Statement& s) {
    s[0].detach_();
    return Results{};
  };
  all["data"] = [](const Statement& s) { return Results{s[0].data()}; };
}

}  // namespace

void add_graph_statements(Operations& all) {
  add_about_leaves(all);
  all["backward"] = backward;
  all["grad"] = gradients;
  all["get_grad"] = [](const Statement& s) { return Results{s[0].grad()}; };
  all["set_grad"] = [](const Statement& s) {
    s[0].set_grad(s[1]);
    return Results{};
  };
  all["retain_grad"] = [](const Statement& s) {
    s[0].retain_grad();
    return Results{};
  };
  all["scaling_hook"] = [](const Statement& s) {
    s[0].register_hook([factor = s.number("number")](const Tensor& gradient) {
      return gradient * factor;
    });
    return Results{};
  };
}

}  // namespace hvd::differential
