// SPDX-License-Identifier: Apache-2.0
// A Batch is the coordinator's next unit of work: agreed submissions of several
// ranks, executed as one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/request.h"

namespace hvd::coordinator {

struct Submission;

struct Batch {
  struct Entry {
    // The agreed request. All entries agree in the fields that decide the
    // operation, except the first dimension of a gathered tensor, which each
    // submission has for itself.
    RequestPtr agreed = nullptr;
    // The submission of this rank.
    Submission* mine = nullptr;
    // False if this rank has joined: it contributes the neutral element.
    bool submitted_here = true;
  };

  // Number of the batch, equal on all members of the process set. Sequences
  // count up within an epoch. Epochs only grow, and each starts sequences
  // again.
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
  std::vector<Entry> entries = {};
  // Every member is known to take part, so no rank can force the others to
  // abandon the batch.
  bool certain = false;
  // Ranks that contribute: fewer than the process set if some have joined.
  int participants = 0;
  // join: the rank that joined last. add_process_set: the number of the new
  // set.
  std::int64_t result = 0;
  // Unique number of the cycle (0: none) and the batch's place in the cycle.
  // Batches with equal numbers differ only in their submissions.
  std::uint64_t cycle = 0;
  std::size_t place = 0;

  const Request& request() const { return *entries.front().agreed; }
};

// A submission that fails, and why.
struct Failure {
  Key key;
  absl::Status why;
  Submission* mine = nullptr;  // The submission, as passed in.
};

}  // namespace hvd::coordinator
