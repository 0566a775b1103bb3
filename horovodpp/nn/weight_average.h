// SPDX-License-Identifier: Apache-2.0
// The exponential moving average of a model's parameters, which often
// generalizes better than the last ones. Buffers are copied.
//
//   hvd::nn::WeightAverage average(model, 0.999);
//   for (...) { …; optimizer.step(); average.update(); }
//   average.swap();      // The model has the average now,
//   validate(model);
//   average.swap();      // and its own weights again.
//
// Not thread-safe. The model outlives it, and keeps its parameters and dtypes.
#pragma once

#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/nn/state_dict.h"

namespace HVD_EXPORT hvd {
namespace nn {

class WeightAverage {
 public:
  // Begins with the model's present weights.
  //   InvalidArgument  the decay is not in [0, 1]
  WeightAverage(const Module& model, double decay);

  // average = decay average + (1 - decay) parameter
  //   InvalidArgument  the model has the average, by swap()
  void update();

  // Exchanges the contents of the model and of the average.
  void swap();

  // The averages, by the model's names; they share their memory.
  const StateDict& state_dict() const { return averages_; }
  // Copies `state` into the averages; on failure changes nothing.
  //   InvalidArgument  keys are missing or unknown, or a shape or dtype differs
  void load_state_dict(const StateDict& state, const LoadOptions& options = {});

 private:
  const double decay_;
  const StateDict weights_;   // The model's.
  StateDict averages_;        // In the same order,
  std::vector<bool> learnt_;  // as whether it is a parameter.
  bool swapped_ = false;
};

}  // namespace nn
}  // namespace hvd
