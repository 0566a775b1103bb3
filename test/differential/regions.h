// SPDX-License-Identifier: Apache-2.0
// Statements as checkpointed regions. A statement "region" holds statements of its
// own, and runs them as one function; "chain" holds several such functions, each
// of which makes what the next one is given.
//
//   {"do": "region", "form": "region", "of": ["a"], "captured": ["w"],
//    "statements": [...], "as": ["b", "c"]}
//   {"do": "chain", "form": "planned", "of": ["a"], "captured": ["w"],
//    "links": [{"of": ["a"], "statements": [...], "as": ["b"]}, ...], "as": ["c"]}
//
// "of" names the tensors that are arguments, "captured" those that the function
// captures. A statement in it that is refused leaves no results, as anywhere.
#pragma once

#include <vector>

#include "nlohmann/json.hpp"
#include "statement.h"

namespace hvd::differential {

// The tensors that are in "as"; an undefined one where nothing was made. `json` has
// to live until the last backward through them.
std::vector<Tensor> run_region(const nlohmann::json& json,
                               const Tensors& tensors);
std::vector<Tensor> run_chain(const nlohmann::json& json,
                              const Tensors& tensors);

}  // namespace hvd::differential
