// SPDX-License-Identifier: Apache-2.0
// RMSprop (Hinton 2012) and Adadelta (Zeiler 2012), with the formulas of PyTorch.
// g is the gradient + weight_decay p (maximize: -gradient):
//
//   RMSprop:   s = alpha s + (1 - alpha) g^2
//              a = centered ? a + (1 - alpha) (g - a) : 0
//              d = g / (sqrt(s - a^2) + eps);  b = momentum b + d
//              p = p - learning_rate b
//   Adadelta:  s = rho s + (1 - rho) g^2
//              d = sqrt(u + eps) / sqrt(s + eps) g
//              u = rho u + (1 - rho) d^2;  p = p - learning_rate d
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct RMSpropOptions {
  double learning_rate = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;
  bool centered = false;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("alpha", alpha);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("momentum", momentum);
    f("centered", centered);
    f("maximize", maximize);
  }
};

// Keeps "step", "square_avg" and, if used, "momentum_buffer" and "grad_avg".
class RMSprop : public GroupedOptimizer<RMSpropOptions> {
 public:
  using GroupedOptimizer<RMSpropOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

struct AdadeltaOptions {
  double learning_rate = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0.0;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("rho", rho);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step", "square_avg" and "acc_delta".
class Adadelta : public GroupedOptimizer<AdadeltaOptions> {
 public:
  using GroupedOptimizer<AdadeltaOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
