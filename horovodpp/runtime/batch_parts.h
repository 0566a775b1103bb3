// SPDX-License-Identifier: Apache-2.0
// What a batch is made of where it is executed: each entry with this rank's
// submission for it, and with what becomes of it.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/coordinator/batch.h"
#include "horovodpp/coordinator/submission.h"

namespace hvd::runtime {

struct BatchPart {
  const coordinator::Request& agreed;
  // nullptr where this rank has joined: it contributes what changes nothing.
  const coordinator::Submission* mine = nullptr;
  // Of this entry, the same on all ranks if it is an error. What breaks the job
  // is returned by whoever executes the batch instead.
  absl::StatusOr<coordinator::Results> outcome = coordinator::Results();
};

// `submissions` are those of the entries that are submitted here, in order.
//   Internal  there are more or fewer
absl::StatusOr<std::vector<BatchPart>> parts_of(
    const coordinator::Batch& batch,
    const std::vector<coordinator::SubmissionPtr>& submissions);

}  // namespace hvd::runtime
