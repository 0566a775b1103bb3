// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/surplus.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::optim {

void refuse_surplus(const replica::GradientReducer& reducer,
                    const std::string& name, int passes) {
  throw_if_error(reducer.status());
  if (reducer.owed(name) > 0) return;
  throw Error(absl::FailedPreconditionError(absl::StrCat(
      "Gradients were computed more than backward_passes_per_step times before "
      "call to step(): '",
      name, "' had its ", passes,
      ". Increase backward_passes_per_step to accumulate gradients locally.")));
}

}  // namespace hvd::optim
