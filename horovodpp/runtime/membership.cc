// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/membership.h"

#include "absl/status/status.h"

namespace hvd {

StatusOr<std::shared_ptr<Runtime>> Membership::enter() const {
  std::shared_ptr<Runtime> runtime = runtime_.lock();
  if (runtime != nullptr) return runtime;
  return absl::FailedPreconditionError(
      "this rank has left the job it was made for, by shutdown() or reform(); "
      "make it anew in the job there is now (after hvd::init(), if there is "
      "none)");
}

}  // namespace hvd
