// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

void add_sums(Operations& all) {
  all["sum"] = [](const Statement& s) { return Results{sum(s[0])}; };
  all["sum_dims"] = [](const Statement& s) {
    return Results{sum(s[0], s.dims("dims"), s.flag("keepdim"))};
  };
  all["mean"] = [](const Statement& s) { return Results{mean(s[0])}; };
  all["mean_dims"] = [](const Statement& s) {
    return Results{mean(s[0], s.dims("dims"), s.flag("keepdim"))};
  };
  all["sum_to"] = [](const Statement& s) {
    return Results{autograd::sum_to(s[0], s.dims("sizes"))};
  };
  all["sum_of_squares"] = [](const Statement& s) {
    return Results{
        full({}, autograd::sum_of_squares(s[0]), {.dtype = DType::kF64})};
  };
}

void add_extremes(Operations& all) {
  all["max"] = [](const Statement& s) { return Results{max(s[0])}; };
  all["min"] = [](const Statement& s) { return Results{min(s[0])}; };
  all["argmax"] = [](const Statement& s) { return Results{argmax(s[0])}; };
  all["argmax_dim"] = [](const Statement& s) {
    return Results{argmax(s[0], s.integer("dim"), s.flag("keepdim"))};
  };
  all["max_dim"] = [](const Statement& s) {
    const MaxResult found = max(s[0], s.integer("dim"), s.flag("keepdim"));
    return Results{found.values, found.indices};
  };
  all["min_dim"] = [](const Statement& s) {
    const MinResult found = min(s[0], s.integer("dim"), s.flag("keepdim"));
    return Results{found.values, found.indices};
  };
}

}  // namespace

void add_reductions(Operations& all) {
  add_sums(all);
  add_extremes(all);
  all["softmax"] = [](const Statement& s) {
    return Results{softmax(s[0], s.integer("dim"))};
  };
  all["log_softmax"] = [](const Statement& s) {
    return Results{log_softmax(s[0], s.integer("dim"))};
  };
  all["matmul"] = [](const Statement& s) {
    return Results{matmul(s[0], s[1])};
  };
  all["bmm"] = [](const Statement& s) { return Results{bmm(s[0], s[1])}; };
  all["addmm"] = [](const Statement& s) {
    return Results{
        addmm(s[0], s[1], s[2],
              {.beta = s.number("beta"), .alpha = s.number("alpha")})};
  };
  all["linear"] = [](const Statement& s) {
    return Results{linear(s[0], s[1], s[2])};
  };
}

}  // namespace hvd::differential
