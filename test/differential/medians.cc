// SPDX-License-Identifier: Apache-2.0
// Medians, quantiles, distinct slices, and running extremes.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

QuantileOptions quantile_options(const Statement& s) {
  QuantileOptions options;
  if (s.has("dim")) options.dim = s.integer("dim");
  options.keepdim = s.flag("keepdim");
  options.interpolation =
      static_cast<Interpolation>((s.integer("between") % 5 + 5) % 5);
  return options;
}

void add_choices(Operations& all) {
  using Choice = SortResult (*)(const Tensor&, std::int64_t, bool);
  for (const auto& [name, choice] :
       std::map<std::string, Choice>{{"median_dim", median},
                                     {"nanmedian_dim", nanmedian},
                                     {"mode", mode}}) {
    all[name] = [choice = choice](const Statement& s) {
      const auto [values, indices] =
          choice(s[0], s.integer("dim"), s.flag("keepdim"));
      return Results{values, indices};
    };
  }
  using Scan = RunningResult (*)(const Tensor&, std::int64_t);
  for (const auto& [name, scan] :
       std::map<std::string, Scan>{{"cummax", cummax}, {"cummin", cummin}}) {
    all[name] = [scan = scan](const Statement& s) {
      const auto [values, indices] = scan(s[0], s.integer("dim"));
      return Results{values, indices};
    };
  }
  all["median"] = [](const Statement& s) { return Results{median(s[0])}; };
  all["nanmedian"] = [](const Statement& s) {
    return Results{nanmedian(s[0])};
  };
  all["msort"] = [](const Statement& s) { return Results{msort(s[0])}; };
  all["logcumsumexp"] = [](const Statement& s) {
    return Results{logcumsumexp(s[0], s.integer("dim"))};
  };
}

void add_distinct(Operations& all) {
  const auto listed = [](const UniqueResult& found) {
    return Results{found.values, found.inverse, found.counts};
  };
  all["unique_dim"] = [=](const Statement& s) {
    return listed(unique(s[0], s.integer("dim")));
  };
  all["unique_consecutive"] = [=](const Statement& s) {
    if (!s.has("dim")) return listed(unique_consecutive(s[0]));
    return listed(unique_consecutive(s[0], s.integer("dim")));
  };
  all["isin"] = [](const Statement& s) { return Results{isin(s[0], s[1])}; };
}

void add_norms(Operations& all) {
  all["quantile"] = [](const Statement& s) {
    return Results{quantile(s[0], s[1], quantile_options(s))};
  };
  all["nanquantile"] = [](const Statement& s) {
    return Results{nanquantile(s[0], s[1], quantile_options(s))};
  };
  all["norm"] = [](const Statement& s) {
    return Results{
        norm(s[0], s.number("number"), s.dims("dims"), s.flag("keepdim"))};
  };
  all["renorm"] = [](const Statement& s) {
    return Results{
        renorm(s[0], s.number("number"), s.integer("dim"), s.number("limit"))};
  };
  all["equal"] = [](const Statement& s) {
    return Results{
        full({}, equal(s[0], s[1]) ? 1.0 : 0.0, {.dtype = DType::kBool})};
  };
}

}  // namespace

void add_medians(Operations& all) {
  add_choices(all);
  add_distinct(all);
  add_norms(all);
}

}  // namespace hvd::differential
