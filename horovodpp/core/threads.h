// SPDX-License-Identifier: Apache-2.0
// How many threads an operation on tensors may use in itself: one setting for
// the process, which governs all libraries that are computed with.
//
//   hvd::set_num_threads(1);   // Before the work; from any thread.
//
// Until it is set it is what the runtime decided, on entering a job: the cores
// of this process divided by the ranks of its node, or what the environment
// says (see Config::num_threads). Without a runtime, the libraries decide.
//
// Thread-safe. Operations that run meanwhile keep what they began with.
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// `threads` below 1 are taken as 1.
void set_num_threads(int threads);

// The number in force: what was set, or else decided, or else the cores that
// this process may run on.
int get_num_threads();

// The runtime's decision, which set_num_threads() overrules.
void set_default_num_threads(int threads);

// What was set or decided; 0 if neither was.
int chosen_num_threads();

// The cores that this process may run on; at least 1.
int usable_cores();

// The cores for all ranks of this node: a launcher that binds each rank to cores
// of its own leaves it only those, but has more itself. At least 1.
int cores_for_ranks();

// Whether each of so many ranks of this node has a core left over where all of them
// compute with so many threads.
bool have_spare_cores(int ranks, int threads);

}  // namespace hvd
