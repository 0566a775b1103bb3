// SPDX-License-Identifier: Apache-2.0
// The graph behind a tensor as Graphviz text:
//
//   std::ofstream("graph.dot") << hvd::autograd::to_dot(loss, {{"w1", w1}});
//   $ dot -Tsvg graph.dot -o graph.svg
//
// Boxes are operations, ellipses are leaves. An arrow follows a gradient and
// shows its shape. Nodes are numbered from the root in order of discovery, so
// equal graphs give equal text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// `names` label leaves and results.
//   NotDifferentiableError  the tensor does not require grad
std::string to_dot(
    const Tensor& root,
    const std::vector<std::pair<std::string, Tensor>>& names = {});

}  // namespace autograd
}  // namespace hvd
