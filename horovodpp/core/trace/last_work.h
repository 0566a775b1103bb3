// SPDX-License-Identifier: Apache-2.0
// Describes the present work of a rank, or its last, from its ring of events.
#pragma once

#include <cstdint>
#include <string>

#include "horovodpp/core/trace/event_ring.h"

namespace hvd::trace {

// The predicate of a sentence about the rank, at most 250 bytes:
//   "is in allreduce batch 812 (fc1.weight, fc2.weight and 10 more) for 4.1 s,
//    by shm"
//   "waits for allreduce of fc1.weight for 4.1 s"
//   "has nothing in flight; its last batch, 811, ended 4.1 s ago"
// `now`: nanoseconds of the steady clock. `is_over`: the rank has ended, so
// that the sentence is in the past tense.
std::string describe_work(const RingReader& reader, std::uint64_t now,
                          bool is_over);

}  // namespace hvd::trace
