// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

void add_views(Operations& all) {
  all["reshape"] = [](const Statement& s) {
    return Results{reshape(s[0], s.dims("sizes"))};
  };
  all["view"] = [](const Statement& s) {
    return Results{view(s[0], s.dims("sizes"))};
  };
  all["transpose"] = [](const Statement& s) {
    return Results{transpose(s[0], s.integer("dim0"), s.integer("dim1"))};
  };
  all["t"] = [](const Statement& s) { return Results{s[0].t()}; };
  all["permute"] = [](const Statement& s) {
    return Results{permute(s[0], s.dims("order"))};
  };
  all["expand"] = [](const Statement& s) {
    return Results{expand(s[0], s.dims("sizes"))};
  };
  all["squeeze"] = [](const Statement& s) {
    return Results{squeeze(s[0], s.integer("dim"))};
  };
  all["unsqueeze"] = [](const Statement& s) {
    return Results{unsqueeze(s[0], s.integer("dim"))};
  };
  all["as_strided"] = [](const Statement& s) {
    return Results{autograd::as_strided(
        s[0], s.dims("sizes"), s.dims("strides"), s.integer("offset"))};
  };
}

void add_slices(Operations& all) {
  all["narrow"] = [](const Statement& s) {
    return Results{narrow(s[0], s.integer("dim"), s.integer("start"),
                          s.integer("length"))};
  };
  all["select"] = [](const Statement& s) {
    return Results{select(s[0], s.integer("dim"), s.integer("index"))};
  };
  all["slice"] = [](const Statement& s) {
    return Results{slice(s[0], s.integer("dim"), s.integer("start"),
                         s.integer("end"), s.integer("step"))};
  };
  all["split"] = [](const Statement& s) {
    return split(s[0], s.integers("sizes"), s.integer("dim"));
  };
  all["split_size"] = [](const Statement& s) {
    return split(s[0], s.integer("size"), s.integer("dim"));
  };
  all["chunk"] = [](const Statement& s) {
    return chunk(s[0], s.integer("chunks"), s.integer("dim"));
  };
  all["unbind"] = [](const Statement& s) {
    return unbind(s[0], s.integer("dim"));
  };
}

void add_copies(Operations& all) {
  all["contiguous"] = [](const Statement& s) {
    return Results{s[0].contiguous()};
  };
  all["channels_last"] = [](const Statement& s) {
    return Results{channels_last(s[0])};
  };
  all["clone_with_strides"] = [](const Statement& s) {
    return Results{autograd::clone_with_strides(s[0], s.dims("strides"))};
  };
  all["cat"] = [](const Statement& s) {
    return Results{cat(s.operands(), s.integer("dim"))};
  };
  all["stack"] = [](const Statement& s) {
    return Results{stack(s.operands(), s.integer("dim"))};
  };
  all["roll"] = [](const Statement& s) {
    return Results{roll(s[0], s.integers("shifts"), s.dims("dims"))};
  };
  all["pad"] = [](const Statement& s) {
    return Results{pad(s[0], s.integers("widths"), s.number("number"))};
  };
  all["flip"] = [](const Statement& s) {
    return Results{flip(s[0], s.dims("dims"))};
  };
}

}  // namespace

void add_shape_operations(Operations& all) {
  add_views(all);
  add_slices(all);
  add_copies(all);
}

}  // namespace hvd::differential
