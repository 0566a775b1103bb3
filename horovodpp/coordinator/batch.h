// SPDX-License-Identifier: Apache-2.0
// A Batch is what the coordinator says to execute next: submissions of several
// ranks, agreed on, that are carried out as one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "horovodpp/coordinator/request.h"

namespace hvd::coordinator {

struct Submission;

struct Batch {
  struct Entry {
    // What was agreed on. Equal in all entries in what decides the operation.
    // (The first dimension of a gathered tensor is the submission's business.)
    RequestPtr agreed = nullptr;
    // As it was submitted here.
    Submission* mine = nullptr;
    // False where this rank has joined: it contributes what changes nothing.
    bool submitted_here = true;
  };

  // Of the calls that carry it out: grows from batch to batch, and is the same
  // on all members of the process set. Epochs only grow; in a new one sequences
  // start again.
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
  std::vector<Entry> entries = {};
  // Every member is known to take part, so that nobody can make the others
  // abandon it.
  bool certain = false;
  // Ranks that contribute; fewer than the process set has where some joined.
  int participants = 0;
  // The rank that joined last (join), the number of the set (add_process_set).
  std::int64_t result = 0;
  // Of a cycle: the number of that (0: of none), which no other one has, and the
  // place there. Batches of equal places differ in what was submitted alone.
  std::uint64_t cycle = 0;
  std::size_t place = 0;

  const Request& request() const { return *entries.front().agreed; }
};

// A submission that is not executed, and why.
struct Failure {
  Key key;
  absl::Status why;
  Submission* mine = nullptr;  // As it was submitted.
};

}  // namespace hvd::coordinator
