// SPDX-License-Identifier: Apache-2.0
// Optimizers with a rate for each parameter, for large batches.
//
//   LAMB (You et al. 2020): r = Adam's direction, m / (1 - beta1^t) /
//     (sqrt(v / (1 - beta2^t)) + eps), + weight_decay p
//     p -= learning_rate (|p| / |r|) r
//   LARS (You et al. 2017): g = gradient + weight_decay p
//     b = momentum b + trust |p| / (|gradient| + weight_decay |p| + eps) g
//     p -= learning_rate b
//
// A quotient of norms is 1 where one of them is 0. Norms are over whole
// parameters, so `shard_updates` of a DistributedOptimizer refuses these
// optimizers.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct LAMBOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-6;
  double weight_decay = 0.01;
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

// Keeps "step", "exp_avg" and "exp_avg_sq".
class LAMB : public GroupedOptimizer<LAMBOptions> {
 public:
  using GroupedOptimizer<LAMBOptions>::GroupedOptimizer;

 private:
  void move(std::size_t index) override;
};

struct LARSOptions {
  double learning_rate = 0.1;
  double momentum = 0.9;
  double trust = 1e-3;  // The trust coefficient.
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool maximize = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("momentum", momentum);
    f("trust", trust);
    f("eps", eps);
    f("weight_decay", weight_decay);
    f("maximize", maximize);
  }
};

// Keeps "step" and "momentum_buffer".
class LARS : public GroupedOptimizer<LARSOptions> {
 public:
  using GroupedOptimizer<LARSOptions>::GroupedOptimizer;

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
