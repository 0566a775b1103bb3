// SPDX-License-Identifier: Apache-2.0
// Distances, covariances, combinations and places.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

CovOptions weighted(const Statement& s) {
  CovOptions options{.correction = s.integer("correction")};
  if (s[1].defined()) options.fweights = s[1];
  if (s[2].defined()) options.aweights = s[2];
  return options;
}

GradientOptions differences(const Statement& s) {
  GradientOptions options{
      .dims = s.integers("dims"),
      .edge_order = static_cast<int>(s.integer("edge_order"))};
  if (s.has("spacing")) {
    options.spacing = s.numbers("spacing");
  } else {
    options.coordinates = {s.operands().begin() + 1, s.operands().end()};
  }
  return options;
}

}  // namespace

void add_distances(Operations& all) {
  all["cdist"] = [](const Statement& s) {
    return Results{cdist(s[0], s[1], s.number("number"))};
  };
  all["cross"] = [](const Statement& s) {
    return Results{cross(s[0], s[1], s.integer("dim"))};
  };
  all["vdot"] = [](const Statement& s) { return Results{vdot(s[0], s[1])}; };
  all["cov"] = [](const Statement& s) {
    return Results{cov(s[0], s.integer("correction"))};
  };
  all["cov_weighted"] = [](const Statement& s) {
    return Results{cov(s[0], weighted(s))};
  };
  all["gradient"] = [](const Statement& s) {
    return gradient(s[0], differences(s));
  };
  all["corrcoef"] = [](const Statement& s) { return Results{corrcoef(s[0])}; };
  all["cumulative_trapezoid"] = [](const Statement& s) {
    return Results{
        cumulative_trapezoid(s[0], s.number("number"), s.integer("dim"))};
  };
  all["combinations"] = [](const Statement& s) {
    return Results{combinations(s[0], s.integer("count"), s.flag("repeated"))};
  };
  all["argwhere"] = [](const Statement& s) { return Results{argwhere(s[0])}; };
  all["unravel_index"] = [](const Statement& s) {
    return unravel_index(s[0], s.dims("sizes"));
  };
  all["broadcast_shapes"] = [](const Statement& s) {
    std::vector<autograd::Dims> shapes;
    for (const Tensor& x : s.operands()) shapes.push_back(x.shape());
    return Results{zeros(broadcast_shapes(shapes))};
  };
  all["matrix_transpose"] = [](const Statement& s) {
    return Results{matrix_transpose(s[0])};
  };
}

}  // namespace hvd::differential
