// SPDX-License-Identifier: Apache-2.0
// Muon (Jordan et al. 2024), with the formulas of PyTorch: a step of a matrix
// along its momentum, whose singular values have become about 1.
//
//   b = momentum b + (1 - momentum) g
//   u = nesterov ? (1 - momentum) g + momentum b : b
//   p = p - learning_rate weight_decay p - rate orthogonal(u)
//
// orthogonal() makes `iterations` Newton-Schulz steps, in float32 or float64;
// PyTorch makes them in bfloat16, whose rounding they enlarge to 5 % of a step.
// Muon is for the matrices of hidden layers; give other parameters to AdamW.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/grouped_optimizer.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct MuonOptions {
  double learning_rate = 1e-3;
  double weight_decay = 0.1;
  double momentum = 0.95;
  double eps = 1e-7;
  double iterations = 5;  // A whole number below 100.
  bool nesterov = true;
  // rate = learning_rate 0.2 sqrt(max(rows, columns)), as large as AdamW's;
  // otherwise rate = learning_rate sqrt(max(1, rows / columns)).
  bool match_adamw = false;

  void check() const;
  static std::vector<StateSlot> slots();
  template <typename F>
  void visit(F f) {
    f("learning_rate", learning_rate);
    f("weight_decay", weight_decay);
    f("momentum", momentum);
    f("eps", eps);
    f("iterations", iterations);
    f("nesterov", nesterov);
    f("match_adamw", match_adamw);
  }
};

// Keeps "momentum_buffer".
class Muon : public GroupedOptimizer<MuonOptions> {
 public:
  //   InvalidArgument  a parameter is no matrix, or an option makes no sense;
  //                    see also Optimizer
  explicit Muon(std::vector<ParameterGroup<MuonOptions>> groups);
  explicit Muon(std::vector<nn::NamedTensor> parameters,
                const MuonOptions& options = {});
  explicit Muon(const std::vector<Tensor>& parameters,
                const MuonOptions& options = {});

 private:
  void move(std::size_t index) override;
};

}  // namespace optim
}  // namespace hvd
