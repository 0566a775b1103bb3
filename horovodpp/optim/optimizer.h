// An Optimizer moves the parameters of a model along their gradients.
//
//   hvd::optim::SGD optimizer(model.named_parameters(),
//                             {.learning_rate = 0.1});
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//
// Not thread-safe. Shares the parameters with the model.
#pragma once

#include <vector>

#include "horovodpp/nn/module.h"

namespace hvd::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Moves every parameter that has a gradient; the others stay.
  virtual void step() = 0;

  // Forgets the gradients (or fills them with zeros).
  virtual void zero_grad(bool set_to_none = true);

  // With the names they have in the model; "0", "1", … if they have none.
  const std::vector<nn::NamedTensor>& parameters() const { return parameters_; }

  // What it remembers between steps, named "<parameter>.<what>". Writing to
  // these tensors changes what it remembers.
  virtual std::vector<nn::NamedTensor> state() const { return {}; }

  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double value) = 0;

 protected:
  //   InvalidArgument  there are none; one is undefined, no leaf, or listed
  //                    twice; or two have one name
  explicit Optimizer(std::vector<nn::NamedTensor> parameters);
  explicit Optimizer(const std::vector<Tensor>& parameters);

 private:
  std::vector<nn::NamedTensor> parameters_;
};

}  // namespace hvd::optim
