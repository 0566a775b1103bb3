// SPDX-License-Identifier: Apache-2.0
// Adam along sparse gradients, with the formulas of PyTorch's SparseAdam. Rows
// in the gradient, and their moments, move as in Adam; the other rows stay as
// they are:
//
//   hvd::nn::Embedding table(50000, 128, {.sparse = true});
//   hvd::optim::SparseAdam optimizer(table.named_parameters(),
//                                    {.learning_rate = 1e-3});
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct SparseAdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("maximize", maximize);
  }
};

// Keeps "step", "exp_avg" and "exp_avg_sq" of every parameter that has had a
// gradient. A step throws InvalidArgument for a dense gradient.
class SparseAdam : public GroupedOptimizer<SparseAdamOptions> {
 public:
  //   InvalidArgument  an option is negative, or a beta not in [0, 1); see also
  //                    Optimizer
  using GroupedOptimizer<SparseAdamOptions>::GroupedOptimizer;

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
