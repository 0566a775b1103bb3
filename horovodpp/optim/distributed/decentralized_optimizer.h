// SPDX-License-Identifier: Apache-2.0
// A DecentralizedOptimizer lets each rank step along its own gradients, and
// moves the ranks' weights together as a WeightStrategy says. It suits links on
// which a reduction in every step takes too long:
//
//   hvd::broadcast_parameters(model.named_parameters(), 0);
//   hvd::DecentralizedOptimizer optimizer(
//       std::move(adamw),
//       hvd::optim::periodic_average(
//           {.every = 32, .outer_rate = 0.7, .outer_momentum = 0.9}));
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//   optimizer.average_weights();  // Before you measure or save the model.
//
// Ranks have different weights between exchanges. The state of the wrapped
// optimizer is each rank's own, so each rank saves its own. Not thread-safe.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/optim/distributed/weight_strategy.h"
#include "horovodpp/optim/optimizer_wrapper.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
namespace optim {

struct DecentralizedOptions {
  // Prefix of the names of collectives. Optimizers that run at the same time
  // need different names.
  std::string name = "weights";
  // The ranks that step together; the other ranks have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

class DecentralizedOptimizer : public OptimizerWrapper {
 public:
  //   hvd::Error       there is no job; this rank is not in the process set
  //   InvalidArgument  no optimizer to wrap, or no strategy
  DecentralizedOptimizer(std::unique_ptr<Optimizer> wrapped,
                         std::unique_ptr<WeightStrategy> strategy,
                         const DecentralizedOptions& options = {});

  // Makes a step of the wrapped optimizer, then the strategy's exchange. All
  // ranks call it equally often.
  //   hvd::Error  the exchange failed (see WeightStrategy::exchange), after
  //               this rank's own step; or this rank has left the job, and
  //               nothing has changed
  void step() override;

  // Gives all ranks the mean of their weights. All ranks call it.
  void average_weights();

  // The wrapped optimizer's state and the strategy's, named "strategy.<what>".
  nn::StateDict state_dict() const override;
  void load_state_dict(const nn::StateDict& state,
                       const nn::LoadOptions& options = {}) override;

 private:
  Weights weights(Runtime& job) const {
    return {parameters(), job, name_, process_set_};
  }

  const std::unique_ptr<WeightStrategy> strategy_;
  const std::string name_;
  const ProcessSet process_set_;
  Membership membership_;
  std::int64_t steps_ = 0;
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::DecentralizedOptimizer;
}  // namespace hvd
