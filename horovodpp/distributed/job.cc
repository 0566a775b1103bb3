// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/distributed/job.h"

#include <vector>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/global.h"

namespace hvd::distributed {

Job Job::current() {
  const auto runtime = find_runtime();
  if (!runtime.ok()) return Job(runtime.status(), Membership());
  return Job(Status(), (*runtime)->membership());
}

StatusOr<std::shared_ptr<Runtime>> Job::enter() const {
  if (!absence_.ok()) return absence_;
  auto runtime = membership_.enter();
  if (runtime.ok()) return runtime;
  return annotate(runtime.status(), "a collective on tensors, or its gradient");
}

Job::Place Job::place_in(const ProcessSet& set) const {
  const auto runtime = enter();
  if (!runtime.ok()) return {};
  const StatusOr<int> position = (*runtime)->rank_in(set);
  const StatusOr<std::vector<int>> ranks = (*runtime)->ranks_of(set);
  if (!position.ok() || !ranks.ok()) return {};
  return {*position, static_cast<int>(ranks->size())};
}

int Job::rank() const {
  const auto runtime = enter();
  return runtime.ok() ? (*runtime)->topology().rank() : 0;
}

}  // namespace hvd::distributed
