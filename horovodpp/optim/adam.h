// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019), with the
// formulas of PyTorch; t counts the steps of a parameter from 1:
//
//   Adam:   g = gradient + weight_decay p       (maximize: -gradient)
//   AdamW:  g = gradient;  p = p - learning_rate weight_decay p
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   x = amsgrad ? max(x, v) : v
//   p = p - learning_rate / (1 - beta1^t) m /
//           (sqrt(x) / sqrt(1 - beta2^t) + eps)
//
//   hvd::optim::AdamW optimizer(model.named_parameters(),
//                               {.learning_rate = 3e-4, .weight_decay = 0.1});
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool amsgrad = false;
  bool maximize = false;
  bool decoupled = false;  // Weight decay as in AdamW, which sets it.

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("amsgrad", amsgrad);
    f("maximize", maximize);
    f("decoupled", decoupled);
  }
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 1e-2;
  bool amsgrad = false;
  bool maximize = false;
};

// Keeps "step", "exp_avg", "exp_avg_sq" and, with amsgrad, "max_exp_avg_sq" of
// every parameter that has moved.
class Adam : public GroupedOptimizer<AdamOptions> {
 public:
  //   InvalidArgument  an option is negative, or a beta not in [0, 1); see also
  //                    Optimizer
  using GroupedOptimizer<AdamOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 protected:
  bool always_decoupled_ = false;  // Overrides the options.

 private:
  void move(std::size_t index) override;
};

// Adam with decoupled weight decay, also after loading the state of an Adam.
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<nn::NamedTensor> parameters,
                 const AdamWOptions& options = {});
  explicit AdamW(const std::vector<Tensor>& parameters,
                 const AdamWOptions& options = {});
  explicit AdamW(const std::vector<ParameterGroup<AdamWOptions>>& groups);
};

}  // namespace optim
}  // namespace hvd
