// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

namespace hvd::differential {

const Operations& all_operations() {
  static const Operations all = [] {
    Operations operations;
    add_elementwise_operations(operations);
    add_reductions(operations);
    add_orders(operations);
    add_shape_operations(operations);
    add_lookups(operations);
    add_network_operations(operations);
    add_inplace_operations(operations);
    add_graph_statements(operations);
    add_functions(operations);
    return operations;
  }();
  return all;
}

}  // namespace hvd::differential
