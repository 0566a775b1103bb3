// SPDX-License-Identifier: Apache-2.0
// Writes by indices and masks.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;
using ScatterCopy = Tensor (*)(const Statement&);
using ScatterWrite = void (*)(const Statement&);

ScatterReduce reduce_of(const Statement& s) {
  const std::map<std::string, ScatterReduce> all = {
      {"sum", ScatterReduce::kSum},
      {"prod", ScatterReduce::kProd},
      {"mean", ScatterReduce::kMean},
      {"amax", ScatterReduce::kMax},
      {"amin", ScatterReduce::kMin}};
  return all.at(s.text("reduce"));
}

const std::map<std::string, ScatterCopy> kCopies = {
    {"scatter",
     [](const Statement& s) {
       return scatter(s[0], s.integer("dim"), s[1], s[2]);
     }},
    {"scatter_number",
     [](const Statement& s) {
       return scatter(s[0], s.integer("dim"), s[1], s.number("number"));
     }},
    {"scatter_reduce",
     [](const Statement& s) {
       return scatter_reduce(s[0], s.integer("dim"), s[1], s[2], reduce_of(s),
                             s.flag("include_self"));
     }},
    {"index_add",
     [](const Statement& s) {
       return index_add(s[0], s.integer("dim"), s[1], s[2], s.number("alpha"));
     }},
    {"index_copy",
     [](const Statement& s) {
       return index_copy(s[0], s.integer("dim"), s[1], s[2]);
     }},
    {"index_fill",
     [](const Statement& s) {
       return index_fill(s[0], s.integer("dim"), s[1], s.number("number"));
     }},
    {"take", [](const Statement& s) { return take(s[0], s[1]); }},
    {"take_along_dim",
     [](const Statement& s) {
       return take_along_dim(s[0], s[1], s.integer("dim"));
     }},
    {"put",
     [](const Statement& s) {
       return put(s[0], s[1], s[2], s.flag("accumulate"));
     }},
    {"masked_select",
     [](const Statement& s) { return masked_select(s[0], s[1]); }},
    {"masked_fill_tensor",
     [](const Statement& s) { return masked_fill(s[0], s[1], s[2]); }},
    {"masked_scatter",
     [](const Statement& s) { return masked_scatter(s[0], s[1], s[2]); }},
    {"index_put", [](const Statement& s) {
       return index_put(s[0], {s[1]}, s[2], s.flag("accumulate"));
     }}};

const std::map<std::string, ScatterWrite> kWrites = {
    {"scatter_",
     [](const Statement& s) { scatter_(s[0], s.integer("dim"), s[1], s[2]); }},
    {"scatter_number_",
     [](const Statement& s) {
       scatter_(s[0], s.integer("dim"), s[1], s.number("number"));
     }},
    {"scatter_add_",
     [](const Statement& s) {
       scatter_add_(s[0], s.integer("dim"), s[1], s[2]);
     }},
    {"scatter_reduce_",
     [](const Statement& s) {
       scatter_reduce_(s[0], s.integer("dim"), s[1], s[2], reduce_of(s),
                       s.flag("include_self"));
     }},
    {"index_add_",
     [](const Statement& s) {
       index_add_(s[0], s.integer("dim"), s[1], s[2], s.number("alpha"));
     }},
    {"index_copy_",
     [](const Statement& s) {
       index_copy_(s[0], s.integer("dim"), s[1], s[2]);
     }},
    {"index_fill_",
     [](const Statement& s) {
       index_fill_(s[0], s.integer("dim"), s[1], s.number("number"));
     }},
    {"put_",
     [](const Statement& s) { put_(s[0], s[1], s[2], s.flag("accumulate")); }},
    {"masked_fill_",
     [](const Statement& s) { masked_fill_(s[0], s[1], s.number("number")); }},
    {"masked_fill_tensor_",
     [](const Statement& s) { masked_fill_(s[0], s[1], s[2]); }},
    {"masked_scatter_",
     [](const Statement& s) { masked_scatter_(s[0], s[1], s[2]); }},
    {"index_put_accumulate_", [](const Statement& s) {
       index_put_(s[0], {s[1]}, s[2], s.flag("accumulate"));
     }}};

}  // namespace

void add_scatters(Operations& all) {
  for (const auto& [name, copy] : kCopies) {
    all[name] = [copy = copy](const Statement& s) { return Results{copy(s)}; };
  }
  for (const auto& [name, write] : kWrites) {
    all[name] = [write = write](const Statement& s) {
      write(s);
      return Results{};
    };
  }
}

}  // namespace hvd::differential
