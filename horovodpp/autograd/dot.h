// SPDX-License-Identifier: Apache-2.0
// The graph behind a tensor, in the language of Graphviz:
//
//   std::ofstream("graph.dot") << hvd::autograd::to_dot(loss, {{"w1", w1}});
//   $ dot -Tsvg graph.dot -o graph.svg
//
// Boxes are operations, ellipses leaves; an arrow goes where a gradient goes,
// and carries the shape of that gradient. Nodes are numbered in the order in
// which they are found from the root, so that equal graphs draw equally.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace autograd {

// `names` are written to the leaves, and the results, that they are given for.
//   NotDifferentiableError  the tensor does not require grad
std::string to_dot(
    const Tensor& root,
    const std::vector<std::pair<std::string, Tensor>>& names = {});

}  // namespace autograd
}  // namespace hvd
