// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

void add_sorts(Operations& all) {
  all["sort"] = [](const Statement& s) {
    const auto [values, indices] =
        sort(s[0], {s.integer("dim"), s.flag("descending")});
    return Results{values, indices};
  };
  all["argsort"] = [](const Statement& s) {
    return Results{argsort(s[0], {s.integer("dim"), s.flag("descending")})};
  };
  all["topk"] = [](const Statement& s) {
    const auto [values, indices] =
        topk(s[0], s.integer("k"), {s.integer("dim"), s.flag("largest")});
    return Results{values, indices};
  };
  all["kthvalue"] = [](const Statement& s) {
    const auto [values, indices] =
        kthvalue(s[0], s.integer("k"), {s.integer("dim"), s.flag("keepdim")});
    return Results{values, indices};
  };
}

}  // namespace

void add_orders(Operations& all) {
  add_sorts(all);
  all["searchsorted"] = [](const Statement& s) {
    return Results{searchsorted(s[0], s[1], s.flag("right"))};
  };
  all["bucketize"] = [](const Statement& s) {
    return Results{bucketize(s[0], s[1], s.flag("right"))};
  };
  all["unique"] = [](const Statement& s) {
    const auto [values, inverse, counts] = unique(s[0]);
    return Results{values, inverse, counts};
  };
  all["bincount"] = [](const Statement& s) {
    return Results{bincount(s[0], s[1], s.integer("minlength"))};
  };
  all["histc"] = [](const Statement& s) {
    return Results{
        histc(s[0], {s.integer("bins"), s.number("low"), s.number("high")})};
  };
  all["multinomial"] = [](const Statement& s) {
    return Results{
        multinomial(s[0], s.integer("samples"), s.flag("replacement"))};
  };
  all["bernoulli"] = [](const Statement& s) {
    return Results{bernoulli(s[0])};
  };
}

}  // namespace hvd::differential
