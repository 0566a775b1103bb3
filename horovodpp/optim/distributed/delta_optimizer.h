// SPDX-License-Identifier: Apache-2.0
// A DeltaOptimizer reduces the changes that each rank's step makes, instead of
// the gradients. Each parameter takes the wrapped optimizer's step as soon as
// its gradient is complete. The ranks' differences are reduced, by Adasum,
// while backward goes on. step() sets each parameter to its value before the
// step plus the reduced difference:
//
//   hvd::DeltaOptimizer optimizer(std::make_unique<hvd::optim::AdamW>(
//       model.named_parameters(),
//       hvd::optim::AdamWOptions{.learning_rate = 3e-4}));
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//
// Adasum adds orthogonal vectors and averages parallel ones, so the learning
// rate need not grow with the ranks. (Maleki et al., "Scaling distributed
// training with adaptive summation", 2021.) A DistributedOptimizer with op
// Adasum applies it to the gradients instead, before Adam scales them. On one
// rank the step is the wrapped optimizer's.
//
// Gradients and the wrapped optimizer's state stay each rank's own. So
// synchronize() does not exist, and clipping sees only local gradients. Change
// gradients in hooks only, as steps are made during backward.
//
// A DeltaOptimizer may outlive its job, but cannot work in another one. Not
// thread-safe, but backward may run on other threads than step().
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/optim/optimizer_wrapper.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace HVD_EXPORT hvd {
class Runtime;
}

namespace HVD_EXPORT hvd {
namespace optim {

struct DeltaOptions {
  ReduceOp op = ReduceOp::kAdasum;  // Or average.
  // Gradients of so many backward passes are added up before the step.
  int backward_passes_per_step = 1;
  // Prefix of the names of deltas: "<name>.<parameter>". Optimizers that run at
  // the same time need different names.
  std::string name = "delta";
  // The ranks that step together; the other ranks have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

class DeltaOptimizer : public OptimizerWrapper {
 public:
  //   hvd::Error       there is no job; this rank is not in the process set
  //   InvalidArgument  nothing to wrap; fewer passes than one; the op is
  //                    neither Adasum nor average; another optimizer reduces
  //                    one of the parameters; the gradient of one is sparse
  explicit DeltaOptimizer(std::unique_ptr<Optimizer> wrapped,
                          const DeltaOptions& options = {});
  ~DeltaOptimizer() override;

  // A parameter that no backward has reached steps along zeros. All ranks call
  // it equally often.
  //   hvd::Error  a reduction failed, or this rank has left the job: parameters
  //               have their values from before the step, but the wrapped
  //               optimizer's state has changed
  void step() override;
  // Calls `closure` first, which runs backward, and returns its result.
  Tensor step(const std::function<Tensor()>& closure);

  //   hvd::Error (FailedPrecondition)  deltas are in flight, between backward
  //                                    and step()
  void zero_grad(bool set_to_none = true) override;

 private:
  class Deltas;
  const std::unique_ptr<Deltas> deltas_;
};

}  // namespace optim
}  // namespace hvd

namespace HVD_EXPORT hvd {
using optim::DeltaOptimizer;
}  // namespace hvd
