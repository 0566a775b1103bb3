// SPDX-License-Identifier: Apache-2.0
// The number of threads that a tensor operation may use: one setting for the
// process and all compute libraries.
//
//   hvd::set_num_threads(1);   // Before the work; from any thread.
//
// The runtime sets the default on entering a job: the cores of this process
// divided by the ranks of its node, or Config::num_threads. Without a runtime,
// the libraries decide.
//
// Thread-safe. Running operations keep the number they began with.
#pragma once

#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

// Values below 1 count as 1.
void set_num_threads(int threads);

// The number in force: the setting, else the runtime's default, else the cores
// that this process may run on.
int get_num_threads();

// The runtime's default, which set_num_threads() overrides.
void set_default_num_threads(int threads);

// The setting or the runtime's default; 0 without either.
int chosen_num_threads();

// The cores that this process may run on; at least 1.
int usable_cores();

// The cores available to all ranks of this node, at least 1. A launcher that
// binds each rank to its own cores has more cores than each rank.
int cores_for_ranks();

// Whether each of `ranks` ranks of this node has a core to spare when all of
// them compute with `threads` threads.
bool have_spare_cores(int ranks, int threads);

}  // namespace hvd
