// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/membership.h"

#include "absl/status/status.h"

namespace hvd {

StatusOr<std::shared_ptr<Runtime>> Membership::enter() const {
  std::shared_ptr<Runtime> runtime = runtime_.lock();
  if (runtime != nullptr) return runtime;
  return absl::FailedPreconditionError(
      "this rank has left the job of this object, by shutdown() or reform(); "
      "create the object again in the new job (after hvd::init())");
}

}  // namespace hvd
