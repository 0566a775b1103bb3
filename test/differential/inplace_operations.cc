// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;
using Write = std::function<void(const Statement&)>;

}  // namespace

void add_inplace_operations(Operations& all) {
  const std::map<std::string, Write> table = {
      {"add_", [](const Statement& s) { s[0].add_(s[1], s.number("alpha")); }},
      {"add_number_",
       [](const Statement& s) { s[0].add_(s.number("number")); }},
      {"sub_", [](const Statement& s) { s[0].sub_(s[1]); }},
      {"mul_", [](const Statement& s) { s[0].mul_(s[1]); }},
      {"mul_number_",
       [](const Statement& s) { s[0].mul_(s.number("number")); }},
      {"div_", [](const Statement& s) { div_(s[0], s[1]); }},
      {"pow_", [](const Statement& s) { pow_(s[0], s[1]); }},
      {"floor_divide_", [](const Statement& s) { floor_divide_(s[0], s[1]); }},
      {"remainder_", [](const Statement& s) { remainder_(s[0], s[1]); }},
      {"fmod_", [](const Statement& s) { fmod_(s[0], s[1]); }},
      {"atan2_", [](const Statement& s) { atan2_(s[0], s[1]); }},
      {"hypot_", [](const Statement& s) { hypot_(s[0], s[1]); }},
      {"logical_not_", [](const Statement& s) { logical_not_(s[0]); }},
      {"logical_and_", [](const Statement& s) { logical_and_(s[0], s[1]); }},
      {"logical_or_", [](const Statement& s) { logical_or_(s[0], s[1]); }},
      {"logical_xor_", [](const Statement& s) { logical_xor_(s[0], s[1]); }},
      {"bitwise_not_", [](const Statement& s) { bitwise_not_(s[0]); }},
      {"bitwise_and_", [](const Statement& s) { bitwise_and_(s[0], s[1]); }},
      {"bitwise_or_", [](const Statement& s) { bitwise_or_(s[0], s[1]); }},
      {"bitwise_xor_", [](const Statement& s) { bitwise_xor_(s[0], s[1]); }},
      {"bitwise_left_shift_",
       [](const Statement& s) { bitwise_left_shift_(s[0], s[1]); }},
      {"bitwise_right_shift_",
       [](const Statement& s) { bitwise_right_shift_(s[0], s[1]); }},
      {"zero_", [](const Statement& s) { s[0].zero_(); }},
      {"fill_", [](const Statement& s) { s[0].fill_(s.number("number")); }},
      {"copy_", [](const Statement& s) { s[0].copy_(s[1]); }},
      {"relu_", [](const Statement& s) { s[0].relu_(); }},
      {"exp_", [](const Statement& s) { s[0].exp_(); }},
      {"sin_", [](const Statement& s) { s[0].sin_(); }},
      {"index_put_",
       [](const Statement& s) { s[0].index_put_(s.indices(), s[1]); }},
      {"index_put_number_",
       [](const Statement& s) {
         s[0].index_put_(s.indices(), s.number("number"));
       }},
      // Degenerate distributions, so that the results are comparable.
      {"uniform_",
       [](const Statement& s) {
         autograd::uniform_(s[0], s.number("number"), s.number("number"));
       }},
      {"normal_",
       [](const Statement& s) {
         autograd::normal_(s[0], s.number("number"), 0.0);
       }},
      {"bernoulli_", [](const Statement& s) {
         autograd::bernoulli_(s[0], s.number("number"));
       }}};
  for (const auto& [name, write] : table) {
    all[name] = [write = write](const Statement& s) {
      write(s);
      return Results{};
    };
  }
}

}  // namespace hvd::differential
