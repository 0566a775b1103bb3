// SPDX-License-Identifier: Apache-2.0
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

#include <cstddef>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"

namespace HVD_EXPORT hvd {
namespace optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter that has a gradient; the others stay.
  virtual void step() = 0;

  // step() of one parameter, by its index in the list; the others stay.
  virtual void step_of(std::size_t index);

  // Completes the gradients for step(), if that takes more than a backward.
  // Call it before you change gradients.
  virtual void finish_gradients() {}

  // Clears the gradients (or fills them with zeros).
  virtual void zero_grad(bool set_to_none = true);

  // With the names they have in the model; "0", "1", … if they have none.
  const std::vector<nn::NamedTensor>& parameters() const { return parameters_; }

  // The tensors that the optimizer keeps between steps, named
  // "<parameter>.<what>". Writing to them changes the optimizer's state.
  virtual std::vector<nn::NamedTensor> state() const = 0;

  // All data needed to continue exactly from here. The state is named
  // "state.<parameter>.<what>"; the options of each group of parameters,
  // "groups.<number>.<option>". Parameters are not part of the state.
  virtual nn::StateDict state_dict() const = 0;

  // Copies `state` into the optimizer; on failure nothing changes.
  //   InvalidArgument  says what, expected and found: keys are missing or
  //                    unknown, a shape or dtype differs, an option makes
  //                    no sense. options.strict is ignored: always strict
  virtual void load_state_dict(const nn::StateDict& state,
                               const nn::LoadOptions& options = {}) = 0;

  // The rates of the groups of parameters, in order (see ParameterGroup); at
  // least one.
  virtual std::vector<double> learning_rates() const = 0;
  //   InvalidArgument  not as many as groups, or one is negative
  virtual void set_learning_rates(const std::vector<double>& rates) = 0;

  // The rate of the first group; the setter sets all groups.
  double learning_rate() const { return learning_rates()[0]; }
  void set_learning_rate(double value) {
    set_learning_rates(std::vector<double>(learning_rates().size(), value));
  }

 protected:
  //   InvalidArgument  there are none; one is undefined, no leaf, or listed
  //                    twice; or two have one name
  explicit Optimizer(std::vector<nn::NamedTensor> parameters);

 private:
  std::vector<nn::NamedTensor> parameters_;
};

// The parameters, named by their index in the list.
std::vector<nn::NamedTensor> numbered(const std::vector<Tensor>& tensors);

}  // namespace optim
}  // namespace hvd
