// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {

const Operations& all_operations() {
  static const Operations all = [] {
    Operations operations;
    add_elementwise_operations(operations);
    add_elements(operations);
    add_medians(operations);
    add_distances(operations);
    add_reductions(operations);
    add_orders(operations);
    add_shape_operations(operations);
    add_more_shapes(operations);
    add_composed(operations);
    add_lookups(operations);
    add_scatters(operations);
    add_network_operations(operations);
    add_image_operations(operations);
    add_inplace_operations(operations);
    add_graph_statements(operations);
    add_functions(operations);
    return operations;
  }();
  return all;
}

const Operations& operations_of_the_database() {
  static const Operations all = [] {
    Operations operations;
    add_losses_of_the_database(operations);
    add_layers_of_the_database(operations);
    return operations;
  }();
  return all;
}

const Operation& operation_named(const std::string& name) {
  const auto found = all_operations().find(name);
  if (found != all_operations().end()) return found->second;
  return operations_of_the_database().at(name);
}

}  // namespace hvd::differential
