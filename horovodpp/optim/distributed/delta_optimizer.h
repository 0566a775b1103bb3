// SPDX-License-Identifier: Apache-2.0
// A DeltaOptimizer reduces what each rank's own step would change, and not the
// gradients: each parameter takes the wrapped optimizer's step as soon as its
// gradient is complete, and the ranks' differences are reduced, by Adasum, while
// backward goes on. step() gives every rank where it began plus what that came to.
//
//   hvd::DeltaOptimizer optimizer(std::make_unique<hvd::optim::AdamW>(
//       model.named_parameters(), hvd::optim::AdamWOptions{.learning_rate = 3e-4}));
//   for (...) {
//     optimizer.zero_grad();
//     loss(model(x), y).backward();
//     optimizer.step();
//   }
//
// Adasum adds what is orthogonal and averages what is parallel, so that the learning
// rate need not grow with the ranks (Maleki et al., "Scaling distributed training
// with adaptive summation", 2021). A DistributedOptimizer with op Adasum applies it to
// the gradients instead, before what Adam makes of them. On one rank the step is the
// wrapped optimizer's.
//
// Gradients stay each rank's own, so there is nothing to synchronize() and to clip
// but those; what the wrapped optimizer remembers is each rank's own, too. Whatever is
// done to gradients is done in hooks, as steps are made during backward.
//
// It may outlive its job, but not work in another one. Not thread-safe, but backward
// may run on other threads than step().
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
  // Of the deltas, as peers see them: "<name>.<parameter>". Optimizers at work at the
  // same time have different ones.
  std::string name = "delta";
  // The ranks that step together; the others have no such optimizer.
  ProcessSet process_set = ProcessSet::global();
  // The job; by default the current one (see runtime/global.h).
  Runtime* runtime = nullptr;
};

class DeltaOptimizer : public OptimizerWrapper {
 public:
  //   hvd::Error       there is no job; this rank is not in the process set
  //   InvalidArgument  nothing to wrap; fewer passes than one; the op is neither
  //                    Adasum nor average; another optimizer reduces one of the
  //                    parameters; the gradient of one is sparse
  explicit DeltaOptimizer(std::unique_ptr<Optimizer> wrapped,
                          const DeltaOptions& options = {});
  ~DeltaOptimizer() override;

  // Of parameters that no backward has reached, the step is one along zeros. Every
  // rank calls it equally often.
  //   hvd::Error  a reduction failed, or this rank has left the job: the parameters
  //               are where they were before the step, but what the wrapped
  //               optimizer remembers is not
  void step() override;
  // Calls `closure` first, which runs backward, and returns what it returns.
  Tensor step(const std::function<Tensor()>& closure);

  //   hvd::Error (FailedPrecondition)  deltas are under way, between backward and
  //                                    step()
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
