// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent, with the formulas of PyTorch:
//
//   g = gradient + weight_decay p               (maximize: -gradient)
//   b = momentum b + (1 - dampening) g          (first step: b = g)
//   p = p - learning_rate (nesterov ? g + momentum b : b)
//
// Without momentum: p = p - learning_rate g. Sparse gradients use the same
// formula, row by row. They cannot be combined with momentum or weight decay,
// which move all rows.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct SGDOptions {
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;  // Requires momentum and no dampening.
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("momentum", momentum);
    f("dampening", dampening);
    f("weight_decay", weight_decay);
    f("nesterov", nesterov);
    f("maximize", maximize);
  }
};

// Keeps "momentum_buffer" of every parameter that has moved. A step throws
// InvalidArgument for a sparse gradient with momentum or weight decay.
class SGD : public GroupedOptimizer<SGDOptions> {
 public:
  //   InvalidArgument  an option is negative, or nesterov lacks its momentum;
  //                    see also Optimizer
  using GroupedOptimizer<SGDOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
