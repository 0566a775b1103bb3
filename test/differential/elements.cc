// SPDX-License-Identifier: Apache-2.0
// Operations on the elements of two and three tensors, and functions in place.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

Rounding rounding_of(const Statement& s) {
  return s.flag("down") ? Rounding::kFloor : Rounding::kTrunc;
}

void add_pairs(Operations& all) {
  using Pair = Tensor (*)(const Tensor&, const Tensor&);
  for (const auto& [name, pair] :
       std::map<std::string, Pair>{{"copysign", copysign},
                                   {"nextafter", nextafter},
                                   {"heaviside", heaviside},
                                   {"gcd", gcd},
                                   {"lcm", lcm},
                                   {"logaddexp", logaddexp},
                                   {"logaddexp2", logaddexp2},
                                   {"xlogy", xlogy},
                                   {"xlog1py", xlog1py},
                                   {"ldexp", ldexp},
                                   {"float_power", float_power}}) {
    all[name] = [pair = pair](const Statement& s) {
      return Results{pair(s[0], s[1])};
    };
  }
  all["div_rounded"] = [](const Statement& s) {
    return Results{div(s[0], s[1], rounding_of(s))};
  };
  all["div_rounded_number"] = [](const Statement& s) {
    return Results{div(s[0], s.scalar("number"), rounding_of(s))};
  };
  all["float_power_number"] = [](const Statement& s) {
    return Results{float_power(s[0], s.number("number"))};
  };
  all["signbit"] = [](const Statement& s) { return Results{signbit(s[0])}; };
  all["positive"] = [](const Statement& s) { return Results{positive(s[0])}; };
}

void add_triples(Operations& all) {
  all["lerp"] = [](const Statement& s) {
    return Results{lerp(s[0], s[1], s[2])};
  };
  all["lerp_number"] = [](const Statement& s) {
    return Results{lerp(s[0], s[1], s.number("number"))};
  };
  all["addcmul"] = [](const Statement& s) {
    return Results{addcmul(s[0], s[1], s[2], s.number("number"))};
  };
  all["addcdiv"] = [](const Statement& s) {
    return Results{addcdiv(s[0], s[1], s[2], s.number("number"))};
  };
}

void add_writes(Operations& all) {
  using Write = std::function<void(const Statement&)>;
  std::map<std::string, Write> table = {
      {"copysign_", [](const Statement& s) { copysign_(s[0], s[1]); }},
      {"nextafter_", [](const Statement& s) { nextafter_(s[0], s[1]); }},
      {"gcd_", [](const Statement& s) { gcd_(s[0], s[1]); }},
      {"lcm_", [](const Statement& s) { lcm_(s[0], s[1]); }},
      {"xlogy_", [](const Statement& s) { xlogy_(s[0], s[1]); }},
      {"ldexp_", [](const Statement& s) { ldexp_(s[0], s[1]); }},
      {"lerp_",
       [](const Statement& s) { lerp_(s[0], s[1], s.number("number")); }},
      {"addcmul_",
       [](const Statement& s) {
         addcmul_(s[0], s[1], s[2], s.number("number"));
       }},
      {"addcdiv_",
       [](const Statement& s) {
         addcdiv_(s[0], s[1], s[2], s.number("number"));
       }},
      {"clamp_",
       [](const Statement& s) {
         clamp_(s[0], s.scalar("low"), s.scalar("high"));
       }},
      {"elu_", [](const Statement& s) { elu_(s[0], s.number("number")); }},
      {"leaky_relu_",
       [](const Statement& s) { leaky_relu_(s[0], s.number("number")); }},
      {"cumsum_", [](const Statement& s) { cumsum_(s[0], s.integer("dim")); }}};
#define HVD_WRITE(f) table[#f "_"] = [](const Statement& s) { f##_(s[0]); };
  HVD_INPLACE_FUNCTIONS(HVD_WRITE)
#undef HVD_WRITE
  for (const auto& [name, write] : table) {
    all[name] = [write = write](const Statement& s) {
      write(s);
      return Results{};
    };
  }
}

}  // namespace

void add_elements(Operations& all) {
  add_pairs(all);
  add_triples(all);
  add_writes(all);
}

}  // namespace hvd::differential
