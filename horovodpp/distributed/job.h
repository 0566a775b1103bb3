// SPDX-License-Identifier: Apache-2.0
// The job that a collective belongs to, and with it its gradient, on whatever
// thread backward runs.
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
  // The current one of this thread, or none.
  static Job current();

  // The Runtime, for a moment in which nothing is waited for.
  //   FailedPrecondition  there was no job, or this rank has left it
  StatusOr<std::shared_ptr<Runtime>> enter() const;

  // This rank's place in a process set, and how many ranks it has. What cannot be
  // told is said by the collective as well: it is 0 and 1.
  struct Place {
    int position = 0;
    int ranks = 1;
  };
  Place place_in(const ProcessSet& set) const;
  // Of this rank in the job.
  int rank() const;

 private:
  Job(Status absence, Membership membership)
      : absence_(std::move(absence)), membership_(std::move(membership)) {}

  Status absence_;  // Why there is none.
  Membership membership_;
};

}  // namespace hvd::distributed
