// SPDX-License-Identifier: Apache-2.0
// The operations of ops/shapes.
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;
using One = Tensor (*)(const Statement&);

std::optional<std::int64_t> optional(const Statement& s, const char* key) {
  return s.has(key) ? std::optional(s.integer(key)) : std::nullopt;
}

const std::map<std::string, One> kViewsAndCopies = {
    {"flatten",
     [](const Statement& s) {
       return flatten(s[0], s.integer("start"), s.integer("end"));
     }},
    {"unflatten",
     [](const Statement& s) {
       return unflatten(s[0], s.integer("dim"), s.dims("sizes"));
     }},
    {"movedim",
     [](const Statement& s) {
       return movedim(s[0], s.dims("places"), s.dims("to"));
     }},
    {"swapaxes",
     [](const Statement& s) {
       return swapaxes(s[0], s.integer("dim0"), s.integer("dim1"));
     }},
    {"diagonal",
     [](const Statement& s) {
       return diagonal(s[0], s.integer("offset"), s.integer("dim1"),
                       s.integer("dim2"));
     }},
    {"unfold",
     [](const Statement& s) {
       return unfold(s[0], s.integer("dim"), s.integer("size"),
                     s.integer("step"));
     }},
    {"broadcast_to",
     [](const Statement& s) { return broadcast_to(s[0], s.dims("sizes")); }},
    {"atleast_1d", [](const Statement& s) { return atleast_1d(s[0]); }},
    {"atleast_2d", [](const Statement& s) { return atleast_2d(s[0]); }},
    {"atleast_3d", [](const Statement& s) { return atleast_3d(s[0]); }},
    {"repeat",
     [](const Statement& s) { return repeat(s[0], s.dims("repeats")); }},
    {"tile", [](const Statement& s) { return tile(s[0], s.dims("repeats")); }},
    {"repeat_interleave",
     [](const Statement& s) {
       return repeat_interleave(s[0], s.integer("count"), optional(s, "dim"));
     }},
    {"repeat_interleave_tensor",
     [](const Statement& s) {
       return repeat_interleave(s[0], s[1], optional(s, "dim"));
     }},
    {"hstack", [](const Statement& s) { return hstack(s.operands()); }},
    {"vstack", [](const Statement& s) { return vstack(s.operands()); }},
    {"dstack", [](const Statement& s) { return dstack(s.operands()); }},
    {"column_stack",
     [](const Statement& s) { return column_stack(s.operands()); }},
    {"rot90",
     [](const Statement& s) {
       return rot90(s[0], s.integer("k"), s.integer("dim0"), s.integer("dim1"));
     }},
    {"fliplr", [](const Statement& s) { return fliplr(s[0]); }},
    {"flipud", [](const Statement& s) { return flipud(s[0]); }},
    {"roll_flat",
     [](const Statement& s) { return roll(s[0], s.integer("shift")); }},
    {"channel_shuffle",
     [](const Statement& s) {
       return channel_shuffle(s[0], s.integer("groups"));
     }},
    {"full_like",
     [](const Statement& s) { return full_like(s[0], s.number("number")); }},
    {"one_hot",
     [](const Statement& s) { return one_hot(s[0], s.integer("classes")); }}};

PatchOptions patches_of(const Statement& s) {
  return {.kernel = s.pair("kernel"),
          .dilation = s.pair("dilation"),
          .padding = s.pair("padding"),
          .stride = s.pair("stride")};
}

const std::map<std::string, One> kMatrices = {
    {"unfold_images",
     [](const Statement& s) { return unfold(s[0], patches_of(s)); }},
    {"fold",
     [](const Statement& s) {
       return fold(s[0], s.pair("size"), patches_of(s));
     }},
    {"tril",
     [](const Statement& s) { return tril(s[0], s.integer("offset")); }},
    {"triu",
     [](const Statement& s) { return triu(s[0], s.integer("offset")); }},
    {"diag",
     [](const Statement& s) { return diag(s[0], s.integer("offset")); }},
    {"diag_embed",
     [](const Statement& s) {
       return diag_embed(s[0], s.integer("offset"), s.integer("dim1"),
                         s.integer("dim2"));
     }},
    {"outer", [](const Statement& s) { return outer(s[0], s[1]); }},
    {"dot", [](const Statement& s) { return dot(s[0], s[1]); }},
    {"mv", [](const Statement& s) { return mv(s[0], s[1]); }},
    {"baddbmm",
     [](const Statement& s) {
       return baddbmm(s[0], s[1], s[2],
                      {.beta = s.number("beta"), .alpha = s.number("alpha")});
     }},
    {"tensordot",
     [](const Statement& s) {
       return tensordot(s[0], s[1], s.dims("dims_of_a"), s.dims("dims_of_b"));
     }},
    {"tensordot_last",
     [](const Statement& s) {
       return tensordot(s[0], s[1], s.integer("count"));
     }},
    {"einsum", [](const Statement& s) {
       return einsum(s.text("equation"), s.operands());
     }}};

void add_several(Operations& all) {
  all["broadcast_tensors"] = [](const Statement& s) {
    return broadcast_tensors(s.operands());
  };
  all["tensor_split"] = [](const Statement& s) {
    return tensor_split(s[0], s.integer("sections"), s.integer("dim"));
  };
  all["tensor_split_at"] = [](const Statement& s) {
    return tensor_split(s[0], s.integers("starts"), s.integer("dim"));
  };
  all["meshgrid"] = [](const Statement& s) {
    return meshgrid(s.operands(), s.flag("cartesian") ? GridOrder::kCartesian
                                                      : GridOrder::kMatrix);
  };
}

}  // namespace

void add_more_shapes(Operations& all) {
  for (const auto* table : {&kViewsAndCopies, &kMatrices}) {
    for (const auto& [name, one] : *table) {
      all[name] = [one = one](const Statement& s) { return Results{one(s)}; };
    }
  }
  add_several(all);
  all["tril_"] = [](const Statement& s) {
    tril_(s[0], s.integer("offset"));
    return Results{};
  };
  all["triu_"] = [](const Statement& s) {
    triu_(s[0], s.integer("offset"));
    return Results{};
  };
}

}  // namespace hvd::differential
