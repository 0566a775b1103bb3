// SPDX-License-Identifier: Apache-2.0
// The operations of ops/composed.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

AddmmOptions factors(const Statement& s) {
  return {.beta = s.number("beta"), .alpha = s.number("alpha")};
}

VarOptions spread_options(const Statement& s) {
  return {.correction = s.number("correction"), .keepdim = s.flag("keepdim")};
}

void add_measures(Operations& all) {
  all["std_mean"] = [](const Statement& s) {
    const SpreadResult r = std_mean(s[0], s.dims("dims"), spread_options(s));
    return Results{r.spread, r.mean};
  };
  all["var_mean"] = [](const Statement& s) {
    const SpreadResult r = var_mean(s[0], s.dims("dims"), spread_options(s));
    return Results{r.spread, r.mean};
  };
  all["aminmax"] = [](const Statement& s) {
    const ExtremesResult r = aminmax(s[0], s.dims("dims"), s.flag("keepdim"));
    return Results{r.min, r.max};
  };
  all["dist"] = [](const Statement& s) {
    return Results{dist(s[0], s[1], s.number("number"))};
  };
  all["normalize"] = [](const Statement& s) {
    return Results{normalize(s[0], {.order = s.number("number"),
                                    .dim = s.integer("dim"),
                                    .eps = s.number("eps")})};
  };
  all["clamp_min"] = [](const Statement& s) {
    return Results{clamp_min(s[0], s.number("number"))};
  };
  all["clamp_max"] = [](const Statement& s) {
    return Results{clamp_max(s[0], s.number("number"))};
  };
  all["trapezoid"] = [](const Statement& s) {
    return Results{trapezoid(s[0], s.number("number"), s.integer("dim"))};
  };
}

void add_matrices(Operations& all) {
  all["addmv"] = [](const Statement& s) {
    return Results{addmv(s[0], s[1], s[2], factors(s))};
  };
  all["addr"] = [](const Statement& s) {
    return Results{addr(s[0], s[1], s[2], factors(s))};
  };
  all["addbmm"] = [](const Statement& s) {
    return Results{addbmm(s[0], s[1], s[2], factors(s))};
  };
  all["inner"] = [](const Statement& s) { return Results{inner(s[0], s[1])}; };
  all["kron"] = [](const Statement& s) { return Results{kron(s[0], s[1])}; };
}

void add_parts(Operations& all) {
  using One = Tensor (*)(const Tensor&);
  for (const auto& [name, one] :
       std::map<std::string, One>{{"trace", matrix_trace},
                                  {"ravel", ravel},
                                  {"deg2rad", deg2rad},
                                  {"rad2deg", rad2deg},
                                  {"isposinf", isposinf},
                                  {"isneginf", isneginf}}) {
    all[name] = [one = one](const Statement& s) { return Results{one(s[0])}; };
  }
  using Split = Results (*)(const Tensor&, std::int64_t);
  for (const auto& [name, split] : std::map<std::string, Split>{
           {"hsplit", hsplit}, {"vsplit", vsplit}, {"dsplit", dsplit}}) {
    all[name] = [split = split](const Statement& s) {
      return split(s[0], s.integer("sections"));
    };
  }
  all["diagflat"] = [](const Statement& s) {
    return Results{diagflat(s[0], s.integer("offset"))};
  };
  all["block_diag"] = [](const Statement& s) {
    return Results{block_diag(s.operands())};
  };
  all["cartesian_prod"] = [](const Statement& s) {
    return Results{cartesian_prod(s.operands())};
  };
  all["select_scatter"] = [](const Statement& s) {
    return Results{
        select_scatter(s[0], s[1], s.integer("dim"), s.integer("index"))};
  };
  all["slice_scatter"] = [](const Statement& s) {
    return Results{slice_scatter(s[0], s[1], s.integer("dim"),
                                 s.integer("start"), s.integer("end"),
                                 s.integer("step"))};
  };
  all["diagonal_scatter"] = [](const Statement& s) {
    return Results{diagonal_scatter(s[0], s[1], s.integer("offset"),
                                    s.integer("dim1"), s.integer("dim2"))};
  };
}

}  // namespace

void add_composed(Operations& operations) {
  add_measures(operations);
  add_matrices(operations);
  add_parts(operations);
}

}  // namespace hvd::differential
