// SPDX-License-Identifier: Apache-2.0
// A DecentralizedOptimizer lets each rank step along its own gradients, and the ranks'
// weights follow each other as a WeightStrategy says: for links on which a
// reduction in every step takes too long.
//
//   hvd::broadcast_parameters(model.named_parameters(), 0);
//   hvd::DecentralizedOptimizer optimizer(
//       std::move(adamw), hvd::optim::periodic_average(
//                             {.every = 32, .outer_rate = 0.7, .outer_momentum = 0.9}));
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//   optimizer.average_weights();          // Before it is measured, or saved.
//
// Ranks have other weights between exchanges, and what the wrapped optimizer remembers
// is each rank's own: each saves its own state. Not thread-safe.
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
  // Of the weights, as peers see them. Optimizers at work at the same time have
  // different ones.
  std::string name = "weights";
  // The ranks that go together; the others have no such optimizer.
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

  // A step of the wrapped optimizer, and what the strategy does after it. All ranks
  // call it equally often.
  //   hvd::Error  as of WeightStrategy::exchange, or this rank has left the job: this
  //               rank's own step is made
  void step() override;

  // Gives all ranks the mean of their weights. All call it.
  void average_weights();

  // The wrapped optimizer's and, of the strategy, "strategy.<what>".
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
