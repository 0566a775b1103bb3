// SPDX-License-Identifier: Apache-2.0
// A BatchPart is an entry of a batch during execution, with this rank's
// submission and the outcome.
#pragma once

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/protocol/request.h"
#include "horovodpp/coordinator/protocol/submission.h"

namespace hvd::runtime {

struct BatchPart {
  const coordinator::Request& agreed;
  // nullptr if this rank has joined: it then contributes the neutral value.
  const coordinator::Submission* mine = nullptr;
  // The outcome of this entry. An error is the same on all ranks, unless this
  // rank's memory does not fit its result. An error that breaks the job is
  // returned by the function that executes the batch.
  absl::StatusOr<coordinator::Results> outcome = coordinator::Results();
};

}  // namespace hvd::runtime
