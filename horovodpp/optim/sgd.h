// Stochastic gradient descent, with the formulas of PyTorch:
//
//   g = gradient + weight_decay p
//   b = momentum b + (1 - dampening) g        (first step: b = g)
//   p = p - learning_rate (nesterov ? g + momentum b : b)
//
// Without momentum: p = p - learning_rate g.
#pragma once

#include <vector>

#include "horovodpp/optim/optimizer.h"

namespace hvd::optim {

struct SGDOptions {
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;  // Wants momentum and no dampening.
};

class SGD : public Optimizer {
 public:
  //   InvalidArgument  an option is negative, or nesterov lacks its momentum;
  //                    and as of Optimizer
  explicit SGD(std::vector<nn::NamedTensor> parameters,
               const SGDOptions& options = {});
  explicit SGD(const std::vector<Tensor>& parameters,
               const SGDOptions& options = {});

  void step() override;

  // "<parameter>.momentum_buffer" of every parameter that has moved.
  std::vector<nn::NamedTensor> state() const override;

  double learning_rate() const override { return options_.learning_rate; }
  void set_learning_rate(double value) override;
  const SGDOptions& options() const { return options_; }

 private:
  void move(const Tensor& parameter, Tensor& momentum_buffer);

  SGDOptions options_;
  std::vector<Tensor> momentum_buffers_;  // Undefined until the first step.
};

}  // namespace hvd::optim
