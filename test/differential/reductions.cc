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

// Functions of `dims` and `keepdim`.
using OverDims = Tensor (*)(const Tensor&, const autograd::Dims&, bool);
const std::map<std::string, OverDims> kOverDims = {
    {"amax", amax},     {"amin", amin},       {"logsumexp", logsumexp},
    {"nansum", nansum}, {"nanmean", nanmean}, {"any", any},
    {"all", all}};

VarOptions var_options(const Statement& s) {
  return {.correction = s.number("correction"), .keepdim = s.flag("keepdim")};
}

void add_statistics(Operations& operations) {
  for (const auto& [name, over] : kOverDims) {
    operations[name] = [over = over](const Statement& s) {
      return Results{over(s[0], s.dims("dims"), s.flag("keepdim"))};
    };
  }
  operations["var"] = [](const Statement& s) {
    return Results{var(s[0], s.dims("dims"), var_options(s))};
  };
  operations["std"] = [](const Statement& s) {
    return Results{hvd::std(s[0], s.dims("dims"), var_options(s))};
  };
  operations["vector_norm"] = [](const Statement& s) {
    return Results{vector_norm(s[0], s.number("number"), s.dims("dims"),
                               s.flag("keepdim"))};
  };
  operations["count_nonzero"] = [](const Statement& s) {
    return Results{count_nonzero(s[0], s.dims("dims"))};
  };
}

void add_scans(Operations& all) {
  all["argmin"] = [](const Statement& s) {
    return Results{argmin(s[0], s.integer("dim"), s.flag("keepdim"))};
  };
  all["prod"] = [](const Statement& s) { return Results{prod(s[0])}; };
  all["prod_dim"] = [](const Statement& s) {
    return Results{prod(s[0], s.integer("dim"), s.flag("keepdim"))};
  };
  all["cumsum"] = [](const Statement& s) {
    return Results{cumsum(s[0], s.integer("dim"))};
  };
  all["cumprod"] = [](const Statement& s) {
    return Results{cumprod(s[0], s.integer("dim"))};
  };
  all["diff"] = [](const Statement& s) {
    return Results{diff(s[0], s.integer("dim"))};
  };
}

}  // namespace

void add_reductions(Operations& all) {
  add_sums(all);
  add_extremes(all);
  add_statistics(all);
  add_scans(all);
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
