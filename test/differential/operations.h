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
void add_elements(Operations& operations);
void add_medians(Operations& operations);
void add_distances(Operations& operations);
void add_reductions(Operations& operations);
void add_orders(Operations& operations);
void add_shape_operations(Operations& operations);
void add_more_shapes(Operations& operations);
void add_composed(Operations& operations);
void add_lookups(Operations& operations);
void add_scatters(Operations& operations);
void add_network_operations(Operations& operations);
void add_image_operations(Operations& operations);
void add_inplace_operations(Operations& operations);
void add_graph_statements(Operations& operations);
void add_functions(Operations& operations);
void add_losses_of_the_database(Operations& operations);
void add_layers_of_the_database(Operations& operations);

// Those of random programs.
const Operations& all_operations();

// Those that only the comparison with PyTorch's operator database runs.
const Operations& operations_of_the_database();

// The operation of either table.
//   std::out_of_range  there is none of this name
const Operation& operation_named(const std::string& name);

}  // namespace hvd::differential
