// SPDX-License-Identifier: Apache-2.0
// Adagrad, with the formulas of PyTorch:
//
//   g = gradient + weight_decay p         (maximize: -gradient)
//   s = s + g^2                           (first: initial_accumulator_value)
//   p = p - learning_rate / (1 + steps learning_rate_decay) g / (sqrt(s) + eps)
//
// `steps` counts the steps made before. A step along a sparse gradient leaves
// the rows that the gradient lacks unchanged, with their s. Sparse gradients
// cannot be combined with weight decay, which moves all rows.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct AdagradOptions {
  double learning_rate = 1e-2;
  double learning_rate_decay = 0.0;
  double weight_decay = 0.0;
  double initial_accumulator_value = 0.0;
  double eps = 1e-10;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("learning_rate_decay", learning_rate_decay);
    f("weight_decay", weight_decay);
    f("initial_accumulator_value", initial_accumulator_value);
    f("eps", eps);
    f("maximize", maximize);
  }
};

// Keeps "step" and "sum" of every parameter that has had a gradient. A step
// throws InvalidArgument for a sparse gradient with weight decay.
class Adagrad : public GroupedOptimizer<AdagradOptions> {
 public:
  //   InvalidArgument  an option is negative; see also Optimizer
  using GroupedOptimizer<AdagradOptions>::GroupedOptimizer;

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
