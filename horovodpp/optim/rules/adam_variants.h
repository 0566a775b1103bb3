// SPDX-License-Identifier: Apache-2.0
// Variants of Adam, with the formulas of PyTorch; Lion's are those of its paper. t
// counts the steps of a parameter from 1. g is the gradient + weight_decay p
// (maximize: -gradient). With decoupled_weight_decay, and in Lion, p shrinks by
// 1 - learning_rate weight_decay instead.
//
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   Adamax (Kingma and Ba 2015):
//     u = max(beta2 u, |g| + eps);  p -= learning_rate / (1 - beta1^t) m / u
//   NAdam (Dozat 2016): Nesterov momentum, whose beta1 grows with the steps:
//     b_t = beta1 (1 - 0.96^(t momentum_decay) / 2);  B = b_1 … b_t
//     p -= learning_rate ((1 - b_t) / (1 - B) g + b_t+1 / (1 - B b_t+1) m) /
//          (sqrt(v / (1 - beta2^t)) + eps)
//   RAdam (Liu et al. 2020): steps by m alone until v has a finite variance.
//   Lion (Chen et al. 2023):
//     p -= learning_rate sign(beta1 m + (1 - beta1) g)
//     m = beta2 m + (1 - beta2) g
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct AdamaxOptions {
  double learning_rate = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step", "exp_avg" and "exp_inf".
class Adamax : public GroupedOptimizer<AdamaxOptions> {
 public:
  using GroupedOptimizer<AdamaxOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

struct NAdamOptions {
  double learning_rate = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  double momentum_decay = 4e-3;
  bool decoupled_weight_decay = false;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("momentum_decay", momentum_decay);
    f("decoupled_weight_decay", decoupled_weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step", "exp_avg" and "exp_avg_sq". B follows from the step and the present
// options, also after loading a state.
class NAdam : public GroupedOptimizer<NAdamOptions> {
 public:
  using GroupedOptimizer<NAdamOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
  double product(std::size_t index, std::int64_t steps);

  struct Product {
    std::int64_t steps = 0;
    double value = 1.0;
  };
  std::vector<Product> products_;  // B of each parameter.
};

struct RAdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decoupled_weight_decay = false;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("decoupled_weight_decay", decoupled_weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step", "exp_avg" and "exp_avg_sq".
class RAdam : public GroupedOptimizer<RAdamOptions> {
 public:
  using GroupedOptimizer<RAdamOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("beta1", beta1);
    f("beta2", beta2);
    f("weight_decay", weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step" and "exp_avg".
class Lion : public GroupedOptimizer<LionOptions> {
 public:
  using GroupedOptimizer<LionOptions>::GroupedOptimizer;

  bool moves_parts() const override { return true; }

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
