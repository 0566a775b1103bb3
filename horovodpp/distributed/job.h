// SPDX-License-Identifier: Apache-2.0
// The job of a collective, and so also of its gradient, on any thread that runs
// backward.
#pragma once

#include <memory>
#include <utility>

#include "horovodpp/core/outcome.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/process_set.h"

namespace hvd::distributed {

class Job {
 public:
  // This thread's current job, or none.
  static Job current();

  // The Runtime; hold it briefly, and wait for nothing meanwhile.
  //   FailedPrecondition  there was no job, or this rank has left it
  StatusOr<std::shared_ptr<Runtime>> enter() const;

  // This rank's position in a process set, and the set's size. If there is an
  // error, which the collective reports as well, these are 0 and 1.
  struct Place {
    int position = 0;
    int ranks = 1;
  };
  Place place_in(const ProcessSet& set) const;
  // This rank in the job.
  int rank() const;

 private:
  Job(Status absence, Membership membership)
      : absence_(std::move(absence)), membership_(std::move(membership)) {}

  Status absence_;  // Why there is no job.
  Membership membership_;
};

}  // namespace hvd::distributed
