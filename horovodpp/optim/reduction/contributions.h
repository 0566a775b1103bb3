// SPDX-License-Identifier: Apache-2.0
// Contributions are the hooks on an optimizer's parameters. They count
// contributions to gradients in the optimizer's reducer, and report each
// gradient that is complete for a step. A BackwardWatch decides what counts as
// a contribution.
//
// Not thread-safe, but backward may run on other threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/reduction/backward_watch.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/base/hook_handle.h"

namespace hvd::optim {

// Parameters are given by their index in the list.
struct ContributionEvents {
  std::function<void(std::size_t)> complete;  // A gradient is.
  std::function<void()> came = nullptr;       // Any contribution. Or null.
};

struct ContributionOptions {
  int passes = 1;  // Contributions to each gradient in a step.
  bool every_backward_counts = false;  // See BackwardWatch.
  // While true, contributions are added up and do not count. Null: never.
  std::shared_ptr<const std::atomic<bool>> only_accumulates = nullptr;
};

//   InvalidArgument  backward_passes_per_step makes no sense
int checked_passes(int passes);

class Contributions {
 public:
  // `parameters` and `reducer` outlive this object.
  Contributions(const std::vector<nn::NamedTensor>& parameters,
                replica::GradientReducer& reducer, ContributionEvents events,
                const ContributionOptions& options);
  ~Contributions();
  Contributions(const Contributions&) = delete;
  Contributions& operator=(const Contributions&) = delete;

  // Adds hooks to the parameters that require grad now and have no hooks yet.
  void attach();
  // Takes effect at the next step.
  void expect(int passes);
  // Attaches; gradients are about to be cleared.
  //   hvd::Error (FailedPrecondition)  some are being reduced
  void before_zero_grad();

  // By parameter.
  const std::vector<replica::GradientSlot>& slots() const { return slots_; }

 private:
  void contribute(std::size_t parameter);
  void refuse_surplus(std::size_t parameter) const;

  const std::vector<nn::NamedTensor>& parameters_;
  replica::GradientReducer& reducer_;
  const ContributionEvents events_;
  const std::shared_ptr<const std::atomic<bool>> only_accumulates_;
  int passes_ = 1;
  std::vector<replica::GradientSlot> slots_;  // By parameter.
  std::vector<bool> has_hooks_;               // Likewise.
  BackwardWatch watch_;
  std::vector<autograd::HookHandle> hooks_;
};

}  // namespace hvd::optim
