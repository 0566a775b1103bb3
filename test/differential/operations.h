// SPDX-License-Identifier: Apache-2.0
// The effect of each statement, by the name in its "do". A name that ends in
// "_" writes to its first operand.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "statement.h"

namespace hvd::differential {

using Operation = std::function<std::vector<Tensor>(const Statement&)>;
using Operations = std::map<std::string, Operation>;

void add_elementwise_operations(Operations& operations);
void add_reductions(Operations& operations);
void add_orders(Operations& operations);
void add_shape_operations(Operations& operations);
void add_lookups(Operations& operations);
void add_network_operations(Operations& operations);
void add_inplace_operations(Operations& operations);
void add_graph_statements(Operations& operations);
void add_functions(Operations& operations);

// All operations.
const Operations& all_operations();

}  // namespace hvd::differential
