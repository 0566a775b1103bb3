// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/gradient_call.h"

#include <utility>

namespace hvd::replica {

Sent GradientCall::start(Runtime& runtime, const TensorView& gradient,
                         std::shared_ptr<const void> owner) {
  // Use a Prepared only for borrowed gradients: its destructor waits, and an
  // owned gradient must not cause a wait.
  if (owner == nullptr && has_same_address(gradient)) {
    if (!prepared_) {
      StatusOr<Prepared> made = runtime.prepare_allreduce_(gradient, options_);
      if (made.ok()) prepared_ = *std::move(made);
    }
    if (prepared_) {
      prepared_->start();
      return Sent(*prepared_);
    }
  }
  prepared_.reset();
  last_ = gradient;
  AllreduceOptions options = options_;
  options.keep_alive = std::move(owner);
  return Sent(runtime.allreduce_async_(gradient, std::move(options)));
}

}  // namespace hvd::replica
