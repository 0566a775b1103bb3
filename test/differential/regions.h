// SPDX-License-Identifier: Apache-2.0
// Statements as checkpointed regions. A "region" statement holds other
// statements, and runs them as one function. A "chain" holds several such
// functions, each of which makes the next one's arguments.
//
//   {"do": "region", "form": "region", "of": ["a"], "captured": ["w"],
//    "statements": [...], "as": ["b", "c"]}
//   {"do": "chain", "form": "planned", "of": ["a"], "captured": ["w"],
//    "links": [{"of": ["a"], "statements": [...], "as": ["b"]}, ...], "as": ["c"]}
//
// "of" names the tensors that are arguments, "captured" those that the function
// captures. As elsewhere, an inner statement that is refused leaves no results.
#pragma once

#include <vector>

#include "nlohmann/json.hpp"
#include "statement.h"

namespace hvd::differential {

// Returns the tensors in "as", undefined where none was made. `json` must live
// until the last backward through them.
std::vector<Tensor> run_region(const nlohmann::json& json,
                               const Tensors& tensors);
std::vector<Tensor> run_chain(const nlohmann::json& json,
                              const Tensors& tensors);

}  // namespace hvd::differential
