// SPDX-License-Identifier: Apache-2.0
// A BatchPart is an entry of a batch where it is executed: with this rank's
// submission for it, and with what becomes of it.
#pragma once

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/request.h"
#include "horovodpp/coordinator/submission.h"

namespace hvd::runtime {

struct BatchPart {
  const coordinator::Request& agreed;
  // nullptr where this rank has joined: it contributes what changes nothing.
  const coordinator::Submission* mine = nullptr;
  // Of this entry, the same on all ranks if it is an error, unless the memory that
  // this rank gave for its result does not fit that. What breaks the job is returned by whoever executes the batch instead.
  absl::StatusOr<coordinator::Results> outcome = coordinator::Results();
};

}  // namespace hvd::runtime
