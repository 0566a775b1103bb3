// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {

void add_lookups(Operations& all) {
  using Results = std::vector<Tensor>;
  all["index"] = [](const Statement& s) {
    return Results{s[0].index(s.indices())};
  };
  all["embedding"] = [](const Statement& s) {
    EmbeddingOptions options;
    if (s.has("padding_index")) {
      options.padding_index = s.integer("padding_index");
    }
    return Results{embedding(s[0], s[1], options)};
  };
  all["index_select"] = [](const Statement& s) {
    return Results{index_select(s[0], s.integer("dim"), s[1])};
  };
  all["gather"] = [](const Statement& s) {
    return Results{gather(s[0], s.integer("dim"), s[1])};
  };
  all["scatter_add"] = [](const Statement& s) {
    return Results{scatter_add(s[0], s.integer("dim"), s[1], s[2])};
  };
}

}  // namespace hvd::differential
